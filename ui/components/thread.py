"""The messages of one chat, in order. The chat page gives it the branch that is shown; it changes only what differs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nicegui.element import Element

from app.schemas import ThreadMessage
from app.services.absent_models import ModelName
from app.services.models import ModelEntry
from store.tables import MessageRole, MessageStatus, WhenFull
from ui.components.answer import Answer
from ui.components.elements import button, tag
from ui.components.model_choice import model_choice
from ui.components.said import Limit, Said
from ui.language import t

NUM_SHOWN = 60      # messages; a chat of a thousand opens as fast as one of sixty


@dataclass(frozen=True, slots=True)
class MessageActions:
    """What a person does with a message. The ids are the messages'."""

    again: Callable[[str, str | None], Awaitable[None]]     # with which model; None: as chosen on the page
    go_on: Callable[[str], Awaitable[None]]
    branch: Callable[[ThreadMessage, int], Awaitable[None]]
    edit: Callable[[str, str], Awaitable[None]]             # one's own message, or an answer: with the new text
    remove: Callable[[str], Awaitable[None]]
    answer: Callable[[str], Awaitable[None]]                # a message that has none


class Thread(Element, component="thread.js"):
    """Scrolls by itself: see thread.js. `dock()` is the place under the messages, for the composer.

    Of a chat that `is_temporary` the browser keeps nothing that was half written.
    """

    def __init__(self, actions: MessageActions, *, is_temporary: bool = False) -> None:
        super().__init__()
        self._props["temporary"] = is_temporary
        self._actions = actions
        self._messages: Sequence[ThreadMessage] = ()
        self._names: Mapping[str, ModelName] = {}
        self._when_full = WhenFull.LEAVE_OUT
        self._num_shown = NUM_SHOWN
        self._shown: dict[str, Answer | Said] = {}        # by message id
        with self:
            self._earlier = tag("div", "nk-earlier")
            self._column = tag("div", "nk-messages")
        with self._earlier:
            more = button(t("chat-earlier"), "nk-btn-ghost nk-btn-sm").props("data-nk-earlier")
            more.on("click", self._show_earlier)
            tag("p", "nk-print-only", t("chat-earlier-print"))

    def dock(self) -> AbstractContextManager[object]:
        return self.add_slot("dock")

    def show_models(self, entries: Sequence[ModelEntry]) -> None:
        """Those that an answer may be tried again with."""
        models = [model_choice(entry) for entry in entries if not entry.model.embeds]
        if self._props.get("models") != models:
            self._props["models"] = models
            self.update()

    def refuse_edit(self, message_id: str, reason: str) -> bool:
        """Where a text was edited that cannot be taken. False: the message is not on the page any more."""
        element = self._shown.get(message_id)
        if element is not None:
            element.refuse(reason)
        return element is not None

    def to_end(self) -> None:
        self.run_method("toEnd")

    def reveal(self, message_id: str) -> None:
        """Go to this message, wherever it is in the branch, and mark it for a moment."""
        messages = [item.message.id for item in self._messages if item.message.role is not MessageRole.SYSTEM]
        if message_id in messages:
            self._num_shown = max(self._num_shown, len(messages) - messages.index(message_id) + NUM_SHOWN // 6)
            self._show()
            self.run_method("reveal", message_id)

    def print_all(self) -> None:
        """Open the browser's printing, with every message of the branch on the page."""
        self._num_shown = max(self._num_shown, len(self._messages))
        self._show()
        self.run_method("print", len(self._shown))

    def show_title(self, title: str) -> None:
        """Stands on paper only: on the page it is in the sidebar."""
        if self._props.get("title") != title:
            self._props["title"] = title
            self.update()

    def show(
        self, messages: Sequence[ThreadMessage], names: Mapping[str, ModelName],
        when_full: WhenFull = WhenFull.LEAVE_OUT,
    ) -> None:
        self._messages, self._names, self._when_full = messages, names, when_full
        self._show()

    def show_names(self, names: Mapping[str, ModelName]) -> None:
        """What the models are called that wrote these answers: one may have come since."""
        if names != self._names:
            self._names = names
            self._show()

    @property
    def writing(self) -> str | None:
        """The id of the answer that is being written, if one is."""
        last = self._messages[-1].message if self._messages else None
        return last.id if last is not None and last.status is MessageStatus.STREAMING else None

    def find(self, message_id: str) -> ThreadMessage | None:
        """None where it has gone meanwhile: on a slow line a person may still see it."""
        return next((item for item in self._messages if item.message.id == message_id), None)

    def _show_earlier(self) -> None:
        self._num_shown += NUM_SHOWN
        self._show()

    def _show(self) -> None:
        messages = [item for item in self._messages if item.message.role is not MessageRole.SYSTEM]
        wanted = messages[-self._num_shown:]
        self._earlier.set_visibility(len(wanted) < len(messages))
        for message_id in self._shown.keys() - {item.message.id for item in wanted}:
            self._shown.pop(message_id).delete()
        for index, item in enumerate(wanted):
            if item.message.id not in self._shown:
                self._insert(item, index)
            self._bring_up_to_date(item, last=item is wanted[-1])
        is_writing = self.writing is not None
        if self._props.get("writing") != is_writing:
            self._props["writing"] = is_writing
            self.update()

    def _insert(self, item: ThreadMessage, index: int) -> None:
        with self._column:
            element = self._said(item) if item.message.role is MessageRole.USER else self._answer(item)
        if index < len(self._shown):
            element.move(target_index=index)
        self._shown[item.message.id] = element

    def _said(self, item: ThreadMessage) -> Said:
        said = Said(item)
        said.on("answer", lambda: self._actions.answer(item.message.id), args=[])
        self._listen(said, item.message.id)
        return said

    def _answer(self, item: ThreadMessage) -> Answer:
        message_id = item.message.id
        answer = Answer(item, self._model_of(item))
        answer.on("again", lambda event: self._actions.again(message_id, event.args))
        answer.on("continue", lambda: self._actions.go_on(message_id), args=[])
        self._listen(answer, message_id)
        return answer

    def _listen(self, element: Element, message_id: str) -> None:
        element.on("branch", lambda event: self._branch(message_id, event.args))
        element.on("edit", lambda event: self._actions.edit(message_id, event.args))
        element.on("remove", lambda: self._actions.remove(message_id), args=[])

    async def _branch(self, message_id: str, step: int) -> None:
        if (item := self.find(message_id)) is not None:
            await self._actions.branch(item, step)

    def _bring_up_to_date(self, item: ThreadMessage, *, last: bool) -> None:
        element = self._shown[item.message.id]
        if isinstance(element, Answer):
            element.show(item, self._model_of(item), last=last)
        else:
            element.show(item, unanswered=last, limit=self._limit_at(item))

    def _limit_at(self, item: ThreadMessage) -> Limit | None:
        """Where the newest answer that was begun did no longer see what stands above this message."""
        answers = (each.message for each in reversed(self._messages) if each.message.role is MessageRole.ASSISTANT)
        newest = next((answer for answer in answers if answer.model_version), None)
        if newest is None or newest.first_message_id != item.message.id:
            return None
        above = [each.message for each in self._messages[:self._messages.index(item)]]
        if self._when_full is WhenFull.SUMMARISE and above and above[-1].summary:
            return Limit(t("chat-limit-summarised"), above[-1].summary)
        return Limit(t("chat-limit-left-out"), "")

    def _model_of(self, item: ThreadMessage) -> ModelName | None:
        return self._names.get(item.message.model_id or "")
