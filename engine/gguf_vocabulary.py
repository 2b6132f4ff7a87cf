"""The special tokens of a GGUF file, read without loading it: what its chat template is held against. Called by
`engine.judge`, on any thread.

The header's reader walks over vocabularies; this one goes back for the few tokens that are markers.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from engine.errors import ModelLoadError
from engine.gguf import GgufHeader
from engine.gguf_reader import MetadataArray, MetadataValue
from engine.told import Told

_SPECIAL_TYPES = frozenset({2, 3, 4})       # unknown, control, added by hand
_MAX_SPECIAL = 20_000
_MAX_SPELLING_BYTES = 256                   # a longer one is no marker
_MAX_TOKENS = 1_000_000
_WINDOW_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialTokens:
    spellings: frozenset[str] = frozenset()     # empty: not known
    bos: str = ""
    eos: str = ""
    adds_bos: bool = False                      # the tokenizer begins each text with it


def read_special_tokens(header: GgufHeader) -> SpecialTokens:
    """Raises ModelLoadError where the file changed while it was read."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    types = header.metadata.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, MetadataArray) or not isinstance(types, MetadataArray):
        return SpecialTokens()
    if tokens.length != types.length or tokens.length > _MAX_TOKENS:
        return SpecialTokens()
    ends = {name: _token_id(header.metadata.get(f"tokenizer.ggml.{name}_token_id")) for name in ("bos", "eos")}
    try:
        with header.path.open("rb") as file:
            special = _special_ids(file, types)
            spelt = _spellings(header.path, file, tokens, special | {each for each in ends.values() if each >= 0})
    except OSError as error:
        raise ModelLoadError(Told("file-unreadable", path=str(header.path), detail=str(error))) from error
    is_odd = len(special) == _MAX_SPECIAL           # more than were looked at: nothing can be said of the others
    return SpecialTokens(
        spellings=frozenset(
            spelling for token_id, spelling in spelt.items() if token_id in special and spelling and not is_odd
        ),
        bos=spelt.get(ends["bos"], ""),
        eos=spelt.get(ends["eos"], ""),
        adds_bos=header.metadata.get("tokenizer.ggml.add_bos_token") is True,
    )


def _token_id(value: MetadataValue | None) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _special_ids(file: IO[bytes], types: MetadataArray) -> set[int]:
    kinds = array("i")
    file.seek(types.start)
    content = file.read(types.length * kinds.itemsize)
    kinds.frombytes(content[: len(content) // kinds.itemsize * kinds.itemsize])
    if sys.byteorder == "big":
        kinds.byteswap()
    special = (token_id for token_id, kind in enumerate(kinds) if kind in _SPECIAL_TYPES)
    return set(islice(special, _MAX_SPECIAL))


def _spellings(path: Path, file: IO[bytes], tokens: MetadataArray, wanted: set[int]) -> dict[int, str]:
    """Walks over all, and keeps those wanted."""
    file.seek(tokens.start)
    window, at = b"", 0
    spelt: dict[int, str] = {}
    read_size = struct.Struct("<Q").unpack_from
    for token_id in range(min(tokens.length, max(wanted, default=-1) + 1)):
        if len(window) - at < 8:
            window, at = window[at:] + file.read(_WINDOW_BYTES), 0
            if len(window) < 8:
                raise ModelLoadError(Told("file-changed", file=path.name))
        size: int = read_size(window, at)[0]
        at += 8
        if size > len(window) - at:
            if size > _WINDOW_BYTES:
                file.seek(size - (len(window) - at), 1)
                window, at = b"", 0
                continue
            window, at = window[at:] + file.read(_WINDOW_BYTES), 0
        if token_id in wanted and size <= _MAX_SPELLING_BYTES:
            spelt[token_id] = window[at : at + size].decode("utf-8", "replace")
        at += size
    return spelt
