"""Which model answers here, and how it is set up: the button in the chat's head, and its menu. For the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nicegui.element import Element

from app.services.absent_models import Absence
from app.services.models import ModelEntry
from store.tables import Preset
from ui.components.elements import icon, menu, menu_link, tag
from ui.components.far import far_mark
from ui.components.menu_choices import MenuChoices
from ui.components.menu_filter import MenuFilter
from ui.components.model_choice import dot_kind, elsewhere_state
from ui.language import t
from ui.words import speed

MANY = 8            # models; with more of them there is a field to find one


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is to choose from, and what is chosen."""

    entries: Sequence[ModelEntry] = ()
    chosen_id: str | None = None
    presets: Sequence[Preset] = ()
    preset_id: str | None = None
    speeds: Mapping[str, float] = field(default_factory=dict)       # tokens a second of models elsewhere

    @property
    def chosen(self) -> ModelEntry | None:
        return next((entry for entry in self.entries if entry.model.id == self.chosen_id), None)

    @property
    def preset(self) -> Preset | None:
        return next((preset for preset in self.presets if preset.id == self.preset_id), None)


class ModelPicker:
    """Owns what stands in the button and the menu; the page says what there is and which is chosen.

    The menu is made when it is opened: for five hundred models each page would wait, and few look at them.
    """

    def __init__(
        self, on_choose: Callable[[str], Awaitable[None]], on_preset: Callable[[str | None], Awaitable[None]], *,
        sees_models: Callable[[], bool],
    ) -> None:
        """`sees_models`: the page of all models, which is for admins; their reader may become one."""
        self._on_choose = on_choose
        self._on_preset = on_preset
        self._sees_models = sees_models
        self._last: object = None
        self._offer = Offer()
        with tag("button", "nk-picker", type="button", aria_haspopup="menu") as button:
            tag("span", "nk-sr", t("picker-model"))
            self._button = tag("span", "nk-row nk-ell")
            icon("chevron-down", 16)
            with menu("bottom left", "top left") as popup:
                popup.props("no-parent-event", remove="auto-close")        # the field of a long list is in it
                self._popup = popup
                self._menu = tag("div")
        button.on("click", self._open_or_close, args=[])

    def open(self) -> None:
        self._fill()
        self._popup.open()

    def show(
        self, entries: Sequence[ModelEntry], chosen: ModelEntry | None, absence: Absence | None,
        presets: Sequence[Preset], preset_id: str | None, speeds: Mapping[str, float],
    ) -> None:
        """`absence`: of the model that is named and cannot be asked. `speeds`: tokens a second of models elsewhere, as
        far as they were measured.
        """
        entries = [entry for entry in entries if not entry.model.embeds]
        now = (
            [
                (entry.model.id, entry.model.name, entry.status.state, entry.connections, entry.is_failing)
                for entry in entries
            ],
            chosen and chosen.model.id, absence, [(preset.id, preset.name) for preset in presets], preset_id,
            dict(speeds), self._sees_models(),
        )
        if now == self._last:
            return
        offer = Offer(entries, chosen.model.id if chosen else None, presets, preset_id, speeds)
        self._last, self._offer = now, offer
        self._button.clear()
        with self._button:
            self._show_chosen(offer.chosen, absence, offer.preset)
        if self._popup.value:
            self._fill()

    def _open_or_close(self) -> None:
        if not self._popup.value:
            self._fill()
        self._popup.toggle()

    def _fill(self) -> None:
        offer = self._offer
        self._menu.clear()
        with self._menu:
            if is_long := len(offer.entries) > MANY:
                MenuFilter(t("picker-find"))
            models = [self._model(entry, is_chosen=entry is offer.chosen) for entry in offer.entries]
            MenuChoices(t("picker-models"), models, self._choose_model, finds=is_long)
            if offer.entries:
                tag("hr")
            if offer.presets:
                none = _choice("", t("picker-no-preset"), is_chosen=offer.preset is None)
                presets = [_choice(each.id, each.name, is_chosen=each is offer.preset) for each in offer.presets]
                MenuChoices(t("picker-presets"), [none, *presets], self._choose_preset, has_heading=True)
                tag("hr")
            if self._sees_models():
                menu_link(t("picker-all") if offer.entries else t("picker-add"), "box", "/models")
            menu_link(t("picker-library"), "sliders-horizontal", "/library")

    async def _choose_model(self, model_id: str) -> None:
        self._popup.close()
        await self._on_choose(model_id)

    async def _choose_preset(self, preset_id: str) -> None:
        self._popup.close()
        await self._on_preset(preset_id or None)

    def _show_chosen(self, chosen: ModelEntry | None, absence: Absence | None, preset: Preset | None) -> None:
        if absence is not None:
            word = t(f"picker-absent-{absence.kind.value}")
            tag("span", "nk-dot bad", role="img", aria_label=word)
            tag("span", "nk-ell", absence.name)
            tag("small", "nk-hide-xs", word)
            return
        if chosen is None:
            tag("span", text=t("picker-none"))
            return
        _dot(chosen)
        tag("span", "nk-ell", chosen.model.name)
        if chosen.is_elsewhere:
            far_mark(chosen.connections)
        about = t("picker-starter") if chosen.model.is_starter else chosen.model.quantisation
        about = t("model-over", connections=chosen.connections[0]) if chosen.is_elsewhere else about
        if preset is not None:
            tag("small", "nk-ell", preset.name)
        elif about:
            tag("small", "nk-hide-xs", about)

    def _model(self, entry: ModelEntry, *, is_chosen: bool) -> dict[str, Any]:
        model = entry.model
        about = t("picker-starter-long") if model.is_starter else model.quantisation
        if entry.is_elsewhere:
            rate = self._offer.speeds.get(model.id)
            where = t("picker-elsewhere", connections=", ".join(entry.connections))
            about = ". ".join(filter(None, (where, model.quantisation, speed(rate) if rate else "")))
        return {
            **_choice(model.id, model.name, ". ".join(filter(None, (about, _state(entry)))), is_chosen=is_chosen),
            "dot": {"kind": dot_kind(entry), "word": _state(entry)}, "isFar": entry.is_elsewhere,
        }


def _choice(choice_id: str, name: str, about: str = "", *, is_chosen: bool) -> dict[str, Any]:
    return {"id": choice_id, "name": name, "about": about, "isChosen": is_chosen}


def _state(entry: ModelEntry) -> str:
    if entry.is_elsewhere:
        return elsewhere_state(entry)
    return t(f"picker-state-{entry.status.state.replace('_', '-')}")


def _dot(entry: ModelEntry) -> Element:
    word = _state(entry)
    return tag("span", f"nk-dot {dot_kind(entry)}".strip(), title=word, role="img", aria_label=word)
