"""Which model answers here: the button in the chat's head, and its menu. Used by the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui.element import Element

from app.services.engines import ModelState
from app.services.models import ModelEntry
from ui.components.elements import icon, menu, tag

STARTER_NOTE = "small starter model"
DOTS = {ModelState.READY: "", ModelState.LOADING: "hot", ModelState.DRAINING: "hot", ModelState.FAILED: "bad"}
STATE_WORDS = {
    ModelState.READY: "Ready",
    ModelState.LOADING: "Loading",
    ModelState.DRAINING: "Unloading",
    ModelState.ON_DISK: "Loads when you ask",
    ModelState.FAILED: "Did not load",
}


class ModelPicker:
    """Owns what stands in the button and the menu; the page says what there is and which is chosen."""

    def __init__(self, on_choose: Callable[[str], Awaitable[None]]) -> None:
        self._on_choose = on_choose
        self._last: object = None
        with tag("button", "nk-picker", type="button", aria_haspopup="menu"):
            tag("span", "nk-sr", "Model: ")
            self._button = tag("span", "nk-row nk-ell")
            icon("chevron-down", 16)
            with menu("bottom left", "top left"):
                self._menu = tag("div")

    def show(self, entries: Sequence[ModelEntry], chosen_id: str | None) -> None:
        entries = [entry for entry in entries if not entry.model.embeds]
        now = [(entry.model.id, entry.model.name, entry.status.state) for entry in entries], chosen_id
        if now == self._last:
            return
        self._last = now
        chosen = next((entry for entry in entries if entry.model.id == chosen_id), None)
        self._button.clear()
        with self._button:
            self._show_chosen(chosen)
        self._menu.clear()
        with self._menu:
            for entry in entries:
                self._item(entry, is_chosen=entry is chosen)
            if entries:
                tag("hr")
            with tag("a", "nk-nav", href="/models", role="menuitem"):
                icon("box")
                tag("span", text="All models" if entries else "Add a model")

    def _show_chosen(self, chosen: ModelEntry | None) -> None:
        if chosen is None:
            tag("span", text="No model yet")
            return
        _dot(chosen)
        tag("span", "nk-ell", chosen.model.name)
        tag("small", "nk-hide-xs", STARTER_NOTE if chosen.model.is_starter else chosen.model.quantisation)

    def _item(self, entry: ModelEntry, *, is_chosen: bool) -> None:
        model = entry.model

        async def choose() -> None:
            await self._on_choose(model.id)

        with tag("button", "nk-nav nk-model", type="button", role="menuitemradio",
                 aria_checked="true" if is_chosen else "false").on("click", choose):
            _dot(entry)
            with tag("span", "nk-grow"):
                tag("span", text=model.name)
                about = STARTER_NOTE.capitalize() if model.is_starter else model.quantisation
                tag("small", "", ". ".join(filter(None, (about, STATE_WORDS[entry.status.state]))))
            if is_chosen:
                icon("check", 16)


def _dot(entry: ModelEntry) -> Element:
    state = entry.status.state
    return tag("span", f"nk-dot {DOTS.get(state, 'idle')}".strip(), title=STATE_WORDS[state], role="img",
               aria_label=STATE_WORDS[state])
