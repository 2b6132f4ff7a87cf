"""What stands under /v1: OpenAI's routes, and every error there in OpenAI's shape, unknown routes included.

Plain ASGI, ahead of everything else behind the door: what a request and each piece of its answer take the event loop,
an engine's thread in this process waits for. `python -m tests.benchmarks.loop` measures it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.errors import ERROR_HANDLERS
from app.api.openai_chat import create_chat_completion
from app.api.openai_completions import create_completion
from app.api.openai_embeddings import create_embeddings
from app.api.openai_models import get_model, list_models
from engine.remote import via

FOLDER = "/v1/"
LOOP_DETECTED = 508
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_ROUTES = "/v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models and /v1/models/{id}"

Answer: TypeAlias = Callable[[Request], Awaitable[ASGIApp]]

without_prefix = APIRouter()        # stands at the root, for base URLs that lack the /v1, or a path after it


def openai_app() -> ASGIApp:
    """Finds its services in `scope["app"]`, as FastAPI's routes do."""
    routes = [
        _route("POST", "chat/completions", create_chat_completion),
        _route("POST", "completions", create_completion),
        _route("POST", "embeddings", create_embeddings),
        _route("GET", "models", list_models),
        _route("GET", "models/{model_id:path}", get_model),
    ]
    return ExceptionMiddleware(Router(routes, redirect_slashes=False, default=_unknown), ERROR_HANDLERS)


class OpenAIFirst:
    """ASGI: what is asked under /v1 goes to `openai`, all else on."""

    def __init__(self, app: ASGIApp, openai: ASGIApp) -> None:
        self._app = app
        self._openai = openai

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_openai = scope["type"] == "http" and scope["path"].startswith(FOLDER)
        await (self._openai if is_openai else self._app)(scope, receive, send)


def _route(method: str, path: str, answer: Answer) -> Route:
    route = Route(f"{FOLDER}{path}", _Endpoint(answer), methods=[method])
    route.methods = {method}        # not HEAD as well
    return route


class _Endpoint:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        _check_way(request)
        response = await self._answer(request)
        await response(scope, receive, send)


def _check_way(request: Request) -> None:
    """One of our own, which came back over a connection to here, would be asked on and on."""
    if not via.take_in(request.headers.get(via.HEADER, "")):
        raise HTTPException(LOOP_DETECTED, "This Inglenook was asked by itself. Remove the connection that leads here.")


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    raise _nothing_at(scope["path"])


def _nothing_at(path: str) -> HTTPException:
    return HTTPException(404, f"There is no {path} here. This server has {_ROUTES}.")


@without_prefix.api_route("/v1", methods=_METHODS)
def _lacks_route() -> None:
    raise _nothing_at("/v1")


@without_prefix.api_route("/chat/completions", methods=_METHODS)
@without_prefix.api_route("/completions", methods=_METHODS)
@without_prefix.api_route("/embeddings", methods=_METHODS)
def _lacks_prefix(request: Request) -> None:
    path = request.url.path
    raise HTTPException(404, f"There is no {path} here: use /v1{path}. The base URL for clients ends in /v1.")
