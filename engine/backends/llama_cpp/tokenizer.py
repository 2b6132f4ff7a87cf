"""llama.cpp's vocabulary as a `Tokenizer`. On any thread: long texts are encoded off the event loop."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.backends.llama_cpp.library import native
from engine.backends.llama_cpp.model import NativeModel, RunOptions, pointer_to
from engine.errors import EngineFailed, InvalidRequest
from engine.markers import is_marker, pattern_of
from engine.told import Told

# llama.cpp's attributes of a token.
_NO_TEXT = 1 | 2 | 8              # LLAMA_TOKEN_ATTR_UNKNOWN, _UNUSED, _CONTROL
_ADDED_BY_HAND = 16               # LLAMA_TOKEN_ATTR_USER_DEFINED: <tool_call>, but runs of spaces too

_PIECE_BYTES = 256                # longer pieces exist; they take a second call
_STRETCH_CHARS = 1024             # the least that is worth a call
_MAX_RUN_CHARS = 4096             # more than a stretch and a marker have, so that none is cut
_RUN = re.compile(r"\S+|\s+")
_MAX_TEXT_BYTES = 1 << 30         # the library counts bytes and tokens in 32 bits


class LlamaTokenizer:
    def __init__(self, model: NativeModel) -> None:
        self._vocab = model.vocab
        self._has_vocabulary = model.has_tokenizer
        self._uses_patterns = model.splits_by_patterns
        self.vocab_size: Final = model.vocab_size
        self.chat_template: Final = model.chat_template
        self._pieces: dict[int, bytes] = {}
        self._users = _Users()
        lib = native()
        self.bos_token: Final = self._marker(lib.llama_vocab_bos)
        self.eos_token: Final = self._marker(lib.llama_vocab_eos)
        self.eog_token_ids: Final = self._all_eog()
        without_text, added = self._spellings(_NO_TEXT), self._spellings(_ADDED_BY_HAND)
        self.special_tokens: Final = without_text | {
            token_id: name for token_id, name in added.items() if is_marker(name)
        }
        self._any_marker = pattern_of((without_text | added).values())

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        raw = _as_utf8(text)
        if not self._has_vocabulary:
            raise InvalidRequest("This model has no tokenizer: send token ids, or load another.", param="messages")
        if len(raw) > _MAX_TEXT_BYTES:
            raise InvalidRequest("The text is larger than a gigabyte. Shorten it.", param="messages")
        if len(raw) <= _STRETCH_CHARS:
            return self._encode(raw, add_special=add_special, parse_special=parse_special)
        before, behind = self._added_to_a_text() if add_special else ([], [])
        token_ids = before
        for stretch in self._stretches(raw.decode()):
            for piece in _in_short_runs(stretch) if self._uses_patterns else (stretch,):
                token_ids += self._encode(piece.encode(), add_special=False, parse_special=parse_special)
        return token_ids + behind

    def _added_to_a_text(self) -> tuple[list[int], list[int]]:
        """What `add_special` puts before and behind a text: [CLS] and [SEP], say."""
        bare = self._encode(b"a", add_special=False, parse_special=False)
        added = self._encode(b"a", add_special=True, parse_special=False)
        start = next(start for start in range(len(added)) if added[start : start + len(bare)] == bare)
        return added[:start], added[start + len(bare) :]

    def _stretches(self, text: str) -> Iterator[str]:
        """Cut before markers: the library looks for each through all the rest of a text, from each place where it found
        one, so that a message of them would take hours.
        """
        start = 0
        for found in self._any_marker.finditer(text) if self._any_marker else ():
            if found.start() - start >= _STRETCH_CHARS:
                yield text[start : found.start()]
                start = found.start()
        yield text[start:]

    def _encode(self, raw: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        capacity = len(raw) + 8                      # a token is at least a byte, but for a few special ones
        with self._users.one_more():
            while True:
                tokens = np.empty(capacity, np.int32)
                count = native().llama_tokenize(
                    self._vocab, raw, len(raw), pointer_to(tokens, ctypes.c_int32), capacity, add_special, parse_special
                )
                if count >= 0:
                    token_ids: list[int] = tokens[:count].tolist()
                    return token_ids
                capacity = -count

    def token_bytes(self, token_id: int) -> bytes:
        piece = self._pieces.get(token_id)
        if piece is None:
            piece = self._pieces[token_id] = self._piece(token_id, special=False)
        return piece

    def vocabulary(self) -> list[bytes]:
        if not self._has_vocabulary:
            return [b""] * self.vocab_size
        to_piece, vocab = native().llama_token_to_piece, self._vocab
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        pieces: list[bytes] = []
        with self._users.one_more():
            for token_id in range(self.vocab_size):
                size = to_piece(vocab, token_id, buffer, _PIECE_BYTES, 0, False)
                pieces.append(buffer.raw[:size] if size >= 0 else self._piece(token_id, special=False))
        return pieces

    def close(self) -> None:
        """Returns once nobody is inside the library; later calls raise EngineFailed."""
        self._users.end()

    def _piece(self, token_id: int, *, special: bool) -> bytes:
        if not self._has_vocabulary or not 0 <= token_id < self.vocab_size:
            return b""
        capacity = _PIECE_BYTES
        with self._users.one_more():
            while True:
                buffer = ctypes.create_string_buffer(capacity)
                size = native().llama_token_to_piece(self._vocab, token_id, buffer, capacity, 0, special)
                if size >= 0:
                    return buffer.raw[:size]
                capacity = -size

    def _marker(self, token_of: Any) -> str:
        return self._piece(token_of(self._vocab), special=True).decode("utf-8", "replace")

    def _spellings(self, attributes: int) -> dict[int, str]:
        """Of the tokens that have one of these attributes."""
        if not self._has_vocabulary:
            return {}
        attributes_of = native().llama_vocab_get_attr
        marked = (each for each in range(self.vocab_size) if attributes_of(self._vocab, each) & attributes)
        return {token_id: self._piece(token_id, special=True).decode("utf-8", "replace") for token_id in marked}

    def _all_eog(self) -> frozenset[int]:
        if not self._has_vocabulary:
            return frozenset()
        is_eog = native().llama_vocab_is_eog
        return frozenset(token_id for token_id in range(self.vocab_size) if is_eog(self._vocab, token_id))


class GgufTokenizer(LlamaTokenizer):
    """Of a file whose weights another back end runs. Raises ModelLoadError where the library refuses the file."""

    def __init__(self, path: Path) -> None:
        self._model = NativeModel(path, RunOptions(), vocabulary_only=True)
        super().__init__(self._model)

    def close(self) -> None:
        super().close()
        self._model.close()


def _as_utf8(text: str) -> bytes:
    """Halves of a surrogate pair are joined, and one without its other half becomes U+FFFD, as in browsers."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _in_short_runs(text: str) -> Iterator[str]:
    """Cut words, or gaps between them, that are longer than any in a language. The library takes texts apart by regular
    expressions that call themselves for each letter: 29,000 of one kind in a row end the process.
    """
    start = 0
    for run in _RUN.finditer(text):
        for cut in range(run.start() + _MAX_RUN_CHARS, run.end(), _MAX_RUN_CHARS):
            yield text[start:cut]
            start = cut
    yield text[start:]


class _Users:
    """Counts the threads inside the library, so that the vocabulary is not freed under them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._ended = False

    @contextmanager
    def one_more(self) -> Iterator[None]:
        with self._changed:
            if self._ended:
                raise EngineFailed(Told("gone"))
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: self._count == 0)
