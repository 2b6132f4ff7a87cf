"""The draw of a token by its weight: a row's seed and place give the number. Called by `engine.sampler`,
`engine.step_sampler` and back ends that draw on their device, on the engine's thread.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.batch import SamplingInput

Weights = NDArray[np.float32]        # exact enough for chances, and numpy's exp of them is ten times as fast

DRAW_WIDTH = 256             # weights that are added up one by one; more are taken together first


def draw(weights: Weights, row: SamplingInput) -> int:
    """An index, by inverse transform."""
    if weights.size == 1:
        return 0
    uniform = uniform_of(row)
    if weights.size <= DRAW_WIDTH:
        return _place(weights, uniform)[0]
    num_groups = weights.size // DRAW_WIDTH
    sums = weights[: num_groups * DRAW_WIDTH].reshape(num_groups, DRAW_WIDTH).sum(axis=1)
    rest = weights[num_groups * DRAW_WIDTH :].sum()
    group, within = _place(np.append(sums, rest), uniform)
    start = group * DRAW_WIDTH
    return start + _place(weights[start : start + DRAW_WIDTH], within)[0]


class _Generator(threading.local):
    """Philox, one a thread: to set its key takes a tenth of the time that making one with that key does."""

    def __init__(self) -> None:
        self._philox = np.random.Philox(key=0)

    def first(self, *key: int) -> int:
        state: Any = {                           # plain tuples will do, and are read faster than arrays
            "bit_generator": "Philox",
            "state": {"counter": (0, 0, 0, 0), "key": key},
            "buffer": (0, 0, 0, 0), "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
        }
        self._philox.state = state
        return int(self._philox.random_raw())


_generator = _Generator()


def uniform_of(row: SamplingInput) -> float:
    return uniform_at(row.seed, len(row.token_ids) - row.num_prompt_tokens)


def uniform_at(seed: int, place: int) -> float:
    """[0, 1), all 53 bits of a double. Counter-based, so that each place in an output has its own number and no state.
    """
    return (_generator.first(seed, place) >> 11) * 2.0**-53


def _place(weights: Weights, uniform: float) -> tuple[int, float]:
    """Where this share of the whole falls, and how far into that weight: [0, 1). Never on a weight of 0."""
    cumulative = np.cumsum(weights, dtype=np.float64)
    point = uniform * cumulative[-1]
    last = int(np.searchsorted(cumulative, cumulative[-1], side="left"))      # that is not 0
    index = min(int(np.searchsorted(cumulative, point, side="right")), last)
    before = cumulative[index - 1] if index else 0.0
    return index, min(max(float((point - before) / weights[index]), 0.0), 1.0 - 2.0**-53)
