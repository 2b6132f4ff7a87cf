"""How full the model's window is with this chat: the meter in the head, and what it says when asked. Event loop only.

Stone until 80 %, then a warning: see LOOK. What becomes of a chat that no longer fits is chosen here, for this chat.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element

from app.services.meter import ContextUse
from store.tables import WhenFull
from ui.components.elements import icon, menu, tag
from ui.language import t
from ui.words import context

WARN_SHARE = 0.8
_CHOICES = {WhenFull.LEAVE_OUT: "chat-context-leave-out", WhenFull.SUMMARISE: "chat-context-summarise"}


class ContextGauge:
    """Built where it is made; hidden until there is something to show."""

    def __init__(self, on_choose: Callable[[WhenFull], Awaitable[None]]) -> None:
        self._on_choose = on_choose
        self._shown: ContextUse | None = None
        with tag("button", "nk-ctxm", type="button", aria_haspopup="menu") as self._button:
            self._face = tag("span", "nk-ctxm-face")
            with menu("bottom right", "top right") as popup:
                popup.classes("nk-ctx-menu")
                self._sheet = tag("div")
        self._button.set_visibility(False)

    def show(self, use: ContextUse | None) -> None:
        self._button.set_visibility(use is not None)
        if use is None or use == self._shown:
            return
        self._shown = use
        self._button.props["aria-label"] = t("chat-context-label", percent=round(100 * use.share))
        self._button.update()
        self._face.clear()
        with self._face:
            self._show_face(use)
        self._sheet.clear()
        with self._sheet:
            self._show_sheet(use)

    def _show_face(self, use: ContextUse) -> None:
        tag("span", "nk-not-sm", t("chat-context"))
        words = "chat-context-about" if use.is_estimate else "chat-context-of"
        tag("span", "nk-num", t(words, used=_short(use.num_tokens), window=context(use.window)))
        is_tight = use.num_left_out > 0 or use.share >= WARN_SHARE
        with tag("span", "nk-meter warn" if is_tight else "nk-meter calm"):
            tag("i", style=f"width: {100 * use.share:.0f}%")

    def _show_sheet(self, use: ContextUse) -> None:
        words = "chat-context-title-about" if use.is_estimate else "chat-context-title"
        tag("p", "nk-ctx-title", t(words, used=use.num_tokens, window=use.window))
        if use.num_left_out:
            kind = "summarised" if use.when_full is WhenFull.SUMMARISE else "left-out"
            tag("p", "nk-ctx-note", t(f"chat-context-{kind}", count=use.num_left_out))
        else:
            tag("p", "nk-ctx-note", t("chat-context-fits"))
        if use.is_estimate:
            tag("p", "nk-ctx-note", t("chat-context-estimate"))
        tag("hr")
        tag("p", "nk-ctx-when", t("chat-context-when-full"))
        for when_full, words in _CHOICES.items():
            self._choice(when_full, words, is_chosen=use.when_full is when_full)

    def _choice(self, when_full: WhenFull, words: str, *, is_chosen: bool) -> Element:
        async def choose() -> None:
            await self._on_choose(when_full)

        with tag("button", "nk-nav nk-model", type="button", role="menuitemradio",
                 aria_checked="true" if is_chosen else "false").on("click", choose, args=[]) as item:
            with tag("span", "nk-grow"):
                tag("span", text=t(words))
                tag("small", text=t(f"{words}-about"))
            if is_chosen:
                icon("check", 16)
        return item


def _short(num_tokens: int) -> str:
    """"9.2k", as the window beside it is told."""
    return f"{num_tokens / 1024:.1f}k" if num_tokens >= 1024 else str(num_tokens)
