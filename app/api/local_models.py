"""What an admin does with the models of this machine, for admins with a session; API keys are not good here. What the
command line asks of a server that runs.

    PUT    /local-models/settings       {model, changes};  PUT /local-models/budget {gib}
    POST   /local-models/update         {model, path};  POST /local-models/rollback {model, version}
    DELETE /local-models                {model, stops_answers}: else one that is answering stays
    POST   /local-models/changed        something was changed beside the server: open pages look again
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from app.api.dependencies import Admin, JsonObject, ServicesOf, check_fields, flag_in, text_in
from app.errors import InvalidInput
from app.language import Said
from app.services.changes import Change

router = APIRouter(include_in_schema=False, prefix="/local-models")

DONE = 204


@router.put("/settings", status_code=DONE)
async def change(services: ServicesOf, _admin: Admin, body: JsonObject) -> Response:
    check_fields(body, "model", "changes")
    changes = body["changes"]
    if not isinstance(changes, dict):
        raise InvalidInput(Said("error-must-be-object", name="changes"), field="changes")
    await services.model_settings.change(text_in(body, "model"), changes)
    return Response(status_code=DONE)


@router.put("/budget", status_code=DONE)
async def set_budget(services: ServicesOf, _admin: Admin, body: JsonObject) -> Response:
    check_fields(body, "gib")           # null: what the machine has
    await services.model_settings.set_memory_budget(body["gib"])
    return Response(status_code=DONE)


@router.post("/update", status_code=DONE)
async def update(services: ServicesOf, _admin: Admin, body: JsonObject) -> Response:
    check_fields(body, "model", "path")
    await services.model_versions.update(text_in(body, "model"), _path(body))
    return Response(status_code=DONE)


@router.post("/rollback", status_code=DONE)
async def roll_back(services: ServicesOf, _admin: Admin, body: JsonObject) -> Response:
    check_fields(body, "model", "version")
    await services.model_versions.roll_back(text_in(body, "model"), text_in(body, "version"))
    return Response(status_code=DONE)


@router.delete("", status_code=DONE)
async def remove(services: ServicesOf, _admin: Admin, body: JsonObject) -> Response:
    check_fields(body, "model", may_have=("stops_answers",))
    await services.models.remove(text_in(body, "model"), stops_answers=flag_in(body, "stops_answers"))
    return Response(status_code=DONE)


@router.post("/changed", status_code=DONE)
async def changed(services: ServicesOf, _admin: Admin) -> Response:
    services.changes.announce_all(Change("models"))
    return Response(status_code=DONE)


def _path(body: dict[str, Any]) -> Path:
    """A whole one: where this process was started is nobody's matter."""
    path = Path(text_in(body, "path"))
    if not path.is_absolute():
        raise InvalidInput(Said("error-must-be-path", name="path"), field="path")
    return path
