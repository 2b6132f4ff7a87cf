"""What an admin does with others' accounts, for admins with a session; API keys are not good here. See PeopleService.

    POST   /accounts                        {name, password, role}; a password is made up where it is ""
    PUT    /accounts/{id}/password          {password};  /role {role};  /active {active}
    DELETE /accounts/{id}                   {name}: theirs, once more, for all that is theirs goes
    DELETE /accounts/{id}/keys/{key_id}
    POST   /accounts/changed                something was changed beside the server: open pages look again
    POST   /accounts/{id}/chats/changed     likewise, of their chats
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from app.api.dependencies import Admin, JsonObject, ServicesOf, check_fields, text_in
from app.errors import InvalidInput, NotFound
from app.language import Said
from app.services.changes import Change
from store.tables import UserRole

router = APIRouter(include_in_schema=False, prefix="/accounts")

DONE = 204


@router.post("", status_code=201)
async def add(services: ServicesOf, admin: Admin, body: JsonObject) -> dict[str, str]:
    check_fields(body, "name", "role", may_have=("password",))
    user, password = await services.people.add(admin.id, text_in(body, "name"), text_in(body, "password"), _role(body))
    return {"id": user.id, "name": user.name, "password": password}


@router.post("/changed", status_code=DONE)
async def changed(services: ServicesOf, admin: Admin) -> Response:
    await services.people.look_again(admin.id)
    return Response(status_code=DONE)


@router.post("/{user_id}/chats/changed", status_code=DONE)
async def chats_changed(services: ServicesOf, _admin: Admin, user_id: str) -> Response:
    services.changes.announce(user_id, Change("import"))
    return Response(status_code=DONE)


@router.put("/{user_id}/password")
async def set_password(services: ServicesOf, admin: Admin, user_id: str, body: JsonObject) -> dict[str, str]:
    check_fields(body, "password")
    return {"password": await services.people.set_password(admin.id, user_id, text_in(body, "password"))}


@router.put("/{user_id}/role", status_code=DONE)
async def set_role(services: ServicesOf, admin: Admin, user_id: str, body: JsonObject) -> Response:
    check_fields(body, "role")
    await services.people.set_role(admin.id, user_id, _role(body))
    return Response(status_code=DONE)


@router.put("/{user_id}/active", status_code=DONE)
async def set_active(services: ServicesOf, admin: Admin, user_id: str, body: JsonObject) -> Response:
    check_fields(body, "active")
    is_active = body["active"]
    if not isinstance(is_active, bool):
        raise InvalidInput(Said("error-must-be-one-of", name="active", known="true, false"), field="active")
    await services.people.set_active(admin.id, user_id, is_active)
    return Response(status_code=DONE)


@router.delete("/{user_id}", status_code=DONE)
async def remove(services: ServicesOf, admin: Admin, user_id: str, body: JsonObject) -> Response:
    check_fields(body, "name")
    await services.people.remove(admin.id, user_id, text_in(body, "name"))
    return Response(status_code=DONE)


@router.delete("/{user_id}/keys/{key_id}", status_code=DONE)
async def revoke_key(services: ServicesOf, admin: Admin, user_id: str, key_id: str) -> Response:
    keys = (await services.people.everybody(admin.id)).keys
    key = next((each for each in keys if (each.user_id, each.id) == (user_id, key_id)), None)
    if key is None:
        raise NotFound(Said("error-no-key"))
    await services.people.revoke_key(admin.id, key)
    return Response(status_code=DONE)


def _role(body: dict[str, Any]) -> UserRole:
    try:
        return UserRole(str(body.get("role")))
    except ValueError as error:
        known = ", ".join(UserRole)
        raise InvalidInput(Said("error-must-be-one-of", name="role", known=known), field="role") from error
