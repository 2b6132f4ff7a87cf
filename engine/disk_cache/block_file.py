"""A block of KV as a file, which says what it holds and shows whether it is whole. The disk's thread.

    4 bytes     mark of this format
    4           CRC-32 of the scope's key and of all that follows
    16          name of the parent
    4           number of tokens n
    4 n         token ids
    the rest    KV, as the back end gave it: rows of keys and values alone, nothing that says how they are read

A file's name is the block's, which is a hash of parent and token ids: so these are checked without reading the rest.
The checksum is against accidents; it costs 0.09 ms a block of the starter model (0.37 MB), blake2b 0.39. Against who
may write here no checksum would help: but what lies in a block cannot be more than wrong numbers in the right places.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from engine.prefix_index import NAME_BYTES, BlockContent

DRAFT_SUFFIX = ".part"

_MARK = b"IKV1"
_HEAD = struct.Struct("<4sI")
_LABEL = struct.Struct(f"<{NAME_BYTES}sI")
_TOKEN_BYTES = 4


class DamagedBlock(Exception):
    """The file is not the block that its name says, or not all of it."""


def file_name(name: int) -> str:
    return f"{name:0{2 * NAME_BYTES}x}"


def is_block_name(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{32}", name) is not None


def file_bytes(num_tokens: int, token_bytes: int) -> int:
    """Of a block with so many tokens, of so many bytes of KV each."""
    return _HEAD.size + _LABEL.size + num_tokens * (_TOKEN_BYTES + token_bytes)


def write_block(path: Path, content: BlockContent, buffers: Sequence[memoryview], *, key: bytes) -> None:
    """All of it or nothing: it is written under another name first. Raises OSError."""
    label = _label(content)
    checksum = crc32(label, crc32(key))
    for buffer in buffers:
        checksum = crc32(buffer, checksum)
    draft = path.with_suffix(DRAFT_SUFFIX)
    try:
        with open(draft, "wb", opener=open_private) as file:
            file.write(_HEAD.pack(_MARK, checksum) + label)
            for buffer in buffers:
                file.write(buffer)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read_content(path: Path, *, block_size: int, token_bytes: int) -> BlockContent:
    """What a file says that it holds. Raises DamagedBlock or OSError."""
    with open(path, "rb", opener=_open_plain) as file:
        return _read_content(file, path, block_size, token_bytes)


def read_block(path: Path, *, block_size: int, token_bytes: int, key: bytes) -> memoryview:
    """Its KV, verified. Raises DamagedBlock or OSError."""
    with open(path, "rb", opener=_open_plain) as file:
        content = _read_content(file, path, block_size, token_bytes)
        file.seek(0)
        data = memoryview(file.read(file_bytes(len(content.token_ids), token_bytes)))
    _, checksum = _HEAD.unpack_from(data)
    if crc32(data[_HEAD.size :], crc32(key)) != checksum:
        raise DamagedBlock(f"{path.name} does not have the checksum that it had when it was written")
    return data[_HEAD.size + _LABEL.size + len(content.token_ids) * _TOKEN_BYTES :]


def _label(content: BlockContent) -> bytes:
    parent = content.parent.to_bytes(NAME_BYTES, "little")
    return _LABEL.pack(parent, len(content.token_ids)) + array("I", content.token_ids).tobytes()


def _read_content(file: BinaryIO, path: Path, block_size: int, token_bytes: int) -> BlockContent:
    status = os.fstat(file.fileno())
    head = file.read(_HEAD.size + _LABEL.size + block_size * _TOKEN_BYTES)
    if not stat.S_ISREG(status.st_mode) or len(head) < _HEAD.size + _LABEL.size or not head.startswith(_MARK):
        raise DamagedBlock(f"{path.name} is no block")
    parent, num_tokens = _LABEL.unpack_from(head, _HEAD.size)
    if not 0 < num_tokens <= block_size or status.st_size != file_bytes(num_tokens, token_bytes):
        raise DamagedBlock(f"{path.name} has {status.st_size} bytes, not what {num_tokens} tokens take")
    token_ids = array("I", head[_HEAD.size + _LABEL.size :][: num_tokens * _TOKEN_BYTES])
    content = BlockContent.of(int.from_bytes(parent, "little"), token_ids)
    if file_name(content.name) != path.name:
        raise DamagedBlock(f"{path.name} holds another block")
    return content


def open_private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)


def _open_plain(path: str, flags: int) -> int:
    """No link is followed, and nothing that stands there can hold us up."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
