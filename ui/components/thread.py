"""The messages of one chat, in order. The chat page gives it the branch that is shown; it changes only what differs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nicegui.element import Element

from app.schemas import ThreadMessage
from store.tables import MessageRole, MessageStatus, Model
from ui.components.answer import Answer
from ui.components.elements import button, tag

NUM_SHOWN = 60      # messages; a chat of a thousand opens as fast as one of sixty


@dataclass(frozen=True, slots=True)
class AnswerActions:
    again: Callable[[str], Awaitable[None]]
    go_on: Callable[[str], Awaitable[None]]
    branch: Callable[[ThreadMessage, int], Awaitable[None]]


class Thread(Element, component="thread.js"):
    """Scrolls by itself: see thread.js. `dock()` is the place under the messages, for the composer."""

    def __init__(self, actions: AnswerActions) -> None:
        super().__init__()
        self._actions = actions
        self._messages: Sequence[ThreadMessage] = ()
        self._models: Mapping[str, Model] = {}
        self._num_shown = NUM_SHOWN
        self._shown: dict[str, Element] = {}        # by message id
        with self:
            self._earlier = tag("div", "nk-earlier")
            self._column = tag("div", "nk-messages")
        with self._earlier:
            more = button("Show earlier messages", "nk-btn-ghost nk-btn-sm").props("data-nk-earlier")
            more.on("click", self._show_earlier)
            tag("p", "nk-print-only", "Earlier messages are left out. To have them all, print from the chat’s menu.")

    def dock(self) -> AbstractContextManager[object]:
        return self.add_slot("dock")

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

    def show(self, messages: Sequence[ThreadMessage], models: Mapping[str, Model]) -> None:
        self._messages, self._models = messages, models
        self._show()

    @property
    def writing(self) -> str | None:
        """The id of the answer that is being written, if one is."""
        last = self._messages[-1].message if self._messages else None
        return last.id if last is not None and last.status is MessageStatus.STREAMING else None

    def find(self, message_id: str) -> ThreadMessage:
        return next(item for item in self._messages if item.message.id == message_id)

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
            element = self._bubble(item) if item.message.role is MessageRole.USER else self._answer(item)
        if index < len(self._shown):
            element.move(target_index=index)
        self._shown[item.message.id] = element

    def _bubble(self, item: ThreadMessage) -> Element:
        with tag("div", "nk-turn-me", data_message=item.message.id) as turn:
            tag("div", "nk-bubble", item.message.content, dir="auto")
        return turn

    def _answer(self, item: ThreadMessage) -> Answer:
        message_id = item.message.id
        answer = Answer(item, self._model_of(item))
        answer.on("again", lambda: self._actions.again(message_id))
        answer.on("continue", lambda: self._actions.go_on(message_id))
        answer.on("branch", lambda event: self._actions.branch(self.find(message_id), event.args))
        return answer

    def _bring_up_to_date(self, item: ThreadMessage, *, last: bool) -> None:
        element = self._shown[item.message.id]
        if isinstance(element, Answer):
            element.show(item, self._model_of(item), last=last)

    def _model_of(self, item: ThreadMessage) -> Model | None:
        return self._models.get(item.message.model_id or "")
