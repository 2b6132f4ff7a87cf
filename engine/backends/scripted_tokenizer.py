"""A vocabulary of the 256 bytes, a few markers, and whatever pieces of bytes one asks for. Any thread."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARKERS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ByteTokenizer:
    """Ids 0 to 255 are bytes, then come `MARKERS`, then `pieces`: tokens of any bytes, half a character or three words.

    Encoding never makes a piece; a script that names `piece_id(b"...")` does.
    """

    def __init__(self, *, pieces: Sequence[bytes] = (), chat_template: str | None = CHATML_TEMPLATE) -> None:
        self._pieces = tuple(pieces)
        self._chat_template = chat_template
        self._marker_ids = {marker: 256 + index for index, marker in enumerate(MARKERS)}
        self._bytes = [bytes([value]) for value in range(256)] + [b""] * len(MARKERS) + list(pieces)

    @property
    def vocab_size(self) -> int:
        return len(self._bytes)

    @property
    def eog_token_ids(self) -> frozenset[int]:
        return frozenset({self._marker_ids["<|endoftext|>"], self.end_of_turn_id})

    @property
    def end_of_turn_id(self) -> int:
        return self._marker_ids["<|im_end|>"]

    @property
    def bos_token(self) -> str:
        return ""

    @property
    def eos_token(self) -> str:
        return "<|im_end|>"

    @property
    def chat_template(self) -> str | None:
        return self._chat_template

    @property
    def special_tokens(self) -> dict[int, str]:
        return {token_id: marker for marker, token_id in self._marker_ids.items()}

    def piece_id(self, piece: bytes) -> int:
        """Raises ValueError for bytes that are none of `pieces`."""
        return 256 + len(MARKERS) + self._pieces.index(piece)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        token_ids: list[int] = []
        for part in _MARKER_PATTERN.split(text) if parse_special else [text]:
            marker_id = self._marker_ids.get(part) if parse_special else None
            token_ids += [marker_id] if marker_id is not None else part.encode(errors="replace")
        return token_ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, token_ids)).decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[token_id]

    def vocabulary(self) -> list[bytes]:
        return list(self._bytes)


_MARKER_PATTERN = re.compile("(" + "|".join(map(re.escape, MARKERS)) + ")")
