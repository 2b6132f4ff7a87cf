"""The server's socket: opened before all else, so that a port that is taken is told at once, and by whom."""

from __future__ import annotations

import errno
import os
import socket

import psutil

from app.errors import AppError
from app.language import Said
from app.settings import Settings


class CannotListen(AppError):
    """The address is not ours to listen on."""


class PortInUse(CannotListen):
    """Another program has the port."""


def listen(settings: Settings) -> socket.socket:
    """A listening socket; connections wait in it until the server takes them. Raises PortInUse or CannotListen."""
    host, port = settings.host, settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CannotListen(Said("listen-no-address", host=host)) from error
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":      # elsewhere it would let two servers share one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()           # two sockets may be bound with SO_REUSEADDR, but only one may listen
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(Said("listen-in-use", port=str(port), by=_by_whom(port))) from error
        raise CannotListen(Said("listen-not", host=host, port=str(port), detail=str(error.strerror))) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    host, port = listener.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _by_whom(port: int) -> Said | str:
    """ " by NAME (process 123)" where the system tells us."""
    try:
        for other in psutil.net_connections("tcp"):
            if other.status == psutil.CONN_LISTEN and other.laddr and other.laddr.port == port and other.pid:
                return Said("listen-by", name=psutil.Process(other.pid).name(), process=str(other.pid))
    except (psutil.Error, OSError):
        pass        # other people's processes are not always ours to see
    return ""
