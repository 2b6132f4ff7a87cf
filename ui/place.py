"""Where the words go, told to people: on the machine before them, or on the office's one. Used by pages and forms."""

from __future__ import annotations

import ipaddress
import socket

from app.settings import Settings
from ui.language import t


def is_here(settings: Settings) -> bool:
    """Whether only this machine can reach the server."""
    try:
        return ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host == "localhost"


def stays_line(settings: Settings) -> str:
    """The fact under the composer."""
    return t("stays-here") if is_here(settings) else t("stays-at", host=socket.gethostname())


def nothing_leaves_line(settings: Settings) -> str:
    """The same, on an empty page."""
    return t("nothing-leaves-here") if is_here(settings) else t("nothing-leaves-host", host=socket.gethostname())
