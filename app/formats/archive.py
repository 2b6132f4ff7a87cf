"""A file that somebody brings: JSON, or a ZIP with JSON files in it, in chunks. Runs on a worker's thread.

A ZIP's names are looked at, never used as paths. Its directory and what comes out of it are bounded, whatever it says.
"""

from __future__ import annotations

import errno
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from app.language import Said
from app.names import clean_label

CHUNK_BYTES = 256 * 1024
MAX_DIRECTORY_BYTES = 8 * 2**20             # of a ZIP: about 80,000 names, which Python's reader holds at once
MAX_UNPACKED_BYTES = 8 * 2**30
MAX_TIMES_PACKED = 100                      # its own size, beside the next, may a ZIP unpack to; chats do 3 to 20 times
UNPACKED_FREELY_BYTES = 256 * 2**20
_CHATS = re.compile(r"conversations.*\.json", re.IGNORECASE)
_NO_CHATS = re.compile(     # what else ChatGPT puts beside them
    r"(user|user_settings|message_feedback|model_comparisons|shared_conversations|group_chats|shopping|sora|"
    r"export_manifest|tool_messages)\.json",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(\d+)")
_END_OF_DIRECTORY, _END_OF_DIRECTORY_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_IN_OTHER_RECORD = 0xFFFF_FFFF
_FAULTS_OF_FILE = (None, errno.EINVAL)      # no bzip2, and a place before the file's start; all others are the disk's
_MAX_END_BYTES = 22 + 65_535                # with the longest comment


class UnreadableFile(ValueError):
    """A sentence for a person: nothing can be taken from this file."""


class BrokenMember(ValueError):
    """The rest of one file in a ZIP cannot be read; others may."""


@dataclass(frozen=True, slots=True)
class Member:
    """One JSON file: its name, for people, and how to read it. `chunks` may raise BrokenMember, or UnreadableFile."""

    name: str
    chunks: Callable[[], Iterator[bytes]]


@dataclass(slots=True)
class Progress:
    num_bytes: int = 0          # in all, as far as the file says
    num_bytes_read: int = 0
    max_bytes: int = MAX_UNPACKED_BYTES


def members(path: Path, progress: Progress) -> Iterator[Member]:
    """Raises UnreadableFile, or OSError."""
    if not zipfile.is_zipfile(path):
        progress.num_bytes = path.stat().st_size
        yield Member("", partial(_plain_chunks, path, progress))
        return
    _check_directory(path)
    progress.max_bytes = min(MAX_UNPACKED_BYTES, UNPACKED_FREELY_BYTES + MAX_TIMES_PACKED * path.stat().st_size)
    with _opened(path) as archive:
        chosen = _chosen(archive.infolist())
        if not chosen:
            raise UnreadableFile(Said("import-zip-without-json"))
        progress.num_bytes = sum(info.file_size for info in chosen)
        for info in chosen:
            yield Member(clean_label(_base_name(info)), partial(_member_chunks, archive, info, progress))


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:     # a name in no UTF-8, say
        raise UnreadableFile(Said("import-zip-damaged", detail=str(error))) from error


def _plain_chunks(path: Path, progress: Progress) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _chunks(file, progress)


def _member_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo, progress: Progress) -> Iterator[bytes]:
    if info.flag_bits & 1:
        raise BrokenMember(Said("skipped-encrypted"))
    try:
        with archive.open(info) as file:
            yield from _chunks(file, progress)
    except UnreadableFile:
        raise
    except Exception as error:          # each way of packing raises its own
        if isinstance(error, OSError) and error.errno not in _FAULTS_OF_FILE:
            raise
        raise BrokenMember(Said("skipped-damaged", detail=str(error))) from error


def _chunks(file: IO[bytes], progress: Progress) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        progress.num_bytes_read += len(chunk)
        if progress.num_bytes_read > progress.max_bytes:
            raise UnreadableFile(Said("import-zip-large", count=progress.max_bytes // 2**20))
        yield chunk


def _chosen(infos: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """`conversations*.json` in any folder; where there is none, every JSON file that may hold chats."""
    files = [info for info in infos if not info.is_dir() and not _is_litter(info)]
    chats = [info for info in files if _CHATS.fullmatch(_base_name(info))]
    if not chats:
        chats = [
            info for info in files
            if _base_name(info).lower().endswith(".json") and not _NO_CHATS.fullmatch(_base_name(info))
        ]
    return sorted(chats, key=_in_numeric_order)


def _is_litter(info: zipfile.ZipInfo) -> bool:
    """What macOS adds."""
    return "__MACOSX" in info.filename or _base_name(info).startswith(".")


def _base_name(info: zipfile.ZipInfo) -> str:
    return info.filename.replace("\\", "/").rpartition("/")[2]


def _in_numeric_order(info: zipfile.ZipInfo) -> list[tuple[int, str]]:
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(info.filename)]


def _check_directory(path: Path) -> None:
    """Python's reader takes a ZIP's whole directory into memory: look at its size first."""
    with path.open("rb") as file:
        length = file.seek(0, 2)
        file.seek(max(0, length - _MAX_END_BYTES - 20 - 56))
        tail = file.read()
        sizes = [0]
        for end in re.finditer(re.escape(_END_OF_DIRECTORY), tail):     # whichever of them Python will take
            at = end.start()
            sizes += _field(tail, "<L", at + 12)
            if at >= 20 and tail[at - 20:at - 16] == _LOCATOR_64:
                for place in (*_field(tail, "<Q", at - 12), length - len(tail) + at - 20 - 56):
                    file.seek(min(max(place, 0), length))
                    record = file.read(56)
                    if record.startswith(_END_OF_DIRECTORY_64):
                        sizes += _field(record, "<Q", 40)
    size = max(size for size in sizes if size != _IN_OTHER_RECORD)
    if size > MAX_DIRECTORY_BYTES:
        raise UnreadableFile(Said("import-zip-many"))


def _field(data: bytes, form: str, at: int) -> tuple[int, ...]:
    return struct.unpack_from(form, data, at) if at + struct.calcsize(form) <= len(data) else ()
