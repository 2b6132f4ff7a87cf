"""The door: pure ASGI around the whole application, so that pages, API and websockets pass the same checks.

In this order: is the Host ours, is the Origin our own page, is the body of a sane size, who is it. `scope["state"]`
then has `user` and `session_token`, and the connection is known here, to be cut when that person's access ends.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import error_body
from app.hosts import HostPolicy
from app.security import SESSION_COOKIE, token_hash
from app.services.accounts import AccountService
from store.tables import User

MAX_BODY_BYTES = 16 * 2**20
CHECK_INTERVAL_S = 5.0          # after so long whose connection it is is looked up again: another process may end that
POLICY_VIOLATION = 1008         # websocket close code

WEBSOCKET_FOLDER = "/_nicegui_ws/"
KEY_FOLDERS = ("/v1", "/metrics")               # where an API key is good, beside the session: not for pages
OPEN_TO_ALL = frozenset(
    {
        "/login", "/setup", "/favicon.ico", "/healthz", "/chat/completions", "/completions", "/embeddings",
        "/manifest.webmanifest", "/sw.js", "/away",     # of the browser's app: see ui/web_app.py
    }
)
ASSETS_FOLDER = "/assets/"

# NiceGUI's templates and Vue's compiler need inline scripts and eval. No image, font or request may go elsewhere: an
# answer with `![](https://elsewhere/?q=…)` in it must not carry the chat away.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host} wss://{host}; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",       # with "no-referrer" a browser sends our own forms with "Origin: null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-DNS-Prefetch-Control": "off",        # a link in an answer must not tell its host's name server that it was read
}

ClientOwner = Callable[[str], str | None]       # id of a NiceGUI client -> id of its user; None: no such client


@dataclass(frozen=True, slots=True)
class Identity:
    user: User
    token: str                                  # of a session, or an API key
    is_key: bool

    @property
    def session_token(self) -> str | None:
        return None if self.is_key else self.token


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
        self._open: defaultdict[str, set[_Connection]] = defaultdict(set)        # by user id
        accounts.on_access_ended(self._access_ended)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if scope["type"] == "http":
            send = _with_security_headers(send, connection.headers.get("host", ""))
        if refusal := self._refusal(connection):
            await _refuse(refusal, scope, receive, send)
            return
        identity = await self._identify(connection)
        if identity is None and not _is_open(scope["path"]):
            await _refuse(await self._ask_to_sign_in(connection), scope, receive, send)
            return
        if identity is not None and not self._owns_client(connection, identity.user):
            await _refuse(_error(403, "This page belongs to somebody else. Reload it."), scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["user"] = identity.user if identity else None
        state["session_token"] = identity.session_token if identity else None
        await self._let_through(scope, receive, send, identity)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send, identity: Identity | None) -> None:
        limit = self._body_limit(scope["path"]) if identity else MAX_BODY_BYTES
        connection = _Connection(scope, receive, send, identity, self._look_up_again, limit)
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
            return _error(
                403,
                "The name in the Host header is not this server's. Its setting allowed_hosts lists more names.",
            )
        if _is_from_elsewhere(connection):
            return _error(403, "This request comes from another site's page.")
        limit = self._body_limit(connection.scope["path"])
        if _content_length(headers, limit) > limit:
            return _error(413, f"The body is larger than {limit} bytes.")
        return None

    def _body_limit(self, path: str) -> int:
        return self._body_limits.get(path, MAX_BODY_BYTES)

    async def _identify(self, connection: HTTPConnection) -> Identity | None:
        path = connection.scope["path"]
        if path == "/healthz" or path.startswith(ASSETS_FOLDER):
            return None                         # no reason to ask the database
        if _takes_keys(path) and (key := _key_of(connection.headers)) is not None:
            return await self._look_up(key, is_key=True)
        token = connection.cookies.get(SESSION_COOKIE)
        return await self._look_up(token, is_key=False) if token else None

    async def _look_up(self, token: str, *, is_key: bool) -> Identity | None:
        user = await (self._accounts.user_of_key(token) if is_key else self._accounts.user_of_session(token))
        return Identity(user, token, is_key) if user else None

    async def _look_up_again(self, identity: Identity) -> bool:
        return await self._look_up(identity.token, is_key=identity.is_key) is not None

    def _owns_client(self, connection: HTTPConnection, user: User) -> bool:
        """NiceGUI's handshake asks for a client id only. An unknown one passes: NiceGUI then reloads the page."""
        if not connection.scope["path"].startswith(WEBSOCKET_FOLDER):
            return True
        client_ids = parse_qs(connection.scope["query_string"].decode("latin-1")).get("client_id", [])
        return len(client_ids) == 1 and self._client_owner(client_ids[0]) in (None, user.id)

    async def _ask_to_sign_in(self, connection: HTTPConnection) -> Response:
        scope, headers = connection.scope, connection.headers
        if _takes_keys(scope["path"]):
            if _key_of(headers) is not None:
                message = "This API key is not valid. Make one on the Settings page, or with: inglenook keys create."
            else:
                message = "Send an API key as 'Authorization: Bearer sk-…', or sign in."
            return _error(401, message, {"WWW-Authenticate": "Bearer"})
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and "text/html" in headers.get("accept", ""):
            if await self._accounts.needs_setup():
                return RedirectResponse("/setup", 303)
            return RedirectResponse(f"/login{_next_query(connection)}", 303)
        return _error(401, "Sign in first.")


