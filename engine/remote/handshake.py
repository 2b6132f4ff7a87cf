"""What httpx leaves open, and what it does not say, of TLS. For connections, and for the model hub.

A handshake that is cancelled keeps its socket until the other side hangs up: httpx closes it after errors only.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import httpx

# OpenSSL's own numbers: x509_vfy.h
_OUT_OF_DATE = (9, 10)                              # not valid yet, and not any more
_OF_NOBODY_KNOWN = (2, 18, 19, 20, 21)
_OF_ANOTHER_NAME = (62, 63, 64)


class Refusal(StrEnum):
    """Why a server's certificate is not accepted."""

    UNKNOWN = "unknown"             # nobody whom this machine trusts has signed it
    DATE = "date"
    NAME = "name"                   # it is another host's
    OTHER = "other"


def refusal_of(error: BaseException) -> Refusal | None:
    """None: it was no certificate that stood in the way."""
    for each in _causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            number = getattr(each, "verify_code", 0)
            kinds = {Refusal.UNKNOWN: _OF_NOBODY_KNOWN, Refusal.DATE: _OUT_OF_DATE, Refusal.NAME: _OF_ANOTHER_NAME}
            return next((kind for kind, numbers in kinds.items() if number in numbers), Refusal.OTHER)
    return None


async def see_to_handshakes(request: httpx.Request) -> None:
    """A hook for all requests of a client: one that is cancelled while it shakes hands closes its socket."""
    opened: list[Any] = []

    async def hear(event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            opened.append(info["return_value"])
        elif event.endswith("start_tls.failed"):
            for each in opened:
                await each.aclose()

    request.extensions["trace"] = hear


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
