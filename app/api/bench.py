"""Measuring models, for admins with a session; API keys are not good here.

    POST   /bench        {models, levels, max_tokens, repetitions, prompts, source}; without prompts one's own questions
    GET    /bench        what was measured, newest first
    GET    /bench/{id}   how far the one is that is being measured, or was last, and its figures;  DELETE stops it
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from app.api.dependencies import Admin, JsonObject, ServicesOf
from app.services.bench_history import body_of
from app.services.bench_status import BenchWish

router = APIRouter(include_in_schema=False, prefix="/bench")


@router.post("", status_code=202)
async def start(services: ServicesOf, admin: Admin, body: JsonObject) -> dict[str, Any]:
    wish = BenchWish.from_json(body, await services.benchmarks.own_prompts(admin.id))
    return (await services.benchmarks.start(wish)).as_json()


@router.get("")
async def history(services: ServicesOf, _admin: Admin) -> dict[str, Any]:
    rows = await services.benchmarks.history()
    return {"runs": [body_of(*each) for each in zip(rows, await services.benchmarks.since(rows), strict=True)]}


@router.get("/{bench_id}")
async def get(services: ServicesOf, _admin: Admin, bench_id: str) -> dict[str, Any]:
    return await services.benchmarks.report(bench_id)


@router.delete("/{bench_id}")
async def stop(services: ServicesOf, _admin: Admin, bench_id: str) -> Response:
    services.benchmarks.get(bench_id)
    await services.benchmarks.stop()
    return Response(status_code=204)
