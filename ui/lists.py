"""What the sidebar asks for as it goes: a stretch of a list, a chat, a search. On the event loop; see conversations.js.

    GET /ui/chats?place=days&offset=60&limit=60     [{id, title, tags}]; places: pinned, days, archive, folder:ID
    GET /ui/chats/ID                                {id, title, tags, pinned, archived, above}: what its menu says
    GET /ui/chats/search?q=lease tag:work           {hits: [{id, title, snippet, message, at, archived}], more, words}

`outline_of` makes what stands around them; it goes with the page. Matches in `title` and `snippet` stand between
HIGHLIGHT_START and HIGHLIGHT_END.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse

from app.errors import NotFound
from app.services.container import Services
from app.services.listing import DayGroup, Outline, Row
from app.services.organise import Labels
from store.sidebar import Place
from store.tables import User
from ui.language import t

KINDS = frozenset({"pinned", "days", "archive"})
NO_STORE = {"Cache-Control": "no-store"}


def list_routes(services: Services) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/ui/chats")
    async def chats(request: Request, place: str, offset: int = 0, limit: int = 60) -> JSONResponse:
        rows = await services.listing.page(_reader(request).id, _place(place), offset=offset, limit=limit)
        return JSONResponse([row_of(row) for row in rows], headers=NO_STORE)

    @router.get("/ui/chats/search")
    async def search(request: Request, q: str = "") -> JSONResponse:
        found = await services.searching.find(_reader(request).id, q)
        hits = [
            {
                "id": hit.conversation_id,
                "title": hit.marked_title,
                "snippet": hit.snippet,
                "message": hit.message_id,
                "at": hit.updated_at.isoformat(),
                "archived": hit.is_archived,
            }
            for hit in found.hits
        ]
        return JSONResponse({"hits": hits, "more": found.has_more, "words": found.read.words}, headers=NO_STORE)

    @router.get("/ui/chats/{conversation_id}")
    async def chat(request: Request, conversation_id: str) -> JSONResponse:
        try:
            row, standing = await services.listing.one(_reader(request).id, conversation_id)
        except NotFound:
            raise HTTPException(404) from None
        place = {"pinned": standing.is_pinned, "archived": standing.is_archived, "above": standing.above_id}
        return JSONResponse({**row_of(row), **place}, headers=NO_STORE)

    return router


def row_of(row: Row) -> dict[str, Any]:
    return {"id": row.id, "title": row.title, "tags": [*row.tags]}


def outline_of(outline: Outline, labels: Labels) -> dict[str, Any]:
    """As layout.js reads it, in the reader's language."""
    return {
        "pinned": outline.num_pinned,
        "archived": outline.num_archived,
        "folders": [
            {"id": folder.id, "name": folder.name, "parent": folder.parent_id, "count": number}
            for folder, number in outline.folders
        ],
        "days": [{"name": _day_name(group), "count": group.num_chats} for group in outline.days],
        "tags": [{"id": tag.id, "name": tag.name} for tag, _ in labels.tags],
        "models": labels.models,
    }


def _day_name(group: DayGroup) -> str:
    if group.kind == "month":
        return t("sidebar-month-name", month=group.start.month)
    if group.kind == "year":
        return str(group.start.year)
    return t({"today": "sidebar-today", "yesterday": "sidebar-yesterday", "week": "sidebar-week"}.get(
        group.kind, "sidebar-month"
    ))


def _reader(request: Request) -> User:
    user: User | None = request.state.user
    if user is None:
        raise HTTPException(401)
    return user


def _place(name: str) -> Place:
    kind, _, folder_id = name.partition(":")
    if kind == "folder" and folder_id:
        return Place("folder", folder_id)
    if name not in KINDS:
        raise HTTPException(404)
    return Place(name)
