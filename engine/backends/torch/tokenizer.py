"""A folder's `tokenizer.json` as a `Tokenizer`, by the library that wrote it. Any thread: it keeps no state of a call.

Its bytes are worked out from the vocabulary, by the two ways in which files spell them: every byte as a letter of its
own (GPT-2's), or text with U+2581 for spaces and <0x0A> for single bytes (SentencePiece's).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import structlog
from tokenizers import Tokenizer as Encoder

from engine.errors import ModelLoadError
from engine.markers import is_marker
from engine.small_file import read_small
from engine.tokenizer_config import spelling_of, template_in
from engine.told import Told

MAX_FILE_BYTES: Final = 128 << 20
SPACE: Final = "\u2581"
# What ends an answer in the families there are, beside what the model's own files name.
TURN_ENDS: Final = frozenset({
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "</s>",
    "<eos>", "<|return|>",
})
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

logger = structlog.get_logger(__name__)


class FolderTokenizer:
    """Raises ModelLoadError where the folder's files are not there, or spell bytes in a way that is not known."""

    def __init__(self, folder: Path, *, vocab_size: int, eos_token_ids: tuple[int, ...] = ()) -> None:
        path = folder / "tokenizer.json"
        source = _read(path)
        described = _parsed(source, path)
        settings = _settings(folder)
        self.vocab_size: Final = vocab_size
        self._reader = _encoder(source, path)               # markers in a text are tokens
        self._plain = _encoder(source, path)                # markers in a text are text
        self._plain.encode_special_tokens = True
        added = {token["id"]: token for token in described.get("added_tokens") or ()}
        self.special_tokens: Final = {
            token_id: str(token["content"]) for token_id, token in added.items()
            if token.get("special") or is_marker(str(token["content"]))
        }
        self._pieces = self._spell(described, added)
        self.bos_token: Final = spelling_of(settings.get("bos_token"))
        self.eos_token: Final = spelling_of(settings.get("eos_token"))
        self._adds_bos = bool(settings.get("add_bos_token")) or self._library_adds_bos()
        ends = TURN_ENDS | {self.eos_token}
        named = {token_id for token_id, name in self.special_tokens.items() if name in ends}
        self.eog_token_ids: Final = frozenset(named | set(eos_token_ids))
        self.chat_template: Final = _chat_template(folder, settings)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")     # half a pair is no text
        encoder = self._reader if parse_special else self._plain
        token_ids: list[int] = encoder.encode(text, add_special_tokens=False).ids
        if add_special and self._adds_bos and (bos_id := self._reader.token_to_id(self.bos_token)) is not None:
            return [bos_id, *token_ids]
        return token_ids

    def token_bytes(self, token_id: int) -> bytes:
        return self._pieces[token_id] if 0 <= token_id < len(self._pieces) else b""

    def vocabulary(self) -> list[bytes]:
        return list(self._pieces)

    def _library_adds_bos(self) -> bool:
        if not self.bos_token:
            return False
        token_ids = self._reader.encode("a", add_special_tokens=True).ids
        return bool(token_ids) and token_ids[0] == self._reader.token_to_id(self.bos_token)

    def _spell(self, described: dict[str, Any], added: dict[int, dict[str, Any]]) -> list[bytes]:
        """Of every id: the bytes that it adds to a text."""
        spell = _letters if _uses_letters(described) else _pieces_of_text
        pieces = [b""] * self.vocab_size
        for name, token_id in self._reader.get_vocab(with_added_tokens=True).items():
            if not 0 <= token_id < self.vocab_size or token_id in self.special_tokens:
                continue
            pieces[token_id] = name.encode() if token_id in added else spell(name)
        return pieces


def _uses_letters(described: dict[str, Any]) -> bool:
    kinds = _kinds(described.get("decoder")) | _kinds(described.get("pre_tokenizer"))
    return "ByteLevel" in kinds


def _kinds(part: Any) -> set[str]:
    """Names of all parts in a chain of them."""
    if not isinstance(part, dict):
        return set()
    inner = part.get("decoders") or part.get("pretokenizers") or ()
    return {str(part.get("type"))}.union(*(_kinds(each) for each in inner))


def _letters_of_bytes() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes stand for themselves, the others for letters from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


_LETTERS: Final = _letters_of_bytes()


def _letters(name: str) -> bytes:
    return bytes(_LETTERS[letter] for letter in name) if all(letter in _LETTERS for letter in name) else name.encode()


def _pieces_of_text(name: str) -> bytes:
    if single := _BYTE.fullmatch(name):
        return bytes([int(single[1], 16)])
    return name.replace(SPACE, " ").encode()


def _encoder(source: str, path: Path) -> Encoder:
    try:
        encoder: Encoder = Encoder.from_str(source)
    except Exception as error:      # the library raises nothing more special
        raise ModelLoadError(
            Told("folder-file-unusable", file=path.name, folder=path.parent.name, detail=str(error))
        ) from error
    encoder.no_padding()
    encoder.no_truncation()
    return encoder


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ModelLoadError(Told("folder-file-large", file=path.name, folder=path.parent.name))
        return read_small(path, MAX_FILE_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelLoadError(
            Told("folder-file-unreadable", file=path.name, folder=path.parent.name, detail=str(error))
        ) from error


def _parsed(source: str, path: Path) -> dict[str, Any]:
    try:
        content = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise ModelLoadError(
            Told("folder-file-broken", file=path.name, folder=path.parent.name, detail=str(error))
        ) from error
    return content if isinstance(content, dict) else {}


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    return _parsed(_read(path), path) if path.is_file() else {}


def _chat_template(folder: Path, settings: dict[str, Any]) -> str | None:
    path = folder / "chat_template.jinja"
    if path.is_file():
        return _read(path)
    return template_in(settings)
