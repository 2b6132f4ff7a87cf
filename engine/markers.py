"""Markers that a person types are text: `<|im_end|>` inside a message ends no message, and begins none of another role.

`LocalEngine` seals each message before the template sees it and encodes the prompt in the pieces that `pieces` gives. A
seal stands inside every marker that was typed, so the model reads the same letters, but never the marker. What the
template writes itself is as it was. Any thread.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from engine.backends.base import Tokenizer
from engine.engine import ChatMessage


def control_markers(tokenizer: Tokenizer) -> dict[int, str]:
    """Spellings, by token id, of tokens that add nothing to a text: markers, as opposed to what looks like one."""
    return {
        token_id: spelling
        for token_id, spelling in tokenizer.special_tokens.items()
        if spelling and not tokenizer.token_bytes(token_id)
    }


def is_marker(name: str) -> bool:
    """Whether a token that a model's makers added stands for something, as opposed to a frequent piece of text."""
    return (name.startswith("<") and name.endswith(">")) or (name.startswith("[") and name.endswith("]"))


class MarkerSeal:
    def __init__(self, markers: Iterable[str]) -> None:
        self._pattern = pattern_of(marker for marker in markers if len(marker) > 1)
        self._seal = secrets.token_hex(16)         # nobody can type it, and no template or JSON changes it

    def sealed(self, message: ChatMessage) -> ChatMessage:
        texts = ("content", "reasoning", "name", "tool_calls", "tool_call_id")
        return replace(message, **{field: self.sealed_all(getattr(message, field)) for field in texts})

    def pieces(self, prompt: str) -> list[str]:
        return [piece for piece in prompt.split(self._seal) if piece]

    def sealed_all(self, value: Any) -> Any:
        """Strings, and whatever lists and dicts hold of them."""
        match value:
            case str():
                return self._seal_text(value)
            case list() | tuple():
                return type(value)(map(self.sealed_all, value))
            case dict():
                return {self.sealed_all(key): self.sealed_all(each) for key, each in value.items()}
        return value

    def _seal_text(self, text: str) -> str:
        """After the first letter of each marker: markers that overlap are found too."""
        parts: list[str] = []
        at = 0
        while self._pattern is not None and (found := self._pattern.search(text, at)):
            parts.append(text[at : found.start() + 1])
            at = found.start() + 1
        return self._seal.join((*parts, text[at:]))


def pattern_of(markers: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of them, the longest first; None where there is none."""
    longest_first = sorted(set(markers) - {""}, key=lambda marker: (-len(marker), marker))
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
