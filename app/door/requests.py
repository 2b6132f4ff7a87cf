"""What a request says of itself: path, origin, key, length. Pure functions of `app.door`."""

from __future__ import annotations

from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

KEY_FOLDERS = ("/v1", "/metrics")               # where an API key is good, beside the session: not for pages
OPEN_TO_ALL = frozenset(
    {
        "/login", "/setup", "/favicon.ico", "/healthz", "/chat/completions", "/completions", "/embeddings",
        "/manifest.webmanifest", "/sw.js", "/away",     # of the browser's app: see ui/web_app.py
    }
)
ASSETS_FOLDER = "/assets/"


def is_open(path: str) -> bool:
    return path in OPEN_TO_ALL or path.startswith(ASSETS_FOLDER)


def takes_keys(path: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in KEY_FOLDERS)


def key_of(headers: Headers) -> str | None:
    """The API key that was sent, "" where it was sent in a way that we do not know, None where there is none."""
    authorization = headers.get("authorization")
    if authorization is None:
        return headers.get("x-api-key")
    scheme, _, key = authorization.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def content_length(headers: Headers, limit: int) -> int:
    """What is announced; the bytes that really come are counted too. The server has refused what is no number."""
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else limit + 1


def is_from_elsewhere(connection: HTTPConnection) -> bool:
    """Whether a browser says that another site's page made this request. A link to here is harmless, a form is not."""
    headers = connection.headers
    origin, host = headers.get("origin"), headers["host"].lower()
    if origin is not None:
        return origin.lower() not in (f"http://{host}", f"https://{host}")
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    is_link = connection.scope.get("method") in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
    return not is_link


def next_query(connection: HTTPConnection) -> str:
    query = connection.scope["query_string"].decode("latin-1")
    target = quote(connection.scope["path"]) + (f"?{query}" if query else "")
    return "" if target == "/" else f"?next={quote(target, safe='')}"
