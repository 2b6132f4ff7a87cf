"""Which weight format to take, from what was measured: pure values and rules, with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median, quantiles

from engine.divergence import Divergence

NUM_PEOPLE = 16                # answers at once, where a format's batched kernel shows

# A copy that is further off is not advised, however fast. llama.cpp's own measurements of LLaMA 3 8B against F16:
# Q5_0 is 0.022 nats off, Q4_K_M 0.031, Q4_0 0.072, Q3_K_M 0.102. So one copy may cost about what a good quantisation
# of the whole model costs, not what a poor one does; and it comes on top of what the original has lost.
MAX_MEAN_NATS = 0.05

# Less gain than this is not worth a second file, and hardly more than what measuring on a busy machine errs by.
MIN_GAIN = 1.15

# No copy is advised that makes somebody else wait: a single reader, say, where a larger file is read more slowly.
MIN_RATIO = 0.9

# Of copies that are nearly as fast as the fastest, the one that is nearest to the original.
NEARLY_AS_FAST = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """Tokens a second, each turn's; of two turns or more."""

    alone: tuple[float, ...]       # written, for one reader
    together: tuple[float, ...]    # written, for NUM_PEOPLE readers in all
    prompt: tuple[float, ...]      # read, of one prompt

    def medians(self) -> tuple[float, float, float]:
        """Alone, together, prompt. The middle, for a turn may be too fast too: with a core's second half left idle."""
        return median(self.alone), median(self.together), median(self.prompt)

    def spread(self) -> float:
        """Between the quartiles, as a part of the median, of the figure that swung most."""
        spreads = []
        for turns in (self.alone, self.together, self.prompt):
            low, middle, high = quantiles(turns, n=4)
            spreads.append((high - low) / middle)
        return max(spreads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A copy beside its original, measured in turn."""

    original: Speeds
    copy: Speeds
    divergence: Divergence
    copy_bytes: int

    def ratios(self) -> tuple[float, float, float]:
        """Alone, together, prompt: above 1 where the copy is faster. Of each turn, whose noise both had."""
        one, other = self.original, self.copy
        return (
            _ratio(other.alone, one.alone), _ratio(other.together, one.together), _ratio(other.prompt, one.prompt)
        )

    @property
    def gain(self) -> float:
        return self.ratios()[1]


def _ratio(turns: tuple[float, ...], others: tuple[float, ...]) -> float:
    return median(mine / its for mine, its in zip(turns, others, strict=True))


class Verdict(StrEnum):
    ADVISED = "advised"
    TOO_FAR_OFF = "too far off"
    NOT_FASTER = "not faster"
    SLOWER_ELSEWHERE = "slower elsewhere"


def verdict(comparison: Comparison) -> Verdict:
    """Of one copy by itself."""
    if comparison.gain < MIN_GAIN:
        return Verdict.NOT_FASTER
    if comparison.divergence.mean_nats > MAX_MEAN_NATS:
        return Verdict.TOO_FAR_OFF
    if min(comparison.ratios()) < MIN_RATIO:
        return Verdict.SLOWER_ELSEWHERE
    return Verdict.ADVISED


def advised(comparisons: Mapping[str, Comparison]) -> str | None:
    """The name of the copy to take, or None: keep the original."""
    good = {name: each for name, each in comparisons.items() if verdict(each) is Verdict.ADVISED}
    if not good:
        return None
    fastest = max(each.gain for each in good.values())
    fast = [name for name, each in good.items() if each.gain >= NEARLY_AS_FAST * fastest]
    return min(fast, key=lambda name: good[name].divergence.mean_nats)