class _Connection:
    """One request or websocket on its way through. After `end` it is as if the other side had hung up."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        identity: Identity | None,
        look_up_again: Callable[[Identity], Awaitable[bool]],
        max_body_bytes: int,
    ) -> None:
        self.token_hash = token_hash(identity.token) if identity else None
        self._is_http = scope["type"] == "http"
        self._is_api = _takes_keys(scope["path"])
        self._receive = receive
        self._send = send
        self._identity = identity
        self._look_up_again = look_up_again
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._checked_at_s = self._loop.time()
        self._num_body_bytes = 0
        self._max_body_bytes = max_body_bytes
        self._is_answering = False              # a response has begun, and not ended

    def end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def receive(self) -> Message:
        incoming = asyncio.ensure_future(self._receive())
        try:
            await self._message_or_end(incoming)
            if self._ended.done():
                return await self._hang_up()
            message = incoming.result()
        finally:
            incoming.cancel()
        if message["type"] == "http.request":
            self._count(message)
        elif message["type"] == "websocket.receive":
            await self._check()
            if self._ended.done():
                return await self._hang_up()
        return message

    async def send(self, message: Message) -> None:
        """A request is answered to its end, which is near; over a websocket nothing more is said."""
        if self._is_http:
            self._is_answering = message["type"] == "http.response.start" or message.get("more_body", False)
        if self._is_http or not self._ended.done():
            await self._send(message)

    async def finish(self) -> None:
        """A stream that `end` has cut: a program is told why, and the server gets the end that it insists on."""
        if self._is_answering and self._ended.done():
            await self._send({"type": "http.response.body", "body": _CUT_EVENT if self._is_api else b""})

    async def _message_or_end(self, incoming: asyncio.Future[Message]) -> None:
        """A long request waits here for its client's going away, a page's socket for what its reader does."""
        either: set[asyncio.Future[Any]] = {incoming, self._ended}
        timeout_s = CHECK_INTERVAL_S if self._identity else None
        while not (await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED))[0]:
            await self._check()

    async def _hang_up(self) -> Message:
        if self._is_http:
            return {"type": "http.disconnect"}
        await self._send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "Signed out."})
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

    def _count(self, message: Message) -> None:
        self._num_body_bytes += len(message.get("body", b""))
        if self._num_body_bytes > self._max_body_bytes:
            raise HTTPException(413, f"The body is larger than {self._max_body_bytes} bytes.")

    async def _check(self) -> None:
        """Another process, the command line say, may have ended the session or revoked the key."""
        if self._identity is None or self._loop.time() - self._checked_at_s < CHECK_INTERVAL_S:
            return
        self._checked_at_s = self._loop.time()
        if not await self._look_up_again(self._identity):
            self.end()


def _is_open(path: str) -> bool:
    return path in OPEN_TO_ALL or path.startswith(ASSETS_FOLDER)


def _takes_keys(path: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in KEY_FOLDERS)


def _key_of(headers: Headers) -> str | None:
    """The API key that was sent, "" where it was sent in a way that we do not know, None where there is none."""
    authorization = headers.get("authorization")
    if authorization is None:
        return headers.get("x-api-key")
    scheme, _, key = authorization.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _content_length(headers: Headers, limit: int) -> int:
    """What is announced; the bytes that really come are counted too. The server has refused what is no number."""
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else limit + 1


def _is_from_elsewhere(connection: HTTPConnection) -> bool:
    """Whether a browser says that another site's page made this request. A link to here is harmless, a form is not."""
    headers = connection.headers
    origin, host = headers.get("origin"), headers["host"].lower()
    if origin is not None:
        return origin.lower() not in (f"http://{host}", f"https://{host}")
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    is_link = connection.scope.get("method") in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
    return not is_link


def _next_query(connection: HTTPConnection) -> str:
    query = connection.scope["query_string"].decode("latin-1")
    target = quote(connection.scope["path"]) + (f"?{query}" if query else "")
    return "" if target == "/" else f"?next={quote(target, safe='')}"


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    kind = {401: "authentication_error", 403: "permission_error"}.get(status, "invalid_request_error")
    return JSONResponse(error_body(message, kind, "invalid_api_key" if status == 401 else None), status, headers)


_CUT_EVENT = b"data: " + bytes(_error(401, "This API key or session has ended.").body) + b"\n\n"


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})       # not accepted yet: it reads as a 403
    else:
        await response(scope, receive, send)


def _with_security_headers(send: Send, host: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if headers.get("content-type", "").startswith("text/html"):
                headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY.format(host=host))
        await send(message)

    return send_with_headers
