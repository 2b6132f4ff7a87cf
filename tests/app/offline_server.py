"""A server in a process of its own that may not reach beyond this machine: run by test_offline.

    python -m tests.app.offline_server DATA_DIR

Prints each connection and look-up of a name that anything in the process tries, then "answered TEXT", and ends.
"""

from __future__ import annotations

import asyncio
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

WATCHED = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in WATCHED:
        return
    where = arguments[-1] if event in ("socket.connect", "socket.sendto") else arguments
    host = where[0] if isinstance(where, tuple) else where
    if not _is_here(host):
        print("outside", event, host, flush=True)
        raise OSError(f"{event} {host}: this machine is offline")


def _is_here(host: Any) -> bool:
    try:
        return host in (None, "localhost") or (isinstance(host, (str, bytes)) and ip_address(host).is_loopback)
    except ValueError:
        return isinstance(host, str) and host.startswith("/")       # a socket in the file system


sys.addaudithook(_watch)

from app.main import Ready, Server  # noqa: E402 - what they import is watched, too
from app.settings import Settings  # noqa: E402
from tests.app.house import PASSWORD  # noqa: E402


async def ask(server: Server) -> None:
    services = server.services
    assert services is not None
    user = await services.accounts.add_user("Anna", PASSWORD)
    sent = await services.chat.send(user.id, None, "What is the capital of France?")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass
    print("answered", generation.text.replace("\n", " "), flush=True)
    server.stop()


def main() -> None:
    server = Server(Settings(data_dir=Path(sys.argv[1]), port=0))
    tasks = []

    def on_ready(ready: Ready) -> None:
        tasks.append(asyncio.ensure_future(ask(server)))

    server.run(on_ready)


if __name__ == "__main__":
    main()
