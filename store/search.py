"""Full-text search over a person's titles and messages. Called by `app.services.searching`, on a store thread.

SQLite's FTS5; the indexes are kept by triggers (migrations 0001 and 0004). Another database would bring this same one
function. A word that stands in every chat costs no more than a rare one: matches are read from the newest on, and
only until enough chats are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text
from sqlmodel import Session

from store.tables import MessageRole, UtcDateTime

HIGHLIGHT_START, HIGHLIGHT_END = "\ue000", "\ue001"       # private use: nobody types them
MAX_QUERY_CHARS = 400
OPENING_CHARS = 200                                       # of a chat that is found by its title alone

_MARKUP = re.compile(r"\*\*|`+|^#{1,6} ", re.MULTILINE)    # of markdown; a star or underscore may be anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a chat must be, and a message of it, beside its words. None: anything."""

    folder_ids: tuple[str, ...] | None = None             # in one of these
    tag_ids: tuple[str, ...] = ()                         # with all of these
    is_archived: bool | None = None
    is_pinned: bool | None = None
    after: datetime | None = None                         # or just then
    before: datetime | None = None
    role: MessageRole | None = None                       # who wrote the message; titles are nobody's
    model: str = ""                                       # a part of the name of the chat's last model


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One conversation that matches, by its title if `message_id` is None, else by a message too: its newest one.

    Matches stand between HIGHLIGHT_START and HIGHLIGHT_END in `marked_title` and `snippet`.
    """

    conversation_id: str
    title: str
    marked_title: str
    message_id: str | None
    snippet: str
    updated_at: datetime
    is_archived: bool


def search(
    session: Session, user_id: str, words: str, *, limit: int, filters: Filters | None = None
) -> list[SearchHit]:
    """Conversations of which the title or a message holds all words, the last one as a beginning.

    Those whose title does come first, then the newest. Without words, all that pass the filters. Any input is fine.
    """
    filters = filters or Filters()
    query = _query_of(words)
    if limit < 1 or (not query and (words.strip() or filters == Filters())):
        return []
    search = _Search(session, _allowed(user_id, filters), query, filters)
    if not query:
        return search.hits(search.newest(limit), {})
    titles = search.titles(limit) if filters.role is None else []
    found = search.messages(limit, titles)
    rest = [conversation_id for conversation_id in found if conversation_id not in titles]
    by_message = search.hits(rest[:limit - len(titles)], found)
    return search.hits(titles, found) + sorted(by_message, key=lambda hit: hit.updated_at, reverse=True)


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A condition on `conversation`, which SQLite works out once a statement."""

    where: str
    values: dict[str, Any]


def _allowed(user_id: str, filters: Filters) -> _Allowed:
    where = ["user_id = :user_id", "deleted_at IS NULL"]
    values: dict[str, Any] = {"user_id": user_id}
    if filters.folder_ids is not None:
        where.append("folder_id IN " + _several("folder", filters.folder_ids, values))
    for number, tag_id in enumerate(filters.tag_ids):
        values[f"tag_{number}"] = tag_id
        where.append(f"id IN (SELECT conversation_id FROM conversation_tag WHERE tag_id = :tag_{number})")
    if filters.is_archived is not None:
        where.append(f"archived_at IS {'NOT ' if filters.is_archived else ''}NULL")
    if filters.is_pinned is not None:
        where.append(f"pin_position IS {'NOT ' if filters.is_pinned else ''}NULL")
    if filters.after is not None:
        where.append("updated_at >= :after")
        values["after"] = _stored(filters.after)
    if filters.before is not None:
        where.append("created_at < :before")
        values["before"] = _stored(filters.before)
    if filters.model:
        where.append("instr(lower(model_id), :model)")
        values["model"] = filters.model.lower()
    return _Allowed(" AND ".join(where), values)


