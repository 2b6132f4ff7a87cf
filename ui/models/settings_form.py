"""How one model is to be run, as a form: what is empty is as for all models. On the model's own page."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui.element import Element

from app.errors import InvalidInput
from app.services.container import Services
from app.services.engines import ModelState
from app.services.model_settings import KV_TYPES, ModelSettings
from engine.hardware import NativeDevice, find_gpus
from store.tables import Model
from ui.components.choice import Choice
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.native import SelectField, Switch, TextField
from ui.components.text import live, put
from ui.language import FORESEEN, t, told
from ui.words import decimal_point

AT_LOAD = ("context_tokens", "users", "kv_type", "device", "layers", "threads", "chat_template")
MINUTE_S = 60


class SettingsForm:
    """`on_saved` shows the rest of the page anew."""

    def __init__(
        self, services: Services, model: Model, on_saved: Callable[[], Awaitable[None]],
        load_again: Callable[[], Awaitable[None]],
    ) -> None:
        self._services = services
        self._model = model
        self._settings = ModelSettings.of(model)
        self._on_saved = on_saved
        self._load_again = load_again
        self._fields: dict[str, TextField] = {}
        self._choices: dict[str, str | None] = {}
        self._problems: dict[str, Element] = {}
        self._shown: dict[str, Any] = {}        # as it was made, or saved last: the rest is not ours

    async def build(self) -> None:
        """Into the slot that is open when it is called."""
        gpus = await find_gpus()
        presets = {each.id: each.name for each in await self._services.model_presets.offered()}
        now = self._settings
        with tag("form", "nk-card nk-settings").on("submit.prevent", self._save, args=[]):
            with tag("div", "nk-settings-grid"):
                self._number("context_tokens", now.context_tokens, "setting-auto")
                if not self._model.embeds:
                    self._number("users", now.users, "setting-auto")
                    names: dict[str, str] = {"": t("setting-auto")} | {each: each for each in KV_TYPES}
                    self._choice("kv_type", names, now.kv_type)
                self._choice("device", _devices(gpus, now.device), now.device)
                self._number("layers", now.layers, "setting-auto")
                self._number("threads", now.threads, "setting-auto")
                minutes = None if now.keep_alive_s is None else now.keep_alive_s / MINUTE_S
                self._number("keep_alive_s", minutes, "setting-for-ever")
                self._text("aliases", ", ".join(now.aliases))
                if not self._model.embeds:
                    self._preset(presets)
            with tag("div", "nk-settings-grid"):
                self._pinned = Switch(t("setting-is_pinned"), t("setting-is_pinned-about"), is_on=now.is_pinned)
                self._preloaded = Switch(
                    t("setting-is_preloaded"), t("setting-is_preloaded-about"), is_on=now.is_preloaded
                )
            if not self._model.embeds:
                with tag("details", "nk-settings-more", open=bool(now.chat_template)):
                    tag("summary", "", t("setting-chat_template"))
                    self._text("chat_template", now.chat_template or "", rows=9, label=t("setting-chat_template-label"))
            self._problem = tag("div")
            with tag("div", "nk-row nk-settings-end"):
                button(t("setting-save"), "nk-btn-quiet", kind="submit")
                self._again = button(t("setting-load-again"), "nk-btn-primary", icon_name="refresh-cw")
                self._again.on("click", self._reload)
                self._done = live("span", "nk-done", role="status")
        self._again.set_visibility(False)
        self._shown = self._wanted() | {"preset_id": now.preset_id}

    def _number(self, name: str, value: float | None, empty: str) -> None:
        shown = "" if value is None else f"{value:g}" if value < 1e6 else str(int(value))
        self._fields[name] = TextField(
            t(f"setting-{name}"), shown, hint=t(f"setting-{name}-about"), placeholder=t(empty), input_mode="decimal",
        )
        self._problems[name] = self._fields[name].problem

    def _text(self, name: str, value: str, *, rows: int = 0, label: str = "") -> None:
        self._fields[name] = TextField(label or t(f"setting-{name}"), value, hint=t(f"setting-{name}-about"), rows=rows)
        self._problems[name] = self._fields[name].problem

    def _choice(self, name: str, names: dict[str, str], value: str | None) -> None:
        self._choices[name] = value

        async def choose(chosen: str) -> None:
            self._choices[name] = chosen or None

        with tag("div", "nk-field"):
            tag("span", "nk-lab", t(f"setting-{name}"))
            Choice(t(f"setting-{name}"), names, value or "", choose)
            tag("p", "nk-hint", t(f"setting-{name}-about"))
            self._problems[name] = tag("div")

    def _preset(self, presets: dict[str, str]) -> None:
        """One that was deleted since is none."""
        chosen = self._settings.preset_id if self._settings.preset_id in presets else None
        self._choices["preset_id"] = chosen

        async def choose(preset_id: str) -> None:
            self._choices["preset_id"] = preset_id or None

        with tag("div"):
            SelectField(t("setting-preset_id"), {"": t("setting-no-preset")} | presets, chosen or "", choose)
            tag("p", "nk-hint", t("setting-preset_id-about"))
            self._problems["preset_id"] = tag("div")

    # --- saving -------------------------------------------------------------------------------------------------------

    async def _save(self) -> None:
        for place in (*self._problems.values(), self._problem):
            show_problem(place, None)
        put(self._done, "")
        wanted = self._wanted()
        changes = {name: value for name, value in wanted.items() if value != self._shown.get(name)}
        before = self._settings
        try:
            self._settings = await self._services.model_settings.change(self._model.id, changes)
        except FORESEEN as error:
            field = error.field if isinstance(error, InvalidInput) else None
            show_problem(self._problems.get(field or "", self._problem), told(error))
            return
        self._shown = wanted
        is_for_load = any(getattr(before, name) != getattr(self._settings, name) for name in AT_LOAD)
        is_loaded = self._services.engines.status(self._model.id).state is ModelState.READY
        if is_for_load and is_loaded:
            self._again.set_visibility(True)
        put(self._done, t("setting-saved-next") if is_for_load else t("setting-saved"))
        await self._on_saved()

    def _wanted(self) -> dict[str, Any]:
        """Of what stands in the form. What is no number goes as it is: the service says what it wants."""
        wanted: dict[str, Any] = {
            name: number_in(self._fields[name].value)
            for name in ("context_tokens", "users", "layers", "threads", "keep_alive_s") if name in self._fields
        }
        minutes = wanted["keep_alive_s"]
        if isinstance(minutes, int | float):
            wanted["keep_alive_s"] = round(minutes * MINUTE_S)
        wanted["device"] = self._choices["device"]
        aliases = [each.strip() for each in re.split(r"[,\n]", self._fields["aliases"].value)]
        wanted["aliases"] = [each for each in aliases if each]
        wanted["is_pinned"], wanted["is_preloaded"] = self._pinned.is_on, self._preloaded.is_on
        if not self._model.embeds:
            wanted["kv_type"], wanted["preset_id"] = self._choices["kv_type"], self._choices["preset_id"]
            wanted["chat_template"] = self._fields["chat_template"].value.strip() or None
        return wanted

    async def _reload(self) -> None:
        self._again.set_visibility(False)
        put(self._done, t("setting-loading-again"))
        await self._load_again()
        put(self._done, t("setting-loaded-again"))


def _devices(gpus: Sequence[NativeDevice], now: str | None) -> dict[str, str]:
    """Each GPU by its number where there are several, or where one is set already, though it be gone."""
    names: dict[str, str] = {"": t("setting-auto"), "cpu": t("setting-cpu"), "gpu": t("setting-gpu")}
    if len(gpus) > 1:
        names |= {f"gpu{at}": t("setting-gpu-number", number=at, name=gpu.description) for at, gpu in enumerate(gpus)}
    if now and now not in names:
        names[now] = now.upper()
    return names


def number_in(text: str) -> int | float | str | None:
    """"32k" is 32768, "8 192" and "8.192" with a group of three are 8192, "" is None; what is no number stays text."""
    plain = re.sub(r"[\s_\u202f\u00a0']", "", text).lower()
    if not plain:
        return None
    if found := re.fullmatch(r"(\d{1,6})k", plain):
        return int(found[1]) * 1024
    if re.fullmatch(r"[1-9]\d{0,2}([.,]\d{3})+", plain):
        return int(re.sub(r"[.,]", "", plain))
    if re.fullmatch(r"\d{1,12}", plain):
        return int(plain)
    if re.fullmatch(r"\d{1,9}[.,]\d{1,9}", plain):
        return float(plain.replace(",", "."))
    return text.strip()


def decimal_in(text: str) -> int | float | str | None:
    """As `number_in`, of an amount that may have decimals: three digits after the point of the reader's language are
    decimals, too, as they are shown.
    """
    point = re.escape(decimal_point())
    if found := re.fullmatch(rf"\s*(\d{{1,9}}){point}(\d{{1,9}})\s*", text):
        return float(f"{found[1]}.{found[2]}")
    return number_in(text)
