"""Full-text search over a person's titles and messages. Called by `app.services.conversations`, on a store thread.

SQLite's FTS5; the index is kept by triggers (first migration). Another database would bring this same one function.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, text
from sqlmodel import Session

from store.tables import UtcDateTime

HIGHLIGHT_START, HIGHLIGHT_END = "\ue000", "\ue001"       # private use: nobody types them
MAX_QUERY_CHARS = 400


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One conversation that matches, by its title if `message_id` is None, else by its best message."""

    conversation_id: str
    title: str
    message_id: str | None
    snippet: str                                          # matches stand between HIGHLIGHT_START and HIGHLIGHT_END
    updated_at: datetime


_MATCHES = text(
    """
    SELECT search_document.id, conversation.id, conversation.title, search_document.message_id, conversation.updated_at
    FROM search_fts
    JOIN search_document ON search_document.id = search_fts.rowid
    JOIN conversation ON conversation.id = search_document.conversation_id
    WHERE search_fts MATCH :query AND conversation.user_id = :user_id AND conversation.deleted_at IS NULL
    ORDER BY search_document.message_id IS NOT NULL, search_fts.rank
    """
)
# Apart, because a snippet reads the whole text: only for what is shown. The plus keeps SQLite from matching each anew.
_SNIPPETS = text(
    """
    SELECT rowid, snippet(search_fts, 0, :highlight_start, :highlight_end, '…', 16)
    FROM search_fts WHERE search_fts MATCH :query AND +rowid IN :document_ids
    """
).bindparams(bindparam("document_ids", expanding=True))


def search(session: Session, user_id: str, words: str, *, limit: int) -> list[SearchHit]:
    """Conversations that hold all words, the last one as a beginning; titles first, then by rank. Any input is fine."""
    query = _query_of(words)
    if not query or limit < 1:
        return []
    best: dict[str, tuple[int, str, str | None, datetime]] = {}
    matches = _MATCHES.columns(updated_at=UtcDateTime())
    with session.connection().execute(matches, {"query": query, "user_id": user_id}) as rows:
        for document_id, conversation_id, title, message_id, updated_at in rows:
            best.setdefault(conversation_id, (document_id, title, message_id, updated_at))
            if len(best) == limit:
                break
    snippets = _snippets(session, query, [document_id for document_id, *_ in best.values()])
    return [
        SearchHit(conversation_id, title, message_id, snippets[document_id], updated_at)
        for conversation_id, (document_id, title, message_id, updated_at) in best.items()
    ]


def _snippets(session: Session, query: str, document_ids: list[int]) -> dict[int, str]:
    rows = session.connection().execute(
        _SNIPPETS,
        {
            "query": query,
            "document_ids": document_ids,
            "highlight_start": HIGHLIGHT_START,
            "highlight_end": HIGHLIGHT_END,
        },
    )
    return {document_id: " ".join(snippet.split()) for document_id, snippet in rows}


def _query_of(words: str) -> str:
    """Each word quoted, so that FTS5's own syntax never comes from a person; "" if nothing can be searched for."""
    printable = ("".join(filter(str.isprintable, word)) for word in words[:MAX_QUERY_CHARS].split())
    quoted = ['"' + word.replace('"', '""') + '"' for word in printable if any(map(str.isalnum, word))]
    return " ".join(quoted) + "*" if quoted else ""
