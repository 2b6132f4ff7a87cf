"""What routes ask for: the services, who is asking, and the body as plain JSON values.

Routes under /v1 call the functions; FastAPI's routes name the types below. All are coroutines: of a plain function
FastAPI would have a thread made or woken, for each request.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic_core import from_json

from app.errors import InvalidInput, NotAllowed, NotSignedIn
from app.language import Said
from app.services.container import Services
from engine.errors import InvalidRequest
from store.tables import User, UserRole

MAX_COMMAS = 250_000        # millions of tiny values would keep the event loop for seconds, and take gigabytes


async def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def user_of(request: Request) -> User:
    """`app.door` has found out who it is, and refuses who it does not know; this only states it once more."""
    user: User | None = request.state.user
    if user is None:
        raise NotSignedIn(Said("error-not-signed-in"))
    return user


async def json_object(request: Request) -> dict[str, Any]:
    """Strict JSON: no NaN, no lone surrogates, no bottomless nesting; else InvalidRequest. Its size is bounded."""
    text = await request.body()
    if text.count(b",") > MAX_COMMAS:
        raise InvalidRequest(f"The body holds more than {MAX_COMMAS:,} values. Send less at once.")
    try:
        body = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRequest(f"The body is not valid JSON in UTF-8: {error}.") from error
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return body


CurrentUser = Annotated[User, Depends(user_of)]


async def _admin(user: CurrentUser) -> User:
    if user.role is not UserRole.ADMIN:
        raise NotAllowed(Said("error-admins-only"))
    return user


ServicesOf = Annotated[Services, Depends(services_of)]
Admin = Annotated[User, Depends(_admin)]
JsonObject = Annotated[dict[str, Any], Depends(json_object)]


def check_fields(body: dict[str, Any], *needed: str, may_have: tuple[str, ...] = ()) -> None:
    """What is left out or misspelt would be taken for "none", which takes something away. Raises InvalidInput."""
    for name in needed:
        if name not in body:
            raise InvalidInput(Said("error-field-missing", name=name), field=name)
    for name in body:
        if name not in (*needed, *may_have):
            known = ", ".join((*needed, *may_have))
            raise InvalidInput(Said("error-field-unknown", name=name[:100], known=known), field=name[:100])


def flag_in(body: dict[str, Any], name: str) -> bool:
    """False where it is not there. Raises InvalidInput."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(Said("error-must-be-one-of", name=name, known="true, false"), field=name)
    return value


def text_in(body: dict[str, Any], name: str) -> str:
    """"" where it is not there. Raises InvalidInput."""
    value = body.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput(Said("error-must-be-text", name=name), field=name)
    return value
