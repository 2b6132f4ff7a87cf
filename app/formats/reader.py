"""Conversations from a file of any format that is known, one at a time; what cannot be taken is told, and skipped.

Called by `app.services.imports`, on a worker's thread. Each step takes as long as one conversation does.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import said
from app.formats import chatgpt, open_webui
from app.formats.archive import BrokenMember, Member, Progress, UnreadableFile, members
from app.formats.json_list import Fault, ListSplitter, NotJson
from app.formats.values import BadEntry, text
from app.language import Said
from app.names import clean_label
from store.imports import IncomingConversation

MAX_SKIPPED_TITLE_CHARS = 80
MAX_CHATS = 100_000         # a file; nobody has so many, and a small ZIP could hold millions
MAX_BAD = 10_000            # of a file whose entries are nearly all none, the rest is not read
CHUNKS_A_STEP = 16          # where nothing ends in so many: even then there is progress, and a chance to cancel


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not taken in, and why. `position` counts from 1 in its file; None: the file, or its rest."""

    reason: str
    file: str = ""
    position: int | None = None
    title: str = ""


def read_conversations(path: Path, progress: Progress) -> Generator[IncomingConversation | Skipped | None, None, None]:
    """None now and then, where nothing has come to an end yet. Raises UnreadableFile or OSError."""
    num_chats = num_bad = 0
    for item in _read_members(path, progress):
        yield item
        num_chats += isinstance(item, IncomingConversation)
        num_bad += isinstance(item, Skipped)
        if num_chats >= MAX_CHATS:
            raise UnreadableFile(Said("import-many-chats", count=MAX_CHATS))
        if num_bad >= MAX_BAD:
            raise UnreadableFile(Said("import-many-bad", count=MAX_BAD))


def _read_members(path: Path, progress: Progress) -> Iterator[IncomingConversation | Skipped | None]:
    for member in members(path, progress):
        try:
            yield from _read_member(member)
        except NotJson as error:
            if not member.name:
                raise UnreadableFile(Said(f"{error.reason.message_id}-choose")) from error
            yield Skipped(error.reason, member.name)
        except BrokenMember as error:
            yield Skipped(said(error), member.name)


def _read_member(member: Member) -> Iterator[IncomingConversation | Skipped | None]:
    splitter = ListSplitter()
    positions = itertools.count(1)
    for num_chunks, chunk in enumerate(member.chunks(), start=1):
        for element in splitter.feed(chunk):
            yield _read_element(element, member.name, next(positions))
        if num_chunks % CHUNKS_A_STEP == 0:
            yield None
    for fault in splitter.finish():
        yield Skipped(fault.reason, member.name, next(positions))


def _read_element(element: bytes | Fault, file: str, position: int) -> IncomingConversation | Skipped:
    if isinstance(element, Fault):
        return Skipped(element.reason, file, position)
    title = ""
    try:
        entry = _parse(element)
        title = clean_label(text(entry.get("title")), max_chars=MAX_SKIPPED_TITLE_CHARS)
        return _read(entry)
    except BadEntry as error:
        return Skipped(said(error), file, position, title)


def _parse(element: bytes) -> Mapping[str, Any]:
    """NaN and half a surrogate pair pass here: `app.formats.values` takes them for no time, and no character."""
    try:
        entry = json.loads(element.decode())
    except UnicodeDecodeError as error:
        raise BadEntry(Said("skipped-no-utf8")) from error
    except (ValueError, RecursionError) as error:       # also a number of thousands of digits
        raise BadEntry(Said("skipped-no-json")) from error
    if not isinstance(entry, dict):
        raise BadEntry(Said("skipped-no-chat"))
    return entry


def _read(entry: Mapping[str, Any]) -> IncomingConversation:
    if chatgpt.is_conversation(entry):
        return chatgpt.read_conversation(entry)
    if open_webui.is_chat(entry):
        return open_webui.read_chat(entry)
    raise BadEntry(Said("skipped-unknown"))
