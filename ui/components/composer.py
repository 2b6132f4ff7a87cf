"""Where people write; see composer.js. Used by the chat page, for a new chat and under a conversation.

The prompts that /commands call up are read when the first slash is typed: no page carries them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nicegui.element import Element

from app.services.prompts import PromptService, parts_of
from ui.components.prompt_form import PromptForm
from ui.language import FORESEEN, told
from ui.theme import ASSETS


@dataclass(frozen=True, slots=True)
class Library:
    """Whose prompts the composer offers."""

    prompts: PromptService
    user_id: str


class Composer(
    Element, component="composer.js", esm={"inglenook-composer": str(ASSETS / "scripts" / "composer")}
):
    """`on_send` gets the text, which stays in the field until `accept` is called, or `refuse` with a reason to show.

    `draft` names the chat whose half-written message this browser keeps; "": it keeps none. `on_think` is called by the
    switch that `show_thinking` brings, where the model has one. One that `begins` a chat tells of a temporary one that
    this tab lost with its page.
    """

    def __init__(
        self,
        *,
        placeholder: str,
        draft: str,
        on_send: Callable[[str], Awaitable[None]],
        on_stop: Callable[[], Awaitable[None]],
        library: Library | None = None,
        on_think: Callable[[bool], Awaitable[None]] | None = None,
        begins: bool = False,
    ) -> None:
        super().__init__()
        self._library = library
        self._props.update(placeholder=placeholder, draft=draft, begins=begins)
        self._props.update(writing=False, temporary=False, reasoning=None, window=0)
        self.on("send", lambda event: on_send(event.args))
        self.on("stop", on_stop)
        if library is not None:
            self.on("slash", self._offer_prompts)
            self.on("prompt", lambda event: self._call_up(event.args["id"], event.args["selected"]))
        if on_think is not None:
            self.on("think", lambda event: on_think(event.args))

    def accept(self) -> None:
        self.run_method("accept")

    def refuse(self, problem: str) -> None:
        self.run_method("refuse", problem)

    def fill(self, text: str) -> None:
        self.run_method("fill", text)

    def show(
        self,
        *,
        writing: bool | None = None,
        placeholder: str | None = None,
        draft: str | None = None,
        temporary: bool | None = None,
        window: int | None = None,
    ) -> None:
        """While an answer is written, Send is Stop. `window`: tokens that the model sees at once; 0: nobody knows."""
        self._set(writing=writing, placeholder=placeholder, draft=draft, temporary=temporary, window=window)

    def show_thinking(self, reasoning: bool | None) -> None:
        """Whether the model thinks first; None: it cannot be told."""
        if self._props["reasoning"] != reasoning:
            self._props["reasoning"] = reasoning
            self.update()

    def _set(self, **wanted: bool | str | int | None) -> None:
        changed = {key: value for key, value in wanted.items() if value is not None and self._props.get(key) != value}
        if changed:
            self._props.update(changed)
            self.update()

    async def _offer_prompts(self) -> None:
        assert self._library is not None
        prompts = await self._library.prompts.list(self._library.user_id)
        offered = [{"id": prompt.id, "command": prompt.command, "name": prompt.name} for prompt in prompts]
        self.run_method("offer", offered)

    async def _call_up(self, prompt_id: str, selected: str) -> None:
        assert self._library is not None
        try:
            prompt = await self._library.prompts.get(self._library.user_id, prompt_id)
        except FORESEEN as error:
            self.refuse(told(error))    # deleted a moment ago, in another tab
            return
        if self.parent_slot is not None and not self.is_deleted:
            with self.parent_slot.parent:
                PromptForm(prompt.name, parts_of(prompt.content), selected)
