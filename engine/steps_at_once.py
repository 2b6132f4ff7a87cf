"""How many steps of one token a sequence are taken at once. The scheduler asks; the engine's thread.

What Python does for a step, some 15 µs a sequence, is nearly the same for one token or for several; and while it does,
the event loop waits, since there is one interpreter. Where the device takes a step of 64 sequences in 2 ms, that is
much. So several short steps are asked for at once, as far as nobody notices: those who read get their tokens together,
and who comes waits until the last is done.
"""

from __future__ import annotations

from typing import Final

RUN_S: Final = 0.008            # as long as steps may take together
SEQUENCE_S: Final = 15e-6       # of Python, a step
LEAST_SHARE: Final = 0.15       # of a step: what is less is hidden behind the device


class StepsAtOnce:
    """At most `most`, as the back end says."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._step_s = RUN_S                    # the last step of one token a sequence

    def num_steps(self, num_sequences: int) -> int:
        """That are worth taking at once."""
        if num_sequences * SEQUENCE_S < LEAST_SHARE * self._step_s:
            return 1
        if self._most * self._step_s <= RUN_S:
            return self._most
        return max(1, int(RUN_S / self._step_s))

    def learn(self, step_s: float) -> None:
        self._step_s = step_s
