"""Which model answers here, and how it is set up: the button in the chat's head, and its menu. For the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui.element import Element

from app.services.engines import ModelState
from app.services.models import Absence, ModelEntry
from store.tables import Preset
from ui.components.elements import icon, menu, tag
from ui.components.far import far_mark
from ui.components.menu_filter import MenuFilter
from ui.language import t
from ui.words import speed

MANY = 8            # models; with more of them there is a field to find one
DOTS = {ModelState.READY: "", ModelState.LOADING: "hot", ModelState.DRAINING: "hot", ModelState.FAILED: "bad"}


class ModelPicker:
    """Owns what stands in the button and the menu; the page says what there is and which is chosen."""

    def __init__(
        self, on_choose: Callable[[str], Awaitable[None]], on_preset: Callable[[str | None], Awaitable[None]], *,
        sees_models: bool,
    ) -> None:
        """`sees_models`: the page of all models, which is for admins."""
        self._on_choose = on_choose
        self._on_preset = on_preset
        self._sees_models = sees_models
        self._last: object = None
        self._speeds: Mapping[str, float] = {}
        with tag("button", "nk-picker", type="button", aria_haspopup="menu"):
            tag("span", "nk-sr", t("picker-model"))
            self._button = tag("span", "nk-row nk-ell")
            icon("chevron-down", 16)
            with menu("bottom left", "top left") as popup:
                popup.props(remove="auto-close")        # the field of a long list is in it
                self._popup = popup
                self._menu = tag("div")

    def open(self) -> None:
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
            dict(speeds),
        )
        if now == self._last:
            return
        self._last, self._speeds = now, speeds
        preset = next((preset for preset in presets if preset.id == preset_id), None)
        self._button.clear()
        with self._button:
            self._show_chosen(chosen, absence, preset)
        self._menu.clear()
        with self._menu:
            if len(entries) > MANY:
                MenuFilter(t("picker-find"))
            with tag("div", "nk-menu-long", role="group", aria_label=t("picker-models")):
                for entry in entries:
                    self._model(entry, is_chosen=entry is chosen)
            if entries:
                tag("hr")
            if presets:
                self._presets(presets, preset)
                tag("hr")
            if self._sees_models:
                _link("/models", "box", t("picker-all") if entries else t("picker-add"))
            _link("/library", "sliders-horizontal", t("picker-library"))

    def _presets(self, presets: Sequence[Preset], chosen: Preset | None) -> None:
        with tag("div", "nk-menu-long", role="group", aria_label=t("picker-presets")):
            tag("div", "nk-group", t("picker-presets"))
            self._item(t("picker-no-preset"), "", lambda: self._on_preset(None), is_chosen=chosen is None)
            for preset in presets:
                self._preset(preset, is_chosen=preset is chosen)

    def _preset(self, preset: Preset, *, is_chosen: bool) -> None:
        self._item(preset.name, "", lambda: self._on_preset(preset.id), is_chosen=is_chosen)

    def _show_chosen(self, chosen: ModelEntry | None, absence: Absence | None, preset: Preset | None) -> None:
        if absence is not None:
            tag("span", "nk-dot bad", role="img", aria_label=t("picker-absent"))
            tag("span", "nk-ell", absence.name)
            tag("small", "nk-hide-xs", t("picker-absent"))
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

    def _model(self, entry: ModelEntry, *, is_chosen: bool) -> None:
        model = entry.model
        about = t("picker-starter-long") if model.is_starter else model.quantisation
        if entry.is_elsewhere:
            rate = self._speeds.get(model.id)
            where = t("picker-elsewhere", connections=", ".join(entry.connections))
            about = ". ".join(filter(None, (where, model.quantisation, speed(rate) if rate else "")))
        self._item(
            model.name, ". ".join(filter(None, (about, _state(entry)))), lambda: self._on_choose(model.id),
            is_chosen=is_chosen, entry=entry,
        )

    def _item(
        self, name: str, about: str, choose: Callable[[], Awaitable[None]], *, is_chosen: bool,
        entry: ModelEntry | None = None,
    ) -> None:
        async def close_and_choose() -> None:
            self._popup.close()
            await choose()

        classes = "nk-nav nk-model" if entry is not None else "nk-nav"
        with tag("button", classes, type="button", role="menuitemradio",
                 aria_checked="true" if is_chosen else "false").on("click", close_and_choose) as item:
            if entry is not None:
                item.props("data-nk-filter")
                _dot(entry)
            with tag("span", "nk-grow nk-ell"):
                tag("span", text=name)
                if entry is not None and entry.is_elsewhere:
                    far_mark()
                if about:
                    tag("small", "", about)
            if is_chosen:
                icon("check", 16)


def _link(href: str, icon_name: str, text: str) -> None:
    with tag("a", "nk-nav", href=href, role="menuitem"):
        icon(icon_name)
        tag("span", text=text)


def _state(entry: ModelEntry) -> str:
    if entry.is_elsewhere:
        return t("picker-elsewhere-failing" if entry.is_failing else "picker-elsewhere-ready")
    return t(f"picker-state-{entry.status.state.replace('_', '-')}")


def _dot(entry: ModelEntry) -> Element:
    kind = DOTS.get(entry.status.state, "idle")
    if entry.is_elsewhere:
        kind = "bad" if entry.is_failing else ""
    word = _state(entry)
    return tag("span", f"nk-dot {kind}".strip(), title=word, role="img", aria_label=word)
