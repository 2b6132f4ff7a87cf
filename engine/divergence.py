"""How far one model's next tokens are from another's: Kullback-Leibler divergence of their logits. Pure numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE = 8              # a vocabulary may have 262,144 tokens: what is computed with stays near 100 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Over the positions of a text."""

    mean_nats: float
    p99_nats: float            # 99 of 100 positions are below
    same_top_share: float      # of positions at which both find the same token likeliest, 0 to 1
    num_tokens: int


class DivergenceMeter:
    """Gathers positions, a few at a time."""

    def __init__(self) -> None:
        self._nats: list[NDArray[np.float64]] = []
        self._same_top: list[NDArray[np.bool_]] = []

    def add(self, original: NDArray[np.float32], other: NDArray[np.float32]) -> None:
        """Logits of both at the same positions, [positions, vocab_size]."""
        for start in range(0, len(original), _ROWS_AT_ONCE):
            p, q = original[start : start + _ROWS_AT_ONCE], other[start : start + _ROWS_AT_ONCE]
            self._nats.append(kl_divergence(p, q))
            self._same_top.append(p.argmax(axis=1) == q.argmax(axis=1))

    def result(self) -> Divergence:
        nats, same_top = np.concatenate(self._nats), np.concatenate(self._same_top)
        return Divergence(
            mean_nats=float(nats.mean()),
            p99_nats=float(np.quantile(nats, 0.99)),
            same_top_share=float(same_top.mean()),
            num_tokens=len(nats),
        )


def kl_divergence(original: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Σ p · (ln p − ln q) in nats of each row of logits [rows, vocab_size]; never below 0."""
    log_p, log_q = _log_softmax(original), _log_softmax(other)
    p = np.exp(log_p)
    difference = np.subtract(log_p, log_q, where=p > 0, out=np.zeros_like(p))    # a token that cannot be adds nothing
    nats: NDArray[np.float64] = np.maximum((p * difference).sum(axis=1), 0.0)
    return nats


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted
