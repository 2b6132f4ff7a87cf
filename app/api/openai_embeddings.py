"""POST /v1/embeddings: texts to vectors, by a model made for it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from app.api.dependencies import json_object, services_of, user_of
from app.api.openai_parameters import Int, validate
from app.api.sse import unless_disconnected
from app.services.engines import EngineRegistry
from engine.engine import Embeddings
from engine.errors import InvalidRequest

MAX_INPUTS = 2048           # as OpenAI documents this route

Input: TypeAlias = str | list[int]


class EmbeddingParameters(BaseModel):
    """Fields that we do not know are ignored, as OpenAI's own server does."""

    model_config = ConfigDict(strict=True)

    model: str = Field(min_length=1)
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Int | None = Field(default=None, ge=1)
    user: str | None = None         # accepted; who shares the model fairly is known by the key


async def create_embeddings(request: Request) -> Response:
    body, user, services = await json_object(request), await user_of(request), await services_of(request)
    if not body.get("model"):
        raise InvalidRequest("Say which model: GET /v1/models lists them.", param="model")
    parameters = validate(EmbeddingParameters, body)
    inputs = _inputs(body.get("input"))
    model_id = await services.models.known_id(parameters.model)
    work = _embed(services.engines, model_id, inputs, dimensions=parameters.dimensions, user_id=user.id)
    embeddings = await unless_disconnected(request.receive, work)
    as_base64 = parameters.encoding_format == "base64"
    content = await asyncio.to_thread(_body, embeddings, model_id, as_base64=as_base64)      # megabytes, at times
    return Response(content, media_type="application/json")


async def _embed(
    engines: EngineRegistry, model_id: str, inputs: Sequence[Input], *, dimensions: int | None, user_id: str
) -> Embeddings:
    async with engines.acquire(model_id) as engine:
        return await engine.embed(inputs, dimensions=dimensions, user=user_id)


def _inputs(given: Any) -> list[Input]:
    """A text, a list of texts, the tokens of a text, or a list of those."""
    if isinstance(given, str) or _is_tokens(given):
        given = [given]
    if not isinstance(given, list):
        raise InvalidRequest("input must be a string, a list of strings, or token ids.", param="input")
    if not given:
        raise InvalidRequest("input is empty. Send at least one text.", param="input")
    if len(given) > MAX_INPUTS:
        raise InvalidRequest(f"input holds {len(given):,} texts; send at most {MAX_INPUTS:,} at once.", param="input")
    for index, each in enumerate(given):
        param = f"input[{index}]"
        if each in ("", []):
            raise InvalidRequest(f"{param} is empty. Leave it out, or give it a text.", param=param)
        if not isinstance(each, str) and not _is_tokens(each):
            raise InvalidRequest(f"{param} must be a string or a list of token ids.", param=param)
    return given


def _is_tokens(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(type(token) is int and token >= 0 for token in given)


def _body(embeddings: Embeddings, model_id: str, *, as_base64: bool) -> bytes:
    usage = {"prompt_tokens": embeddings.num_tokens, "total_tokens": embeddings.num_tokens}
    data = b",".join(_data(embeddings, as_base64=as_base64))
    return b'{"object":"list","data":[%b],"model":%b,"usage":%b}' % (data, to_json(model_id), to_json(usage))


def _data(embeddings: Embeddings, *, as_base64: bool) -> Iterator[bytes]:
    """One after another, so that the event loop has its turns in between."""
    for index, vector in enumerate(embeddings.vectors):
        embedding = base64.b64encode(vector.astype("<f4").tobytes()).decode() if as_base64 else vector.tolist()
        yield to_json({"object": "embedding", "index": index, "embedding": embedding})
