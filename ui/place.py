"""Where the words go, told to people: on the machine before them, on the office's one, or elsewhere. Used by pages and
forms.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from app.services.models import ModelEntry
from app.settings import Settings
from ui.components.elements import icon, tag
from ui.components.text import live, put
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


def leaves_line(settings: Settings, entry: ModelEntry) -> str:
    """Where what is written goes, while this model is chosen."""
    over = entry.connections[0] if entry.connections else entry.model.name
    if is_here(settings):
        return t("leaves-here", connection=over)
    return t("leaves-host", connection=over, host=socket.gethostname())


def mixed_line(settings: Settings, connections: Sequence[str]) -> str:
    """What is written stays, and not all that stands above has."""
    over = ", ".join(connections)
    if is_here(settings):
        return t("stays-now-here", connections=over)
    return t("stays-now-at", connections=over, host=socket.gethostname())


class PlaceLine:
    """Under a composer: that words stay, or that they leave, as soon as a model elsewhere is chosen; and, once answers
    from elsewhere stand above it, that these have not stayed.

    `stays` is what is said where all of it stays; "": nothing, as something else stands there.
    """

    def __init__(self, settings: Settings, stays: str) -> None:
        self._settings = settings
        self._stays = stays
        with tag("p", "nk-fine", role="status") as self._line:
            self._lock, self._globe = icon("lock", 14), icon("globe", 14)
            self._words = live("span")
        self.show(None)

    def show(self, entry: ModelEntry | None, came_over: Sequence[str] = ()) -> None:
        """The model that is chosen, and the connections over which answers above came."""
        leaves = entry is not None and entry.is_elsewhere
        self._line.classes(add="nk-leaves") if leaves else self._line.classes(remove="nk-leaves")
        self._lock.set_visibility(not leaves and not came_over)
        self._globe.set_visibility(leaves or bool(came_over))
        if entry is not None and leaves:
            words = leaves_line(self._settings, entry)
        else:
            words = mixed_line(self._settings, came_over) if came_over else self._stays
        put(self._words, words)
        self._line.set_visibility(bool(words))
