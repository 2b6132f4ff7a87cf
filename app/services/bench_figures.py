"""From the times of answers to figures, and from repetitions to medians with their spread. Pure.

    tokens/s            of all answers of a round together, from the first question to the end of the last answer
    tokens/s a stream   of one answer, after its first token; the median of the answers
    first token         seconds from a question to its answer's first token, waiting in line included
    between tokens      seconds between two pieces of an answer that brought tokens
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from statistics import fmean, median
from typing import Any

LEAST_NOISE = 0.05          # of a figure, as a part of it: what repetitions may hide by chance
LONE_NOISE = 0.15           # where it was measured only once


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """One answer. Times are of `time.perf_counter`, in seconds."""

    asked_s: float
    token_times_s: tuple[float, ...]        # one for each piece that brought tokens; at least one
    num_tokens: int
    num_prompt_tokens: int
    num_cached_tokens: int                  # of the prompt's

    @property
    def first_token_s(self) -> float:
        return self.token_times_s[0] - self.asked_s

    @property
    def gaps_s(self) -> list[float]:
        return [later - earlier for earlier, later in pairwise(self.token_times_s)]

    @property
    def tokens_per_s(self) -> float:
        """After the first token; of an answer that came in one piece, all of it from the question on."""
        writing_s = self.token_times_s[-1] - self.token_times_s[0]
        if writing_s > 0:
            return (self.num_tokens - 1) / writing_s
        return self.num_tokens / max(self.first_token_s, 1e-9)


@dataclass(frozen=True, slots=True)
class Round:
    """One repetition of one level."""

    tokens_per_s: float
    stream_tokens_per_s: float
    first_token_p50_s: float
    first_token_p95_s: float
    inter_token_p50_s: float
    inter_token_p95_s: float
    prompt_tokens: float                    # of one question, on average
    num_cached_tokens: int                  # of all prompts: 0 is cold
    num_others_tokens: int                  # that were written for people meanwhile, which slowed this down
    guessed_share: float                    # of the tokens, guessed ahead and found to be right
    num_answers: int

    @classmethod
    def of(
        cls, answers: Sequence[AnswerTimes], took_s: float, num_others_tokens: int = 0, num_guessed_tokens: int = 0
    ) -> Round:
        num_tokens = sum(each.num_tokens for each in answers)
        waits_s = [each.first_token_s for each in answers]
        gaps_s = [gap_s for each in answers for gap_s in each.gaps_s] or [0.0]
        return cls(
            tokens_per_s=num_tokens / max(took_s, 1e-9),
            stream_tokens_per_s=median(each.tokens_per_s for each in answers),
            first_token_p50_s=median(waits_s), first_token_p95_s=quantile(waits_s, 0.95),
            inter_token_p50_s=median(gaps_s), inter_token_p95_s=quantile(gaps_s, 0.95),
            prompt_tokens=fmean(each.num_prompt_tokens for each in answers),
            num_cached_tokens=sum(each.num_cached_tokens for each in answers),
            num_others_tokens=num_others_tokens,
            guessed_share=num_guessed_tokens / (num_tokens + num_others_tokens),
            num_answers=len(answers),
        )


@dataclass(frozen=True, slots=True)
class Figure:
    """Of some repetitions: the one in the middle, the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        return cls(median(values), min(values), max(values))

    @property
    def spread(self) -> float:
        """From the lowest to the highest, as a part of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True)
class Level:
    """A number of clients at once, each asking again as soon as it has its answer."""

    concurrency: int
    tokens_per_s: Figure
    stream_tokens_per_s: Figure
    first_token_p50_s: Figure
    first_token_p95_s: Figure
    inter_token_p50_s: Figure
    inter_token_p95_s: Figure
    prompt_tokens: float
    num_cached_tokens: int
    num_others_tokens: int
    guessed_share: float
    num_answers: int                        # of each repetition
    repetitions: int

    @classmethod
    def of(cls, concurrency: int, rounds: Sequence[Round]) -> Level:
        return cls(
            concurrency,
            **{name: Figure.of([getattr(each, name) for each in rounds]) for name in FIGURES},
            prompt_tokens=fmean(each.prompt_tokens for each in rounds),
            num_cached_tokens=sum(each.num_cached_tokens for each in rounds),
            num_others_tokens=sum(each.num_others_tokens for each in rounds),
            guessed_share=fmean(each.guessed_share for each in rounds),
            num_answers=rounds[0].num_answers,
            repetitions=len(rounds),
        )

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Level:
        """What `to_values` gave, in the store or as JSON."""
        known = {each.name: values[each.name] for each in fields(cls)}
        return cls(**known | {name: Figure(**values[name]) for name in FIGURES})

    def to_values(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_disturbed(self) -> bool:
        """Somebody was answered meanwhile."""
        return self.num_others_tokens > 0

    def noise(self, name: str) -> float:
        """Of one figure, as a part of it: what it may differ by, and mean nothing."""
        figure: Figure = getattr(self, name)
        return max(LEAST_NOISE if self.repetitions > 1 else LONE_NOISE, figure.spread)


FIGURES = tuple(each.name for each in fields(Level) if each.type == "Figure")


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def default_levels(max_num_seqs: int) -> tuple[int, ...]:
    """1, 2, 4, 8 and so on, up to as many as the model answers at once."""
    powers = tuple(1 << power for power in range(max_num_seqs.bit_length()))
    return powers if powers[-1] == max_num_seqs else (*powers, max_num_seqs)


def num_answers(concurrency: int, num_prompts: int) -> int:
    """Of a round: each client has the same number, and each prompt is asked at least once."""
    return concurrency * math.ceil(num_prompts / concurrency)
