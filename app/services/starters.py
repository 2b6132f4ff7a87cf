"""Which models to begin with on this machine, from a small table of ours (assets/models/starters.toml). Pure, but for
reading that table once; whether they fit, `HubService.guesses` says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.fit import Fit, Rough, Verdict

TABLE = Path(__file__).resolve().parents[2] / "assets" / "models" / "starters.toml"
BILLION = 10**9
BRISK_PARAMETERS = 5 * BILLION      # read for each token: with more a processor alone writes slower than people read
NUM_RECOMMENDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    id: str
    name: str
    repo: str
    wanted: str                     # a label of its files there: "Q4_K_M"
    parameters: float               # billions
    active: float                   # of those, read for each token
    size_bytes: int
    context_tokens: int
    licence: str
    does: tuple[str, ...]           # "thinks", "tools"

    @property
    def rough(self) -> Rough:
        return Rough(
            name=self.name, weight_bytes=self.size_bytes, num_parameters=round(self.parameters * BILLION),
            context_tokens=self.context_tokens,
        )


@cache
def starters() -> tuple[Starter, ...]:
    """Smallest first."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["starter"]
    return tuple(Starter(**row | {"does": tuple(row["does"])}) for row in rows)


def is_brisk(starter: Starter, fit: Fit) -> bool:
    """Whether this machine writes with it about as quickly as people read."""
    is_on_gpu = fit.num_layers > 0 and fit.gpu_layers >= fit.num_layers
    return is_on_gpu or starter.active * BILLION <= BRISK_PARAMETERS


def recommended(judged: Sequence[tuple[Starter, Fit]]) -> list[tuple[Starter, Fit]]:
    """The largest that fit and are brisk, best first; the smallest there is where none does."""
    good = [(starter, fit) for starter, fit in judged if fit.verdict is Verdict.FITS and is_brisk(starter, fit)]
    if not good:
        good = [(starter, fit) for starter, fit in judged if fit.verdict is not Verdict.TOO_BIG][:1]
    return good[::-1][:NUM_RECOMMENDED] or list(judged[:1])
