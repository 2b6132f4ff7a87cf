"""Every error as OpenAI's clients read it: one table of statuses (`app.errors`), one shape, for routes and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ExceptionHandler

from app.errors import AppError, InvalidInput, ModelNotFound, error_body, said, status_of
from app.language import in_language, language_named
from engine.errors import ContextLengthExceeded, EngineError, InvalidRequest

PAGE_LANGUAGE_HEADER = "Inglenook-Language"     # of our own pages, which show what comes. The API is English
METHOD_NOT_ALLOWED = 405
CLIENT_CLOSED_REQUEST = 499     # nginx's number, for whoever reads it inside
_HTTP_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


class ClientDisconnected(Exception):
    """Nobody is left to answer."""


def body_of(error: Exception) -> dict[str, Any]:
    """The JSON body for an error of `app.errors` or `engine.errors`; says nothing of the inside for any other."""
    _, error_type, code = status_of(error)
    if not isinstance(error, (AppError, EngineError)):
        return error_body("Something went wrong inside Inglenook; its log says what.", error_type, code)
    body = error_body(str(error), error_type, code, _param_of(error))
    if isinstance(error, ContextLengthExceeded):
        body["error"] |= {"n_prompt_tokens": error.num_prompt_tokens, "n_ctx": error.max_model_len}
    return body


def _param_of(error: Exception) -> str | None:
    if isinstance(error, InvalidRequest):
        return error.param
    if isinstance(error, InvalidInput):
        return error.field
    return "model" if isinstance(error, ModelNotFound) else None


async def _answer_known(request: Request, error: Exception) -> JSONResponse:
    status, _, _ = status_of(error)
    body = body_of(error)
    if language := language_named(request.headers.get(PAGE_LANGUAGE_HEADER)):
        body["error"]["message"] = in_language(said(error), language)
    retry_after_s = getattr(error, "retry_after_s", None)
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s is not None else None
    return JSONResponse(body, status, headers)


async def _answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    detail = str(error.detail)
    if error.status_code == METHOD_NOT_ALLOWED:
        due = (error.headers or {}).get("Allow", "another method")
        detail = f"{request.method} is not for {request.scope['path']}: use {due}."
    body = error_body(detail, _HTTP_ERROR_TYPES.get(error.status_code, "invalid_request_error"))
    return JSONResponse(body, error.status_code, error.headers)


async def _answer_invalid(request: Request, error: Exception) -> JSONResponse:
    """A field of a form or a query that is not of its type."""
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]
    param = str(fault["loc"][-1])
    return JSONResponse(error_body(f"{param}: {fault['msg']}.", "invalid_request_error", param=param), 400)


async def _answer_nobody(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)


async def _answer_unknown(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse(body_of(error), 500)


# Coroutines, though none waits: plain functions would be called on threads.
ERROR_HANDLERS: Mapping[Any, ExceptionHandler] = {
    AppError: _answer_known,
    EngineError: _answer_known,
    HTTPException: _answer_http,
    RequestValidationError: _answer_invalid,
    ClientDisconnected: _answer_nobody,         # while waiting for the answer
    ClientDisconnect: _answer_nobody,           # while sending the body
}


def install_error_handlers(app: FastAPI) -> None:
    for kind, answer in ERROR_HANDLERS.items():
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, _answer_unknown)       # starlette logs the traceback
