"""One answer being written, as its watchers see it: text that grows, a state, and how it ended. Event loop only.

`GenerationService` alone writes it; any number of pages, tabs and devices follow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from enum import StrEnum

from store.tables import MessageStatus

TOO_LONG = "error-question-long"        # the words for a message that no try can fit into the model's window


class GenerationState(StrEnum):
    LOADING = "loading"             # the model
    SUMMARISING = "summarising"     # what no longer fits into the model's window
    WAITING = "waiting"             # in the queue: see `queue_position`; or reading the prompt, when that is None
    WRITING = "writing"
    ENDED = "ended"                 # `status` says how; the store has it all


@dataclass(slots=True, kw_only=True)
class GenerationStats:
    """Known as the answer goes; all of it at its end. `GenerationService` writes it, at each token."""

    model_version: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int = 0
    time_to_first_token_s: float | None = None
    duration_s: float | None = None
    reasoning_s: float | None = None        # thinking, before the first word; not what it waited before


class Utf16Text:
    """A text that grows, in the units that a browser counts."""

    def __init__(self) -> None:
        self._units = bytearray()

    def append(self, text: str) -> None:
        self._units += text.encode("utf-16-le")

    def from_offset(self, offset: int) -> tuple[int, str]:
        """An offset beyond the end means the end; one inside a surrogate pair is moved to the pair's start."""
        start = min(max(offset, 0) * 2, len(self._units))
        if start < len(self._units) and self._units[start + 1] & 0xFC == 0xDC:
            start -= 2
        return start // 2, self._units[start:].decode("utf-16-le")


@dataclass(slots=True, eq=False)
class Generation:
    message_id: str
    conversation_id: str
    user_id: str
    model_id: str
    text: str = ""                                          # what an answer that is continued had already
    reasoning: str = ""
    state: GenerationState = GenerationState.LOADING
    status: MessageStatus = MessageStatus.STREAMING
    queue_position: int | None = None                       # 1 is next
    num_to_read: int | None = None                          # tokens of its prompt that the model has not just read
    error: str | None = None
    stats: GenerationStats = field(default_factory=GenerationStats)
    connection: str = ""                                    # that it comes over, where its model is elsewhere
    num_left_out: int = 0                                   # oldest messages that the model's window could not hold
    first_message_id: str | None = None                     # the oldest that it could; None: all of them
    _text: Utf16Text = field(default_factory=Utf16Text)
    _reasoning: Utf16Text = field(default_factory=Utf16Text)
    _num_changes: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._text.append(self.text)
        self._reasoning.append(self.reasoning)

    @property
    def is_ended(self) -> bool:
        return self.state is GenerationState.ENDED

    def append(self, text: str, reasoning: str = "") -> None:
        if text:
            self.text += text
            self._text.append(text)
        if reasoning:
            self.reasoning += reasoning
            self._reasoning.append(reasoning)
        self.announce()

    def announce(self) -> None:
        """Wake the watchers."""
        self._num_changes += 1
        self._changed.set()

    def text_from(self, offset: int) -> tuple[int, str]:
        """Where it begins, and the text from there on; counted in UTF-16 code units, as JavaScript's `length` is."""
        return self._text.from_offset(offset)

    def reasoning_from(self, offset: int) -> tuple[int, str]:
        return self._reasoning.from_offset(offset)

    async def follow(self, offset: int = 0) -> AsyncGenerator[tuple[int, str], None]:
        """(offset, text) in UTF-16 code units: once at once, then at each change, until it has ended.

        A change of state comes with an empty text. Who is slow gets more at a time, never less in all.
        """
        while True:
            num_seen, is_last = self._num_changes, self.is_ended
            offset, text = self.text_from(offset)
            yield offset, text
            if is_last:
                return
            offset += utf16_length(text)
            if self._num_changes == num_seen:
                self._changed.clear()       # who has not seen this change yet looks at the number, not at the event
                await self._changed.wait()


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
