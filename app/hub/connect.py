"""A socket that is connected to whichever of a host's addresses answers first (RFC 8305). On the hub's thread.

By ourselves, for asyncio's own race, ended from outside in the moment in which it is won, forgets the winner: its
socket stays open until the garbage collector comes by.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Any, TypeAlias

NEXT_AFTER_S = 0.25             # an address that says nothing by then is tried on, and the next beside it

Address: TypeAlias = tuple[int, int, int, str, Any]        # as `getaddrinfo` has it


async def connected(host: str, port: int) -> socket.socket:
    """However it ends, all other sockets are closed with the tries that had them, which end now. Raises OSError, of the
    first address, or UnicodeError.
    """
    loop = asyncio.get_running_loop()
    tries: dict[asyncio.Task[None], socket.socket] = {}
    won: socket.socket | None = None
    try:
        for address in _in_turn(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)):
            family, kind, protocol, _, where = address
            sock = socket.socket(family, kind, protocol)
            sock.setblocking(False)
            tries[loop.create_task(loop.sock_connect(sock, where))] = sock
            if (won := await _first(tries, NEXT_AFTER_S)) is not None:
                return won
        while won is None and not all(each.done() for each in tries):
            won = await _first(tries, None)
        if won is None:
            raise next((error for each in tries if (error := each.exception())), OSError("no address"))
        return won
    finally:
        _close(tries, but=won)


async def _first(tries: dict[asyncio.Task[None], socket.socket], patience_s: float | None) -> socket.socket | None:
    """One that is connected by then, or as soon as one is or fails."""
    open_tries = [each for each in tries if not each.done()]
    await asyncio.wait(open_tries, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
    return next((sock for each, sock in tries.items() if each.done() and each.exception() is None), None)


def _close(tries: dict[asyncio.Task[None], socket.socket], *, but: socket.socket | None) -> None:
    """Each as its try has ended: the event loop must not look at a number that another file has by then."""
    for each, sock in tries.items():
        if sock is not but:
            each.add_done_callback(partial(_close_one, sock))
            each.cancel()


def _close_one(sock: socket.socket, _tried: asyncio.Task[None]) -> None:
    sock.close()


def _in_turn(found: Sequence[Address]) -> list[Address]:
    """IPv6 and IPv4 by turns, beginning with what the system puts first."""
    first = [each for each in found if each[0] == found[0][0]]
    others = [each for each in found if each[0] != found[0][0]]
    return [each for each in chain.from_iterable(zip_longest(first, others)) if each is not None]
