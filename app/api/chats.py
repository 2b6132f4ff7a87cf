"""A person's chats as files, out and in. For signed-in browsers: API keys are not good here.

    GET  /chats/export?form=json|markdown          all chats: a JSON list, or a ZIP of Markdown files
    GET  /chats/{id}/export?form=json|markdown     one chat
    POST /chats/import?name=…                      a file, as the body itself; answers when it has been received
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse

from app.api.dependencies import CurrentUser, ServicesOf
from app.formats.file_names import attachment
from app.schemas import EXPORT_PATH, IMPORT_PATH
from app.services.exports import Download, ExportFormat

router = APIRouter(include_in_schema=False)


@router.get(EXPORT_PATH)
async def export_all(
    services: ServicesOf, user: CurrentUser, form: ExportFormat = ExportFormat.JSON
) -> StreamingResponse:
    return _sent(await services.exports.everything(user.id, form))


@router.get("/chats/{conversation_id}/export")
async def export_one(
    services: ServicesOf, user: CurrentUser, conversation_id: str, form: ExportFormat = ExportFormat.JSON
) -> StreamingResponse:
    return _sent(await services.exports.one(user.id, conversation_id, form))


@router.post(IMPORT_PATH)
async def import_file(
    request: Request,
    services: ServicesOf,
    user: CurrentUser,
    name: str = "",
    content_length: Annotated[int | None, Header()] = None,
) -> JSONResponse:
    await services.imports.receive(user.id, name, request.stream(), num_bytes=content_length)
    return JSONResponse({"status": "reading"}, 202)


def _sent(download: Download) -> StreamingResponse:
    """As it comes, and not compressed on the way: that would keep the event loop."""
    headers = {
        "Content-Disposition": attachment(download.file_name),
        "Content-Encoding": "identity",
        "Cache-Control": "no-store",
    }
    return StreamingResponse(download.chunks, media_type=download.media_type, headers=headers)
