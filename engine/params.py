"""How tokens are chosen. One frozen value, checked once when it is made; both back ends read it, nobody changes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec

MAX_LOGPROBS = 20
MAX_STOP_STRINGS = 16
MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """The order of application is fixed: logit bias, grammar mask, penalties, temperature, top-k, top-p, min-p, seed.

    Raises `InvalidRequest` naming the parameter when a value is out of its range.
    """

    max_tokens: int | None = None        # None: as many as the window holds
    temperature: float = 0.7             # 0: greedy
    top_k: int = 0                       # 0: off
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0      # 1: off; over prompt and output, as in CTRL (arXiv:1909.05858)
    presence_penalty: float = 0.0        # over output only, as OpenAI documents it
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    seed: int | None = None              # None: drawn when the request enters
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False             # a grammar that is complete ends the answer all the same
    grammar: GrammarSpec | None = None   # what the answer must look like
    logprobs: int | None = None          # None: none; 0: the chosen token's; k: and the k likeliest beside it

    def __post_init__(self) -> None:
        _check_range("temperature", self.temperature, 0.0, 5.0)
        _check_range("top_k", self.top_k, 0, 2**31)
        _check_range("top_p", self.top_p, 0.0, 1.0, low_open=True)
        _check_range("min_p", self.min_p, 0.0, 1.0)
        _check_range("repetition_penalty", self.repetition_penalty, 0.0, 10.0, low_open=True)
        _check_range("presence_penalty", self.presence_penalty, -2.0, 2.0)
        _check_range("frequency_penalty", self.frequency_penalty, -2.0, 2.0)
        if self.max_tokens is not None:
            _check_range("max_tokens", self.max_tokens, 1, 2**31)
        if self.seed is not None:
            _check_range("seed", self.seed, -(2**63), MAX_SEED)
        if self.logprobs is not None:
            _check_range("top_logprobs", self.logprobs, 0, MAX_LOGPROBS)
        if len(self.stop) > MAX_STOP_STRINGS or any(not s for s in self.stop):
            raise InvalidRequest(f"Give at most {MAX_STOP_STRINGS} stop strings, none of them empty.", param="stop")
        for token_id, bias in self.logit_bias.items():
            if token_id < 0:
                raise InvalidRequest(f"logit_bias names token {token_id}; token ids start at 0.", param="logit_bias")
            _check_range("logit_bias", bias, -100.0, 100.0)

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0.0


def _check_range(name: str, value: float, low: float, high: float, *, low_open: bool = False) -> None:
    if math.isfinite(value) and (low < value if low_open else low <= value) and value <= high:
        return
    above = "more than" if low_open else "at least"
    raise InvalidRequest(
        f"{name} is {value}; it must be {above} {_in_full(low)} and at most {_in_full(high)}.", param=name
    )


def _in_full(bound: float) -> str:
    return f"{bound:g}" if bound < 1e6 else str(int(bound))
