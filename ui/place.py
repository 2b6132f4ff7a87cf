"""Where the words go, told to people: on the machine before them, or on the office's one. Used by pages and forms."""

from __future__ import annotations

import ipaddress
import socket

from app.settings import Settings


def is_here(settings: Settings) -> bool:
    """Whether only this machine can reach the server."""
    try:
        return ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host == "localhost"


def stays_line(settings: Settings) -> str:
    """The fact under the composer."""
    if is_here(settings):
        return "Stays on this computer. Check what matters."
    return f"Stays at {socket.gethostname()}. Check what matters."


def nothing_leaves_line(settings: Settings) -> str:
    """The same, on an empty page."""
    if is_here(settings):
        return "Nothing you write leaves this computer."
    return f"Nothing you write leaves {socket.gethostname()}."
