"""About how long a round of a measurement takes, before any was measured: by a few words that the model said to warm
up, alone and with as many at once as there will be. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.services.bench_figures import AnswerTimes


@dataclass(frozen=True, slots=True)
class Pace:
    """Of one model. Between one and all at once, the time between two tokens is taken to grow evenly."""

    num_together: int
    prompt_s: float             # to read one question
    alone_s: float              # from a token of an answer to its next
    together_s: float           # likewise, with `num_together` at once

    @classmethod
    def of(cls, alone: AnswerTimes, together: Sequence[AnswerTimes]) -> Pace:
        """The first answer after a load is `alone`: how soon it began says nothing."""
        return cls(
            num_together=len(together),
            prompt_s=max(each.first_token_s for each in together) / len(together),
            alone_s=1 / alone.tokens_per_s,
            together_s=median(1 / each.tokens_per_s for each in together),
        )

    def round_s(self, num_at_once: int, num_answers: int, max_tokens: int) -> float:
        """`num_at_once`: that are answered; the others wait in line."""
        share = min(1.0, (num_at_once - 1) / max(1, self.num_together - 1))
        between_s = self.alone_s + share * (self.together_s - self.alone_s)
        return num_answers * self.prompt_s + math.ceil(num_answers / num_at_once) * (max_tokens - 1) * between_s
