"""A person's chats as files: one or all, as JSON in Open WebUI's shape or as Markdown. On the event loop.

Each chat is read and written out by itself, on a store thread: what is in memory is one chat, however many there are.
"""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session

from app.errors import NotFound
from app.formats.file_names import safe_name
from app.formats.markdown import write_markdown
from app.formats.open_webui import write_chat
from app.language import Said
from app.services.absent_models import names
from store import conversations, library, messages
from store.chat_places import place_of
from store.database import Database
from store.tables import Conversation, Message, Preset, now

PIECE_BYTES = 64 * 1024         # of what is sent at a time


class ExportFormat(StrEnum):
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Download:
    file_name: str
    media_type: str
    chunks: AsyncIterator[bytes]


class ExportService:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def one(self, user_id: str, conversation_id: str, form: ExportFormat) -> Download:
        """Raises NotFound."""
        exported = await self._db.read(_export, user_id, conversation_id, form)
        if exported is None:
            raise NotFound(Said("error-no-chat"))
        if form is ExportFormat.JSON:
            return Download(f"{exported.stem}.json", "application/json", _cut(b"[" + exported.body + b"]\n"))
        return Download(f"{exported.stem}.md", "text/markdown; charset=utf-8", _cut(exported.body))

    async def everything(self, user_id: str, form: ExportFormat) -> Download:
        """All that are not deleted: one JSON list, or a ZIP with a Markdown file a chat."""
        ids = await self._db.read(conversations.list_ids, user_id)
        stem = f"Inglenook chats {now():%Y-%m-%d}"
        if form is ExportFormat.JSON:
            return Download(f"{stem}.json", "application/json", self._as_list(user_id, ids))
        return Download(f"{stem}.zip", "application/zip", self._as_zip(user_id, ids))

    async def _as_list(self, user_id: str, ids: Sequence[str]) -> AsyncIterator[bytes]:
        separator = b"[\n"
        async for exported in self._each(user_id, ids, ExportFormat.JSON):
            yield separator
            async for piece in _cut(exported.body):
                yield piece
            separator = b",\n"
        yield b"\n]\n" if separator == b",\n" else b"[]\n"

    async def _as_zip(self, user_id: str, ids: Sequence[str]) -> AsyncIterator[bytes]:
        packer = _Packer()
        async for exported in self._each(user_id, ids, ExportFormat.MARKDOWN):
            packed = await asyncio.to_thread(packer.add, exported)
            async for piece in _cut(packed):
                yield piece
        yield packer.end()

    async def _each(self, user_id: str, ids: Sequence[str], form: ExportFormat) -> AsyncIterator[_Exported]:
        """What is deleted meanwhile is left out, and so are chats without a word."""
        for conversation_id in ids:
            exported = await self._db.read(_export, user_id, conversation_id, form)
            if exported is not None and not exported.is_empty:
                yield exported


@dataclass(frozen=True, slots=True)
class _Exported:
    stem: str
    body: bytes
    is_empty: bool


def _export(session: Session, user_id: str, conversation_id: str, form: ExportFormat) -> _Exported | None:
    found = messages.tree(session, user_id, conversation_id)
    if found is None:
        return None
    conversation, tree = found
    if form is ExportFormat.JSON:
        written = write_chat(conversation, tree, place_of(session, conversation), _preset_name(session, conversation))
        body = json.dumps(written, ensure_ascii=False)
    else:
        model_names = {model_id: each.name for model_id, each in names(session).items()}
        body = write_markdown(conversation, _shown(conversation, tree), model_names)
    stem = f"{conversation.created_at:%Y-%m-%d} {safe_name(conversation.title)}"
    return _Exported(stem, body.encode(), not tree)


def _preset_name(session: Session, conversation: Conversation) -> str:
    preset_id = conversation.preset_id
    preset = library.get_item(session, conversation.user_id, Preset, preset_id) if preset_id else None
    return preset.name if preset else ""


def _shown(conversation: Conversation, tree: Sequence[Message]) -> list[Message]:
    rows = {message.id: message for message in tree}
    branch, at = [], conversation.current_message_id
    while at is not None and at in rows:
        branch.append(rows[at])
        at = rows[at].parent_id
    return branch[::-1]


async def _cut(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), PIECE_BYTES):
        yield body[at:at + PIECE_BYTES]


class _Packer:
    """A ZIP that is written as it is read: what has been packed is taken out at once."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._archive = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._num_of_name: dict[str, int] = {}

    def add(self, exported: _Exported) -> bytes:
        key = exported.stem.casefold()          # as file systems that do not tell case apart see it
        number = self._num_of_name[key] = self._num_of_name.get(key, 0) + 1
        name = f"{exported.stem} ({number}).md" if number > 1 else f"{exported.stem}.md"
        self._archive.writestr(name, exported.body)
        return self._sink.take()

    def end(self) -> bytes:
        self._archive.close()
        return self._sink.take()


class _Sink(io.RawIOBase):
    """No `seek` and no `tell`: zipfile then writes sizes behind each file, and never goes back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:        # type: ignore[override]
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken
