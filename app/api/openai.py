"""The application under /v1: OpenAI's routes, and every error there in OpenAI's shape, unknown routes included."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from app.api import openai_chat, openai_completions, openai_embeddings, openai_models
from app.api.errors import install_error_handlers
from app.services.container import Services
from engine.remote import via

_ROUTES = "/v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models and /v1/models/{id}"
LOOP_DETECTED = 508
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

without_prefix = APIRouter()        # stands at the root, for base URLs that lack the /v1, or a path after it


def openai_app(services: Services) -> FastAPI:
    app = FastAPI(openapi_url=None, redirect_slashes=False, dependencies=[Depends(_comes_by)])
    app.state.services = services
    for module in (openai_chat, openai_completions, openai_embeddings, openai_models):
        app.include_router(module.router)
    app.router.default = _unknown
    install_error_handlers(app)
    return app


async def _comes_by(request: Request) -> None:
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
