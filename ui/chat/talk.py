"""What stands under the bar: a conversation, a chat that is about to begin, or the word that there is no such chat.

`ChatPage` owns it, and says which. On the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.services.absent_models import ModelName
from app.services.container import Services
from app.services.models import ModelEntry
from store.tables import Conversation, User
from ui.chat.chosen import Choice
from ui.chat.conversation import ConversationView, TalkActions
from ui.chat.new_chat import NewChat, NewChatActions
from ui.chat.setup import SetupRoom
from ui.components.absent import AbsentActions
from ui.components.elements import tag
from ui.components.hello import chat_not_found


class TalkRoom:
    def __init__(
        self, services: Services, user: User, setup: SetupRoom, of_talk: TalkActions, of_new: NewChatActions,
        of_absent: AbsentActions,
    ) -> None:
        self._services = services
        self._user = user
        self._setup = setup
        self._of_talk = of_talk
        self._of_new = of_new
        self._of_absent = of_absent
        self.talk: ConversationView | None = None
        self._new: NewChat | None = None        # or none of both, where there is no such chat

    def build(self) -> None:
        self.body = tag("div", "nk-talk")

    def fill(self, conversation: Conversation | None, *, is_found: bool, was_temporary: bool = False) -> None:
        """Anew: with this conversation, or with none, where a chat is to begin or was not found."""
        self.talk = self._new = None
        self.body.clear()
        with self.body:
            if conversation is not None:
                self.talk = ConversationView(
                    self._services, self._user.id, conversation, self._of_talk, self._of_absent
                )
            elif is_found:
                self._new = NewChat(self._services, self._user, self._setup, self._of_new, self._of_absent)
            else:
                chat_not_found(was_temporary=was_temporary)

    @property
    def is_new(self) -> bool:
        return self._new is not None

    @property
    def begins_temporary(self) -> bool:
        """The chat that is about to begin will be stored nowhere."""
        return self._new is not None and self._new.is_temporary

    def set_temporary(self, is_temporary: bool) -> None:
        """Of a chat that has not begun."""
        if self._new is not None:
            self._new.set_temporary(is_temporary)

    def write(self, text: str) -> None:
        """Into the composer of a chat that has not begun."""
        if self._new is not None:
            self._new.fill(text)

    def refuse(self, error: Exception) -> None:
        if self.talk is not None:
            self.talk.refuse(error)
        elif self._new is not None:
            self._new.refuse(error)

    def show_model(
        self, listed: Sequence[ModelEntry], names: Mapping[str, ModelName], choice: Choice, reasoning: bool | None
    ) -> None:
        if self.talk is not None:
            self.talk.show_models(listed, names)
            self.talk.show_model(choice)
            self.talk.show_thinking(reasoning)
        if self._new is not None:
            self._new.show_model(choice, reasoning)
