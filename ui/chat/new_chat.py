"""A chat that is about to begin: the greeting, the first composer, and whether it will be kept. On the event loop.

`ChatPage` makes one for each empty page, where it is made, and is told when the chat has begun.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.services.container import Services
from store.tables import User
from ui.chat.chosen import Choice
from ui.chat.setup import SetupRoom
from ui.components.absent import AbsentActions, AbsentLine
from ui.components.composer import Composer, Library
from ui.components.elements import tag
from ui.components.hello import Hello
from ui.language import FORESEEN, t
from ui.place import PlaceLine, nothing_leaves_line


@dataclass(frozen=True, slots=True)
class NewChatActions:
    """What it asks of its page."""

    begun: Callable[[str], Awaitable[None]]         # the chat of this id, if its page is still looked at
    model_id: Callable[[], str | None]              # the model that was chosen on this page; None: the default
    think: Callable[[bool], Awaitable[None]]        # first, or not, from now on


class NewChat:
    def __init__(
        self, services: Services, user: User, setup: SetupRoom, page: NewChatActions, absent: AbsentActions
    ) -> None:
        self._services = services
        self._user = user
        self._setup = setup
        self._page = page
        self.is_temporary = False       # stored nowhere, once it has begun
        self._of_absent = absent
        self._hello = Hello(user, self._make_composer)
        self._place = PlaceLine(services.settings, nothing_leaves_line(services.settings))
        tag("div", "nk-hearth")

    def set_temporary(self, is_temporary: bool) -> None:
        self.is_temporary = is_temporary
        self._hello.show_temporary(is_temporary)
        self._hello.composer.show(draft=self._draft)

    def show_model(self, choice: Choice, reasoning: bool | None) -> None:
        self._hello.show_model(choice.entry, is_absent=choice.absence is not None)
        self._place.show(choice.entry)
        if (said := self._absent.show(choice.absence, choice.instead)) is not None:
            self._hello.composer.refuse(said)
        entry = choice.entry
        self._hello.composer.show(window=self._services.meter.window(entry.model) if entry is not None else 0)
        self._hello.composer.show_thinking(reasoning)

    def fill(self, text: str) -> None:
        self._hello.composer.fill(text)

    def refuse(self, error: Exception) -> None:
        """Errors stand where the next thing is done."""
        self._hello.composer.refuse(self._absent.in_words(error))

    @property
    def _draft(self) -> str:
        return "" if self.is_temporary else f"{self._user.id}.new"

    def _make_composer(self) -> Composer:
        self._absent = AbsentLine(self._of_absent)
        return Composer(
            placeholder=t("composer-ask"), draft=self._draft, on_send=self._begin, on_stop=self._nothing_to_stop,
            on_think=self._page.think, library=Library(self._services.prompts, self._user.id), begins=True,
        )

    async def _begin(self, text: str) -> None:
        """The first message."""
        is_temporary = self.is_temporary
        try:
            sent = await self._services.chat.send(
                self._user.id, None, text, model_id=self._page.model_id(), setup=self._setup.setup,
                is_temporary=is_temporary,
            )
        except FORESEEN as error:
            if not self._hello.composer.is_deleted:
                self.refuse(error)
            return
        if not self._hello.composer.is_deleted:
            await self._page.begun(sent.conversation_id)
        elif is_temporary:      # its reader has gone on to another chat meanwhile
            await self._services.temporary.end(self._user.id, sent.conversation_id)

    async def _nothing_to_stop(self) -> None:
        """A new chat has no answer yet."""
