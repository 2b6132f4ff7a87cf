"""Which models to begin with on this machine, from a small table of ours (assets/models/starters.toml). Pure, but for
reading that table once; whether they fit, `HubService.guess` says, and how fast they should write, `ModelSpeeds`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.services.model_speeds import Speed
from engine.fit import Fit, Rough, Verdict

TABLE = Path(__file__).resolve().parents[2] / "assets" / "models" / "starters.toml"
BILLION = 10**9
BRISK_TOKENS_PER_S = 8.0            # about as quickly as people read
BRISK_PARAMETERS = 5 * BILLION      # read for each token, at most, where nothing is known of this machine's speed
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
            context_tokens=self.context_tokens, bytes_per_token=round(self.size_bytes * self.active / self.parameters),
        )


@cache
def starters() -> tuple[Starter, ...]:
    """Smallest first."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["starter"]
    return tuple(Starter(**row | {"does": tuple(row["does"])}) for row in rows)


def is_brisk(starter: Starter, fit: Fit, speed: Speed | None) -> bool:
    """Whether this machine writes with it about as quickly as people read. Of what a GPU holds no speed is foretold."""
    if speed is not None:
        return speed.tokens_per_s >= BRISK_TOKENS_PER_S
    is_on_gpu = fit.num_layers > 0 and fit.gpu_layers >= fit.num_layers
    return is_on_gpu or starter.active * BILLION <= BRISK_PARAMETERS


def recommended(judged: Sequence[tuple[Starter, Fit]], speeds: Mapping[str, Speed]) -> list[tuple[Starter, Fit]]:
    """The largest that fit and are brisk, best first; where none does, the fastest that can run, or the smallest there
    is. `speeds`: by id, of those of which one is known.
    """
    good = [
        (starter, fit) for starter, fit in judged
        if fit.verdict is Verdict.FITS and is_brisk(starter, fit, speeds.get(starter.id))
    ]
    if good:
        return good[::-1][:NUM_RECOMMENDED]
    can_run = (
        [each for each in judged if each[1].verdict is Verdict.FITS]
        or [each for each in judged if each[1].verdict is not Verdict.TOO_BIG]
        or judged[:1]
    )
    return sorted(can_run, key=lambda each: _tokens_per_s(speeds.get(each[0].id)), reverse=True)[:1]


def _tokens_per_s(speed: Speed | None) -> float:
    return speed.tokens_per_s if speed is not None else 0.0
