"""GET /healthz: is the process serving. Asks neither database nor engine, so it answers at once whatever they do."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()


@router.api_route("/healthz", methods=["GET", "HEAD"])
async def health() -> dict[str, str]:
    return {"status": "ok"}
