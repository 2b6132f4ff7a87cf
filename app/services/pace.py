"""How quickly each model reads and answers on this machine, by its latest answers: what "about 8 s" is made of.

Owned by `GenerationService`, on the event loop. Nothing is guessed: without a measurement there is no "about".
"""

from __future__ import annotations

from dataclasses import dataclass

WEIGHT_OF_NEWEST = 0.4
LEAST_TOKENS = 64           # fewer say more about the overhead than about the speed


@dataclass(slots=True)
class Pace:
    """Of one model."""

    reading_tokens_per_s: float | None = None
    answer_s: float | None = None               # from the end of its waiting to its own end

    def learn_reading(self, num_tokens: int, seconds: float) -> None:
        if num_tokens >= LEAST_TOKENS and seconds > 0:
            self.reading_tokens_per_s = _mixed(self.reading_tokens_per_s, num_tokens / seconds)

    def learn_answer(self, seconds: float) -> None:
        self.answer_s = _mixed(self.answer_s, seconds)

    def queue_s(self, position: int, num_running: int) -> float | None:
        """How long until the `position`th in line (1 is next) has its turn, while so many are answered at once."""
        return None if self.answer_s is None else self.answer_s * position / max(num_running, 1)

    def reading_s(self, num_tokens: int) -> float | None:
        return None if self.reading_tokens_per_s is None else num_tokens / self.reading_tokens_per_s


def _mixed(before: float | None, newest: float) -> float:
    return newest if before is None else before + WEIGHT_OF_NEWEST * (newest - before)
