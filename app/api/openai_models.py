"""GET /v1/models: the models on this machine, loaded or not; any of them is loaded when it is first asked."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.dependencies import CurrentUser, ServicesOf
from app.services.model_settings import ModelSettings
from store.tables import Model

router = APIRouter()


@router.get("/models")
async def list_models(user: CurrentUser, services: ServicesOf) -> dict[str, Any]:
    return {"object": "list", "data": [
        _body(entry.model, name)
        for entry in await services.models.list()
        for name in (entry.model.id, *ModelSettings.of(entry.model).aliases)
    ]}


@router.get("/models/{model_id:path}")
async def get_model(model_id: str, user: CurrentUser, services: ServicesOf) -> dict[str, Any]:
    return _body(await services.models.find(model_id), model_id)


def _body(model: Model, name: str) -> dict[str, Any]:
    """`name` is its id, or an alias by which it is asked for too."""
    return {"id": name, "object": "model", "created": int(model.added_at.timestamp()), "owned_by": "inglenook"}
