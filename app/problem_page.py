"""Why Inglenook did not start, shown in the browser: whoever opened it by a double click has no terminal to read it in.

Served once, on the loopback, since a browser in a sandbox may read no file of ours. Called by `app.cli`; it waits until
the page was read.
"""

from __future__ import annotations

import html
import sys
import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app.window import has_display

READ_WITHIN_S = 60.0
PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Inglenook</title><style>:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 20vh auto; padding: 0 20px }}
p {{ overflow-wrap: anywhere }}</style><h1>Inglenook</h1><p role="alert">{sentence}</p></html>
"""


def is_needed() -> bool:
    """Nobody reads what is printed, and there is a screen."""
    return has_display() and not (sys.stderr is not None and sys.stderr.isatty())


def show_problem(sentence: str) -> None:
    page = PAGE.format(sentence=html.escape(sentence)).encode()
    was_read = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            was_read.set()

        def log_message(self, *_: object) -> None:
            """There is no log yet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, name="problem page", daemon=True).start()
        if webbrowser.open(f"http://127.0.0.1:{server.server_port}/"):
            was_read.wait(READ_WITHIN_S)
        server.shutdown()
