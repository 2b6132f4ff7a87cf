"""GET /v1/models: the models that can be used here, loaded or not; any is loaded when it is first asked."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from app.api.dependencies import services_of, user_of
from app.services.container import Services
from app.services.model_settings import ModelSettings
from store.tables import Model


async def list_models(request: Request) -> JSONResponse:
    await user_of(request)
    services = await services_of(request)
    return JSONResponse({"object": "list", "data": [
        _body(services, entry.model, name)
        for entry in await services.models.list()
        for name in (entry.model.id, *ModelSettings.of(entry.model).aliases)
    ]})


async def get_model(request: Request) -> JSONResponse:
    await user_of(request)
    services, model_id = await services_of(request), request.path_params["model_id"]
    return JSONResponse(_body(services, await services.models.find(model_id), model_id))


def _body(services: Services, model: Model, name: str) -> dict[str, Any]:
    """`name` is its id, or an alias by which it is asked for too. Beside what OpenAI says: how many tokens it holds, in
    vLLM's word, and whether it makes vectors.
    """
    info = services.engines.status(model.id).info
    window = info.max_model_len if info else services.engines.last_window(model.id) or model.context_tokens
    body = {"id": name, "object": "model", "created": int(model.added_at.timestamp()), "owned_by": "inglenook"}
    return body | ({"max_model_len": window} if window else {}) | ({"embeds": True} if model.embeds else {})
