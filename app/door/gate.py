"""The door: pure ASGI around the whole application, so that pages, API and websockets pass the same checks.

In this order: is the Host ours, is the Origin our own page, is the body of a sane size, who is it. `scope["state"]`
then has `user` and `session_token`, and the connection is known here, to be cut when that person's access ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.door.connection import Connection, Identity
from app.door.requests import (
    ASSETS_FOLDER,
    content_length,
    is_from_elsewhere,
    is_open,
    key_of,
    next_query,
    takes_keys,
)
from app.door.responses import error_response, refuse, with_security_headers
from app.hosts import HostPolicy
from app.security import SESSION_COOKIE
from app.services.accounts import AccountService
from store.tables import User, UserRole

MAX_BODY_BYTES = 16 * 2**20
KEY_SLEEPS = (
    "The account that this API key belongs to is disabled. An admin can enable it again, on the People page or "
    "with: inglenook users enable. The key works again then."
)
WEBSOCKET_FOLDER = "/_nicegui_ws/"

ClientOwner = Callable[[str], User | None]      # id of a NiceGUI client -> for whom it was made; None: no such client


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        accounts: AccountService,
        hosts: HostPolicy,
        client_owner: ClientOwner,
        body_limits: Mapping[str, int],
    ) -> None:
        """`body_limits`: bytes, by the paths that take more than MAX_BODY_BYTES."""
        self._app = app
        self._body_limits = body_limits
        self._accounts = accounts
        self._hosts = hosts
        self._client_owner = client_owner
        self._open: defaultdict[str, set[Connection]] = defaultdict(set)        # by user id
        accounts.on_access_ended(self._access_ended)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if scope["type"] == "http":
            send = with_security_headers(send, connection.headers.get("host", ""))
        if refusal := self._refusal(connection):
            await refuse(refusal, scope, receive, send)
            return
        identity = await self._identify(connection)
        if identity is None and not is_open(scope["path"]):
            await refuse(await self._ask_to_sign_in(connection), scope, receive, send)
            return
        if identity is not None and not self._owns_client(connection, identity.user):
            await refuse(error_response(403, "This page belongs to somebody else. Reload it."), scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["user"] = identity.user if identity else None
        state["session_token"] = identity.session_token if identity else None
        await self._let_through(scope, receive, send, identity)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send, identity: Identity | None) -> None:
        limit = self._body_limit(scope["path"]) if identity else MAX_BODY_BYTES
        connection = Connection(scope, receive, send, identity, self._look_up_again, limit)
        if identity is None:
            await self._app(scope, connection.receive, connection.send)
            return
        connections = self._open[identity.user.id]
        connections.add(connection)
        try:
            await self._app(scope, connection.receive, connection.send)
        finally:
            connections.discard(connection)
            if not connections:
                self._open.pop(identity.user.id, None)
        await connection.finish()

    def _access_ended(self, user_id: str, ended_hash: str | None) -> None:
        for connection in self._open.get(user_id, ()):
            if ended_hash is None or connection.token_hash == ended_hash:
                connection.end()

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        headers = connection.headers
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.allows(hosts[0]):
            return error_response(
                403,
                "The name in the Host header is not this server's. Its setting allowed_hosts lists more names.",
            )
        if is_from_elsewhere(connection):
            return error_response(403, "This request comes from another site's page.")
        limit = self._body_limit(connection.scope["path"])
        if content_length(headers, limit) > limit:
            return error_response(413, f"The body is larger than {limit} bytes.")
        return None

    def _body_limit(self, path: str) -> int:
        return self._body_limits.get(path, MAX_BODY_BYTES)

    async def _identify(self, connection: HTTPConnection) -> Identity | None:
        path = connection.scope["path"]
        if path == "/healthz" or path.startswith(ASSETS_FOLDER):
            return None                         # no reason to ask the database
        if takes_keys(path) and (key := key_of(connection.headers)) is not None:
            return await self._look_up(key, is_key=True)
        token = connection.cookies.get(SESSION_COOKIE)
        return await self._look_up(token, is_key=False) if token else None

    async def _look_up(self, token: str, *, is_key: bool) -> Identity | None:
        user = await (self._accounts.user_of_key(token) if is_key else self._accounts.user_of_session(token))
        return Identity(user, token, is_key) if user else None

    async def _look_up_again(self, identity: Identity) -> bool:
        return await self._look_up(identity.token, is_key=identity.is_key) is not None

    def _owns_client(self, connection: HTTPConnection, user: User) -> bool:
        """NiceGUI's handshake asks for a client id only. An unknown one passes: NiceGUI then reloads the page.

        A page that was made for an admin is nobody's who is none by now.
        """
        if not connection.scope["path"].startswith(WEBSOCKET_FOLDER):
            return True
        client_ids = parse_qs(connection.scope["query_string"].decode("latin-1")).get("client_id", [])
        if len(client_ids) != 1:
            return False
        owner = self._client_owner(client_ids[0])
        if owner is None:
            return True
        return owner.id == user.id and (user.role is UserRole.ADMIN or owner.role is not UserRole.ADMIN)

    async def _ask_to_sign_in(self, connection: HTTPConnection) -> Response:
        scope, headers = connection.scope, connection.headers
        if takes_keys(scope["path"]):
            return await self._ask_for_key(key_of(headers))
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and "text/html" in headers.get("accept", ""):
            if await self._accounts.needs_setup():
                return RedirectResponse("/setup", 303)
            return RedirectResponse(f"/login{next_query(connection)}", 303)
        return error_response(401, "Sign in first.")

    async def _ask_for_key(self, key: str | None) -> Response:
        if key is None:
            message = "Send an API key as 'Authorization: Bearer sk-…', or sign in."
        elif await self._accounts.sleeps(key):      # said only to who has the key
            return error_response(403, KEY_SLEEPS, code="account_disabled")
        else:
            message = "This API key is not valid. Make one on the Settings page, or with: inglenook keys create."
        return error_response(401, message, {"WWW-Authenticate": "Bearer"})
