"""How often the readers of an engine's answers are given what has come. One an engine; event loop only.

A piece costs the loop some 60 µs on its way to a socket, a token in it one or two, and a GPU writes thousands of tokens
a second: where many read, each gets several at once, some twenty times a second. Few get every token as it comes.
"""

from __future__ import annotations

from typing import Final

READER_S: Final = 0.0008        # between two pieces, for each who reads: so pieces take a fifth of the loop
LEAST_PAUSE_S: Final = 0.005    # nobody would notice less


class ReadingPace:
    def __init__(self) -> None:
        self.num_readers = 0

    @property
    def pause_s(self) -> float:
        """Between two pieces of an answer. 0: they come as they are written."""
        pause_s = self.num_readers * READER_S
        return pause_s if pause_s >= LEAST_PAUSE_S else 0.0
