"""Which names this server answers to. A name that a site points at us (DNS rebinding) is none of them."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import psutil

from app.settings import Settings

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})


class HostPolicy:
    def __init__(self, settings: Settings) -> None:
        self._is_wildcard = settings.host in _WILDCARDS
        self._names = _LOOPBACK | {_plain(name) for name in settings.allowed_hosts}
        if self._is_wildcard:
            own_name = _plain(socket.gethostname())
            self._names |= {own_name, f"{own_name}.local"}
        else:
            self._names |= {_plain(settings.host)}

    def allows(self, host: str) -> bool:
        """`host` is the Host header, with or without a port."""
        name = name_of(host)
        return name in self._names or (self._is_wildcard and _is_address(name) and name in _own_addresses())


def name_of(host: str) -> str:
    """The name or address in a Host header, without the port, lower case; "" where it is not one."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        is_good = bool(bracket) and (not port or (port[0] == ":" and _is_port(port[1:])))
        return _plain(name) if is_good and _is_address(name) else ""
    name, colon, port = host.partition(":")
    return _plain(name) if not colon or _is_port(port) else ""


def _plain(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _own_addresses() -> set[str]:
    """Asked each time: a laptop's addresses change while the server runs."""
    return {address.address.partition("%")[0].lower() for each in psutil.net_if_addrs().values() for address in each}
