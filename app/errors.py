"""What can go wrong in a use case, and the one table from an error to an HTTP status.

    AppError
    ├── NotFound          also for what belongs to somebody else
    │   └── ModelNotFound
    ├── NotAllowed        signed in, but not for this
    ├── NotSignedIn       no session or key, or one that is no longer good
    ├── InvalidInput      a field that a person can correct
    │   └── TooLarge      more than is taken in at once
    ├── Conflict          the state of things does not allow it now (name taken, answer already being written)
    ├── TooManyAttempts   wrong passwords; try again in `retry_after_s`
    ├── HubError          the model hub answered what it should not; says what to do
    │   ├── HubUnreachable    no network, or no hub at that address
    │   ├── HubRefused        a model that wants a token, or one of the token's owner's rights
    │   ├── HubDistrusted     it leads where nothing is asked: no try changes that, only whoever keeps it
    │   └── HubBusy           it asks to wait, for `retry_after_s` where it says how long
    └── ModelUnavailable  not loaded, loading, failed; says which and what to do
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.language import Said
from engine.errors import (
    ContextLengthExceeded,
    EndpointBusy,
    EndpointError,
    EngineError,
    EngineFailed,
    InvalidRequest,
    ModelLoadError,
    QueueFull,
    TemplateError,
)
from engine.template_report import Finding
from engine.told import Told
from store.errors import AnswerInProgress, DatabaseTooNew, LastAdmin, MigrationFailed, StoreError


class AppError(Exception):
    """What happened, and what to do: `str(error)` in English, `message` in the language of whoever reads it."""

    def __init__(self, message: Said) -> None:
        super().__init__(message)
        self.message = message


class NotFound(AppError):
    pass


class ModelNotFound(NotFound):
    """No such language model here; the message names those that are."""


class NotAllowed(AppError):
    pass


class NotSignedIn(AppError):
    pass


class InvalidInput(AppError):
    """`field` names the input to be corrected."""

    def __init__(self, message: Said, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class TooLarge(InvalidInput):
    pass


class Conflict(AppError):
    pass


class TooManyAttempts(AppError):
    def __init__(self, message: Said, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class HubError(AppError):
    """Of the model hub, or of a mirror in its place. No URL stands in the message: it may hold a signature."""


class HubUnreachable(HubError):
    pass


class HubRefused(HubError):
    pass


class HubDistrusted(HubError):
    pass


class HubBusy(HubError):
    def __init__(self, message: Said, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnavailable(AppError):
    """The model exists but cannot answer now."""

    def __init__(self, message: Said, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


_ENGINE_MESSAGES: tuple[tuple[type[EngineError], str], ...] = (        # most special first
    (TemplateError, "template"),
    (InvalidRequest, "request"),
    (EngineFailed, "engine"),
    (EngineError, "inside"),
)

_STORE_MESSAGES: tuple[tuple[type[StoreError], str], ...] = (
    (AnswerInProgress, "answer-in-progress"),
    (LastAdmin, "last-admin"),
    (DatabaseTooNew, "database-too-new"),
    (MigrationFailed, "migration"),
    (StoreError, "store"),
)

_STATUS: tuple[tuple[type[Exception], int, str, str | None], ...] = (
    # most special first: error, status, OpenAI's `type`, OpenAI's `code`
    (ContextLengthExceeded, 400, "invalid_request_error", "context_length_exceeded"),
    (InvalidRequest, 400, "invalid_request_error", None),
    (TooLarge, 413, "invalid_request_error", None),
    (InvalidInput, 400, "invalid_request_error", None),
    (NotSignedIn, 401, "authentication_error", "invalid_api_key"),
    (NotAllowed, 403, "permission_error", None),
    (ModelNotFound, 404, "invalid_request_error", "model_not_found"),
    (NotFound, 404, "not_found_error", None),
    (Conflict, 409, "conflict_error", None),
    (TooManyAttempts, 429, "rate_limit_error", "too_many_attempts"),
    (QueueFull, 429, "rate_limit_error", "queue_full"),
    (HubUnreachable, 503, "unavailable_error", "hub_unreachable"),
    (HubRefused, 403, "permission_error", "hub_refused"),
    (HubDistrusted, 502, "upstream_error", "hub_distrusted"),
    (HubBusy, 503, "unavailable_error", "hub_busy"),
    (HubError, 502, "upstream_error", "hub_error"),
    (EndpointBusy, 429, "rate_limit_error", "endpoint_busy"),
    (EndpointError, 502, "upstream_error", "endpoint_failed"),
    (ModelUnavailable, 503, "unavailable_error", "model_unavailable"),
    (ModelLoadError, 503, "unavailable_error", "model_load_failed"),
    (EngineFailed, 503, "unavailable_error", "engine_failed"),
    (EngineError, 500, "server_error", None),
)


def said(error: Exception) -> Said:
    """What to tell a person. Errors of the engine and the store know no catalogue: they are told by what they say of
    themselves (`Told`), or by their kind and attributes, and keep their own words where those are all there is.
    """
    match error:
        case AppError():
            return error.message
        case ContextLengthExceeded(input_index=None):
            message_id = "error-context-prompt" if error.param == "prompt" else "error-context"
            return Said(message_id, count=error.num_prompt_tokens, limit=error.max_model_len)
        case ContextLengthExceeded():
            return Said(
                "error-context-input", count=error.num_prompt_tokens, limit=error.max_model_len,
                index=str(error.input_index),
            )
        case QueueFull():
            return Said("error-queue-full", seconds=error.retry_after_s)
        case EngineError(sentence=Told() as told):
            return said_by_engine(told)
        case EngineError():
            return _said_by_kind(error, _ENGINE_MESSAGES)
        case StoreError():
            return _said_by_kind(error, _STORE_MESSAGES)
    return Said("error-words", detail=str(error))


def said_by_engine(told: Told, **instead: str) -> Said:
    """A sentence of the engine as the message of the catalogue that it is; `instead` of its own values."""
    values = dict(told.values) | instead
    return Said(f"engine-{told.code}", **{
        name: said_by_engine(value) if isinstance(value, Told) else value if isinstance(value, Said) else str(value)
        for name, value in values.items()
    })


def said_of_template(finding: Finding) -> Said:
    """What the template doctor found."""
    told = finding.detail
    return Said(f"doctor-{finding.code.value}", detail=said_by_engine(told) if isinstance(told, Told) else told)


def _said_by_kind(error: Exception, messages: Sequence[tuple[type[Exception], str]]) -> Said:
    name = next(name for kind, name in messages if isinstance(error, kind))
    return Said(f"error-{name}", detail=str(error))


def status_of(error: Exception) -> tuple[int, str, str | None]:
    """(HTTP status, OpenAI error type, OpenAI error code) of an error; 500 for any that is not ours."""
    for kind, status, error_type, code in _STATUS:
        if isinstance(error, kind):
            return status, error_type, code
    return 500, "server_error", None


def error_body(message: str, error_type: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    return {"error": {"message": message, "type": error_type, "param": param, "code": code}}
