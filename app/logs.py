"""Logs: one structured line an event, to stderr, never with a message's text, quiet at rest. Set up at start."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress

import structlog


class _Lines:
    """Writes to stderr. A full disk or a closed terminal loses lines; whoever had something to log goes on."""

    def msg(self, line: str) -> None:
        if sys.stderr is not None:
            with suppress(OSError, ValueError):
                print(line, file=sys.stderr, flush=True)

    debug = info = warning = error = critical = msg


def set_up_logs(level: int = logging.INFO) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=False),
            structlog.processors.StackInfoRenderer(),
            structlog.dev.ConsoleRenderer(      # plain: the prettier ones print local variables, and with them messages
                colors=sys.stderr is not None and sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Lines(),
        cache_logger_on_first_use=False,
    )
    line = "%(asctime)s %(levelname)-8s %(name)s: %(message)s"
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=line)     # of the libraries
