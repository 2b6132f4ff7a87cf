"""How a person starts Inglenook: as a server, or as a desktop program. Called by `app.cli`, on the main thread.

The server has the main thread; a window is a child process, with a thread here that watches it. Closing it ends all.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from dataclasses import dataclass, field

import psutil

from app.instance import Instance, Note
from app.main import Ready, Server
from app.second_start import answer_second_starts
from app.settings import Settings
from app.window import NATIVE_LIBRARIES, Window, has_display, is_installed


def run_server(settings: Settings, instance: Instance, *, opens_browser: bool) -> None:
    """Until a signal ends it. Raises what `Server.run` raises."""

    def on_ready(ready: Ready) -> None:
        instance.publish(Note(os.getpid(), ready.url))
        _say(ready, settings)
        if opens_browser:
            threading.Thread(target=_open_browser, args=(ready,), name="browser", daemon=True).start()

    Server(settings).run(on_ready)


def run_desktop(settings: Settings, instance: Instance) -> None:
    """In a window, else the browser, until the window is closed or a signal ends it. Raises as `run_server`."""
    desktop = _Desktop(settings, instance, Server(settings))
    try:
        desktop.server.run(desktop.on_ready)
    finally:
        desktop.close()


@dataclass(slots=True)
class _Desktop:
    """A server with a window, if there can be one: once `is_decided`, `window` is it, on the screen, or None."""

    settings: Settings
    instance: Instance
    server: Server
    window: Window | None = None
    is_decided: threading.Event = field(default_factory=threading.Event)

    def on_ready(self, ready: Ready) -> None:
        """On the event loop."""
        _say(ready, self.settings)
        note = Note(os.getpid(), ready.url)
        if has_display():
            secret = secrets.token_hex()
            port = answer_second_starts(secret, lambda: self._bring_to_front(ready))
            note = Note(os.getpid(), ready.url, port, secret)
            threading.Thread(target=self._keep_window, args=(ready,), name="window", daemon=True).start()
        self.instance.publish(note)

    def close(self) -> None:
        if self.window is not None:
            self.window.close()

    def _keep_window(self, ready: Ready) -> None:
        self.window = self._open_window(ready)
        self.is_decided.set()
        if self.window is None:
            _open_browser(ready)
        else:
            self.window.wait_until_closed()
            self.server.stop()

    def _open_window(self, ready: Ready) -> Window | None:
        if not is_installed():
            return None
        window = Window(ready.setup_url or ready.url, self.settings.data_dir)
        if window.open():
            return window
        print(f"No window could be opened (on Debian, `apt install {NATIVE_LIBRARIES}` helps).", flush=True)
        return None

    def _bring_to_front(self, ready: Ready) -> None:
        self.is_decided.wait()
        if self.window is not None:
            self.window.bring_to_front()
        else:
            _open_browser(ready)


def _say(ready: Ready, settings: Settings) -> None:
    print(f"Inglenook is at {ready.url} (Ctrl-C ends it).", flush=True)
    others = _addresses_in_the_network(ready.url) if settings.host in ("0.0.0.0", "::") else []
    for url in others:
        print(f"In your network: {url}", flush=True)
    if ready.setup_url is not None:
        print("Nobody can sign in yet. This link, good for one use, makes the first account, the admin's:", flush=True)
        for url in (ready.url, *others):
            print("  " + ready.setup_url.replace(ready.url, url, 1), flush=True)


def _addresses_in_the_network(url: str) -> list[str]:
    port = url.rpartition(":")[2]
    return [
        f"http://{address.address}:{port}"
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and not address.address.startswith("127.")
    ]


def _open_browser(ready: Ready) -> None:
    webbrowser.open(ready.setup_url or ready.url)
