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

HERMES_TEMPLATE = (
    "{% if tools %}<|im_start|>system\n"
    "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    'Call them so: <tool_call>{"name": <name>, "arguments": <object>}</tool_call><|im_end|>\n{% endif %}'
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls %}"
    '<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>'
    "{% endfor %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING_TEMPLATE = CHATML_TEMPLATE.replace("assistant\n", "assistant\n<think>\n{# ends with </think> #}")


class ByteTokenizer:
    """Ids 0 to 255 are bytes, then come `MARKERS`, then `pieces`: tokens of any bytes, half a character or three words,
    then further `markers`: control tokens, as a model may have for its calls of tools.

    Encoding never makes a piece; a script that names `piece_id(b"...")` does.
    """

    def __init__(
        self,
        *,
        pieces: Sequence[bytes] = (),
        markers: Sequence[str] = (),
        chat_template: str | None = CHATML_TEMPLATE,
    ) -> None:
        self._pieces = tuple(pieces)
        self._chat_template = chat_template
        self._bytes = [bytes([value]) for value in range(256)] + [b""] * len(MARKERS) + list(pieces)
        self._marker_ids = {marker: 256 + index for index, marker in enumerate(MARKERS)}
        self._marker_ids |= {marker: len(self._bytes) + index for index, marker in enumerate(markers)}
        self._bytes += [b""] * len(markers)
        self._marker_pattern = re.compile("(" + "|".join(map(re.escape, self._marker_ids)) + ")")

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
        for part in self._marker_pattern.split(text) if parse_special else [text]:
            marker_id = self._marker_ids.get(part) if parse_special else None
            token_ids += [marker_id] if marker_id is not None else part.encode(errors="replace")
        return token_ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, token_ids)).decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[token_id]

    def vocabulary(self) -> list[bytes]:
        return list(self._bytes)
