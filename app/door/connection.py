"""One request or websocket on its way through the door, to be cut when its person's access ends. On the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from app.door.requests import takes_keys
from app.door.responses import POLICY_VIOLATION, error_response
from app.security import token_hash
from store.tables import User

CHECK_INTERVAL_S = 5.0          # after so long whose connection it is is looked up again: another process may end that

_CUT_EVENT = b"data: " + bytes(error_response(401, "This API key or session has ended.").body) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Identity:
    user: User
    token: str                                  # of a session, or an API key
    is_key: bool

    @property
    def session_token(self) -> str | None:
        return None if self.is_key else self.token


class Connection:
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
        self._is_api = takes_keys(scope["path"])
        self._receive = receive
        self._send = send
        self._identity = identity
        self._look_up_again = look_up_again
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        self._waiting: set[asyncio.Timeout] = set()         # for what comes in
        self._checked_at_s = self._loop.time()
        self._num_body_bytes = 0
        self._max_body_bytes = max_body_bytes
        self._is_answering = False              # a response has begun, and not ended

    def end(self) -> None:
        """Never raises: whoever ends one ends others after it."""
        self._has_ended = True
        for waiting in self._waiting:
            if not waiting.expired():           # one that has just run out takes no other time, and needs none
                waiting.reschedule(self._loop.time())

    async def receive(self) -> Message:
        """A long request waits here for its client's going away, a page's socket for what its reader does."""
        message = await self._message()
        if message is not None and message["type"] == "http.request":
            self._count(message)
        elif message is not None and message["type"] == "websocket.receive":
            await self._check()
        return await self._hang_up() if message is None or self._has_ended else message

    async def send(self, message: Message) -> None:
        """A request is answered to its end, which is near; over a websocket nothing more is said."""
        if self._is_http:
            self._is_answering = message["type"] == "http.response.start" or message.get("more_body", False)
        if self._is_http or not self._has_ended:
            await self._send(message)

    async def finish(self) -> None:
        """A stream that `end` has cut: a program is told why, and the server gets the end that it insists on."""
        if self._is_answering and self._has_ended:
            await self._send({"type": "http.response.body", "body": _CUT_EVENT if self._is_api else b""})

    async def _message(self) -> Message | None:
        """None: `end` was called first."""
        while not self._has_ended:
            try:
                async with asyncio.timeout(CHECK_INTERVAL_S if self._identity else None) as waiting:
                    self._waiting.add(waiting)
                    try:
                        return await self._receive()
                    finally:
                        self._waiting.discard(waiting)
            except TimeoutError:
                if not waiting.expired():
                    raise
                await self._check()
        return None

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
