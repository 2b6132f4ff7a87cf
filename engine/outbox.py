"""What steps brought, on its way from the engine's thread to the event loop. `EngineWorker` owns one.

To hear of a token costs the loop some 10 µs, of several at once hardly more; and while the loop listens, this thread
waits, since there is one interpreter. So where many run, tokens of several steps go together. First tokens, ends and
places in the queue never wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from engine.batch import SampledToken
from engine.errors import EngineError
from engine.progress import Progress
from engine.request import FinishReason, Sequence

SEQUENCE_S: Final = 0.0003      # between two hand-overs, for each that runs
LEAST_PAUSE_S: Final = 0.005    # nobody would notice less


@dataclass(slots=True, kw_only=True)
class CoreOutput:
    """News of one request. The last has a `finish_reason`; with ERROR, an `error` says what went wrong. Never changed;
    not frozen for the same reason as `SampledToken`.
    """

    request_id: str
    tokens: tuple[SampledToken, ...] = ()
    finish_reason: FinishReason | None = None
    num_cached_tokens: int = 0                 # of the prompt, taken from the prefix cache
    queue_position: int | None = None          # 1 is next; None: it runs, or has ended
    error: EngineError | None = None


class Outbox:
    def __init__(
        self, tell: Callable[[list[CoreOutput]], None], clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock_s = clock_s
        self._held: dict[Sequence, list[Progress]] = {}
        self._urgent: dict[Sequence, None] = {}         # of those, whose news may not wait; in order
        self._told_s = clock_s()

    def add(self, progress: Iterable[Progress]) -> None:
        held = self._held
        for each in progress:
            sequence = each.sequence
            if sequence in held:
                held[sequence].append(each)
            else:
                held[sequence] = [each]
            if _is_urgent(each):
                self._urgent[sequence] = None

    def send(self, num_running: int, *, everything: bool = False) -> None:
        """Tell what is urgent, and all else where it is time; `everything` before what takes long."""
        pause_s, now_s = num_running * SEQUENCE_S, self._clock_s()
        if everything or pause_s < LEAST_PAUSE_S or now_s - self._told_s >= pause_s:
            told, self._held, self._told_s = self._held, {}, now_s
        else:
            told = {sequence: self._held.pop(sequence) for sequence in self._urgent}
        self._urgent.clear()
        if told:
            self._tell([_joined(sequence, news) for sequence, news in told.items()])


def _is_urgent(progress: Progress) -> bool:
    """An end, a place in the queue, or first tokens."""
    num_tokens = len(progress.tokens)
    return not num_tokens or progress.finish_reason is not None or progress.sequence.num_output_tokens == num_tokens


def _joined(sequence: Sequence, news: list[Progress]) -> CoreOutput:
    last = news[-1]
    return CoreOutput(
        request_id=sequence.request.request_id,
        tokens=last.tokens if len(news) == 1 else tuple(chain.from_iterable(each.tokens for each in news)),
        finish_reason=last.finish_reason,
        num_cached_tokens=sequence.num_cached_tokens,
        queue_position=last.queue_position,
        error=last.error,
    )
