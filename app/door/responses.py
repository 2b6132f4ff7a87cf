"""What the door answers: refusals, and the headers that every response carries. On the event loop."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from app.errors import error_body

POLICY_VIOLATION = 1008         # websocket close code

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
_SECURITY_HEADERS = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_CSP = b"content-security-policy"


def error_response(
    status: int, message: str, headers: dict[str, str] | None = None, *, code: str | None = None
) -> Response:
    kind = {401: "authentication_error", 403: "permission_error"}.get(status, "invalid_request_error")
    code = "invalid_api_key" if status == 401 else code
    return JSONResponse(error_body(message, kind, code), status, headers)


async def refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})       # not accepted yet: it reads as a 403
    else:
        await response(scope, receive, send)


def with_security_headers(send: Send, host: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = _with_security_headers(list(message.get("headers", ())), host)
        await send(message)

    return send_with_headers


def _with_security_headers(headers: list[tuple[bytes, bytes]], host: str) -> list[tuple[bytes, bytes]]:
    """What the application says itself stands."""
    given = dict(headers)
    headers += [pair for pair in _SECURITY_HEADERS if pair[0] not in given]
    if given.get(b"content-type", b"").startswith(b"text/html") and _CSP not in given:
        headers.append((_CSP, CONTENT_SECURITY_POLICY.format(host=host).encode("latin-1")))
    return headers