@dataclass(frozen=True, slots=True)
class _Search:
    session: Session
    allowed: _Allowed
    query: str
    filters: Filters

    def newest(self, limit: int) -> list[str]:
        rows = self._rows(
            f"SELECT id FROM conversation WHERE {self.allowed.where} ORDER BY updated_at DESC LIMIT :limit", limit=limit
        )
        return [conversation_id for (conversation_id,) in rows]

    def titles(self, limit: int) -> list[str]:
        rows = self._rows(
            f"""
            SELECT id FROM conversation WHERE {self.allowed.where} AND id IN (
                SELECT conversation_id FROM search_titles CROSS JOIN search_document
                ON search_document.id = search_titles.rowid WHERE search_titles MATCH :query
            ) ORDER BY updated_at DESC LIMIT :limit
            """,
            limit=limit,
        )
        return [conversation_id for (conversation_id,) in rows]

    def messages(self, limit: int, titles: Sequence[str]) -> dict[str, int]:
        """Conversation ids, with the document of the newest message that matches; of as many as are wanted."""
        found: dict[str, int] = {}
        num_left = limit - len(titles)
        statement = text(f"""{_MATCHES} AND search_document.conversation_id IN
            (SELECT id FROM conversation WHERE {self.allowed.where}) {self._of_messages()}
            ORDER BY search_fts.rowid DESC
        """)
        if num_left:
            with self.session.connection().execute(statement, self._values()) as rows:
                for document_id, conversation_id in rows:
                    if conversation_id not in found:
                        found[conversation_id] = document_id
                        num_left -= conversation_id not in titles
                        if not num_left:
                            break
        return found | self._in_chats([each for each in titles if each not in found])

    def _in_chats(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        """The same, of these chats: their titles match, and perhaps a message does too."""
        if not conversation_ids:
            return {}
        values: dict[str, Any] = {}
        among = _several("chat", conversation_ids, values)
        rows = self._rows(
            f"{_MATCHES} AND search_document.conversation_id IN {among} {self._of_messages()}"
            " ORDER BY search_fts.rowid",
            **values,
        )
        return {conversation_id: document_id for document_id, conversation_id in rows}

    def _of_messages(self) -> str:
        """Looked up only where it is asked for: each is a row to be read."""
        where = []
        if self.filters.role is not None:
            where.append("message.role = :role")
        if self.filters.after is not None:
            where.append("message.created_at >= :after")
        if self.filters.before is not None:
            where.append("message.created_at < :before")
        if not where:
            return ""
        return f"AND EXISTS (SELECT 1 FROM message WHERE message.id = message_id AND {' AND '.join(where)})"

    def hits(self, conversation_ids: Sequence[str], documents: dict[str, int]) -> list[SearchHit]:
        values: dict[str, Any] = {}
        among = _several("chat", conversation_ids, values)
        statement = text(
            "SELECT conversation.id, title, updated_at, archived_at IS NOT NULL, search_document.id"
            " FROM conversation JOIN search_document"
            " ON search_document.conversation_id = conversation.id AND search_document.message_id IS NULL"
            f" WHERE conversation.id IN {among}"
        ).columns(updated_at=UtcDateTime())
        rows = {row[0]: row[1:] for row in self.session.connection().execute(statement, values)}
        marked = self._marked("search_titles", [row[3] for row in rows.values()], "highlight(search_titles, 0, {})")
        snippets = self._marked(
            "search_fts", [*documents.values()], "snippet(search_fts, 0, {}, '…', 24)"     # what fills two lines
        )
        message_ids = self._message_ids([*documents.values()])
        openings = self._openings([each for each in conversation_ids if each not in documents])
        said = {each: snippets.get(documents.get(each, 0)) or openings.get(each, "") for each in conversation_ids}
        return [
            SearchHit(
                conversation_id=conversation_id,
                title=title,
                marked_title=marked.get(title_document) or title,
                message_id=message_ids.get(documents.get(conversation_id, 0)),
                snippet=_MARKUP.sub("", said[conversation_id]),
                updated_at=updated_at,
                is_archived=bool(is_archived),
            )
            for conversation_id in conversation_ids
            for title, updated_at, is_archived, title_document in (rows[conversation_id],)
        ]

    def _marked(self, table: str, document_ids: Sequence[int], how: str) -> dict[int, str]:
        """Apart, because it reads the whole text: only of what is shown. The plus keeps SQLite from matching each."""
        if not document_ids or not self.query:
            return {}
        values: dict[str, Any] = {"start": HIGHLIGHT_START, "end": HIGHLIGHT_END, "query": self.query}
        among = _several("document", document_ids, values)
        rows = self.session.connection().execute(
            text(f"SELECT rowid, {how.format(':start, :end')} FROM {table} WHERE {table} MATCH :query"
                 f" AND +rowid IN {among}"),
            values,
        )
        return {document_id: " ".join(marked.split()) for document_id, marked in rows}

    def _message_ids(self, document_ids: Sequence[int]) -> dict[int, str]:
        values: dict[str, Any] = {}
        among = _several("document", document_ids, values)
        rows = self.session.connection().execute(
            text(f"SELECT id, message_id FROM search_document WHERE id IN {among}"), values
        )
        return dict(row for row in rows)

    def _openings(self, conversation_ids: Sequence[str]) -> dict[str, str]:
        """How these chats begin."""
        values: dict[str, Any] = {"chars": OPENING_CHARS}
        among = _several("chat", conversation_ids, values)
        rows = self.session.connection().execute(
            text("SELECT conversation_id, substr(content, 1, :chars), min(created_at) FROM message"
                 f" WHERE conversation_id IN {among} AND role = 'user' AND deleted_at IS NULL"
                 " GROUP BY conversation_id"),
            values,
        )
        return {conversation_id: " ".join(opening.split()) for conversation_id, opening, _ in rows}

    def _rows(self, statement: str, **values: Any) -> Sequence[Any]:
        return self.session.connection().execute(text(statement), self._values() | values).all()

    def _values(self) -> dict[str, Any]:
        role = {"role": self.filters.role.value} if self.filters.role is not None else {}
        return {"query": self.query, **role, **self.allowed.values}


# The join in this order and no other: the index first, then what each match belongs to.
_MATCHES = """
    SELECT search_document.id, search_document.conversation_id
    FROM search_fts CROSS JOIN search_document ON search_document.id = search_fts.rowid
    WHERE search_fts MATCH :query
"""


def _several(name: str, members: Sequence[object], values: dict[str, Any]) -> str:
    """A list for IN; its members go into `values`."""
    names = [f"{name}_{number}" for number in range(len(members))]
    values.update(zip(names, members, strict=True))
    return f"({', '.join(':' + each for each in names)})"


def _stored(at: datetime) -> str:
    """As SQLAlchemy writes a DateTime into SQLite, so that texts compare as times."""
    try:
        moment = at.astimezone(UTC)
    except OverflowError:               # the first or the last day that there is, elsewhere
        moment = at.replace(tzinfo=UTC)
    return moment.replace(tzinfo=None).isoformat(" ", "microseconds")


def _query_of(words: str) -> str:
    """Each word quoted, so that FTS5's own syntax never comes from a person; "" if nothing can be searched for."""
    printable = ("".join(filter(str.isprintable, word)) for word in words[:MAX_QUERY_CHARS].split())
    quoted = ['"' + word.replace('"', '""') + '"' for word in printable if any(map(str.isalnum, word))]
    return " ".join(quoted) + "*" if quoted else ""
