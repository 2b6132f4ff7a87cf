"""What an answer of the hub, or that none came, means to a person. On the hub's thread."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from app.errors import HubBusy, HubDistrusted, HubError, HubRefused, HubUnreachable, NotFound
from app.language import Said
from engine.remote.handshake import Refusal, refusal_of

_CERTIFICATE = {
    Refusal.UNKNOWN: "hub-certificate-unknown", Refusal.DATE: "hub-certificate-date",
    Refusal.NAME: "hub-certificate-name", Refusal.OTHER: "hub-certificate",
}


def same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, _port(one)) == (other.scheme, other.host, _port(other))


def check_answer(response: httpx.Response, repo: str = "") -> None:
    """Raises what a person should read of a status that is no success."""
    status = response.status_code
    what = repo or Said("hub-what")
    if status < 400:
        return
    if status in (401, 403):
        if response.headers.get("x-error-code") == "GatedRepo":
            raise HubRefused(Said("hub-gated", what=what))
        raise HubRefused(Said("hub-refused", what=what))
    if status == 404:
        raise NotFound(Said("hub-not-found", what=what))
    if status == 429 or status == 503:
        seconds = retry_after_s(response.headers)
        message = Said("hub-busy-for", seconds=seconds) if seconds else Said("hub-busy")
        raise HubBusy(message, retry_after_s=seconds)
    raise HubError(Said("hub-error", status=status))


def retry_after_s(headers: httpx.Headers, most_s: int = 3600) -> int | None:
    """Seconds, or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 9:
        return min(int(text), most_s)
    try:
        wait_s = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0, min(math.ceil(wait_s), most_s))


def unreachable(endpoint: str, error: httpx.HTTPError) -> HubUnreachable | HubDistrusted:
    host = httpx.URL(endpoint).host
    if (refusal := refusal_of(error)) is not None:
        return HubDistrusted(Said(_CERTIFICATE[refusal], host=host))
    if isinstance(error, httpx.TimeoutException):
        return HubUnreachable(Said("hub-silent", host=host))
    if isinstance(error, httpx.ReadError | httpx.RemoteProtocolError):
        return HubUnreachable(Said("hub-breaks-off", host=host))
    return HubUnreachable(Said("hub-unreachable", host=host))


async def check_redirect(response: httpx.Response) -> None:
    """A hook, before httpx looks at where it leads. Raises HubDistrusted."""
    location = response.headers.get("location", "")
    if response.is_redirect and not _is_web_address(response.request.url, location):
        kind = location.partition(":")[0][:20]          # no more of it: it may hold what is nobody's matter
        raise HubDistrusted(Said("hub-no-web-address", kind=kind if kind.isascii() and kind.isalnum() else "?"))


def _is_web_address(base: httpx.URL, location: str) -> bool:
    try:
        target = base.join(location)
    except httpx.InvalidURL:
        return False
    has_port = target.port is None or 0 < target.port < 2**16
    return target.scheme in ("http", "https") and bool(target.host) and has_port


def _port(url: httpx.URL) -> int | None:
    return url.port or {"https": 443, "http": 80}.get(url.scheme)
