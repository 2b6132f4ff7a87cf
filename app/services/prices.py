"""What a million tokens cost on one's own machine, and from when on that is less than an API asks. Pure.

All money is in one currency, whichever it is. Formulas, with w watts while it writes, k price of a kWh, r rent of an
hour, F what it costs a month whether it writes or not, v output tokens/s, A the API's price of a million output tokens:

    hour       h = w / 1000 * k + r                     [money / h]
    million    p = h / (v * 3600) * 1e6                 [money / 1e6 tokens], while it writes all the time
    month      F + T * p  for T million tokens;  T * A  at the API
    crossover  T* = F / (A - p)                         [1e6 tokens a month], where A > p; else there is none
    hours      H* = T* * 1e6 / (v * 3600)               [h a month]; more than a month has: it cannot write so much
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from app.language import Said

HOUR_S = 3600
MILLION = 1e6
MONTH_H = 730.0                 # 365 * 24 / 12
MOST = 1e9                      # of any amount


@dataclass(frozen=True, slots=True)
class Costs:
    """What a machine costs. Raises ValueError, naming the field, for what is negative, no number or beyond reason."""

    watts: float = 0.0                  # that it takes from the wall while it writes
    kwh_price: float = 0.0
    rent_per_hour: float = 0.0          # for hours of use only; one that is paid all month belongs to `per_month`
    per_month: float = 0.0              # whether it writes or not: its price over its years, a flat rent
    api_price: float = 0.0              # of a million output tokens elsewhere; 0: not known

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
                raise ValueError(each.name)

    @classmethod
    def from_values(cls, values: Any) -> Costs:
        """Of the store. Names that are not known are left out."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in dict(values or {}).items() if name in known})

    def to_values(self) -> dict[str, float]:
        return asdict(self)

    @property
    def per_hour(self) -> float:
        """Of writing: electricity and rent."""
        return self.watts / 1000 * self.kwh_price + self.rent_per_hour

    @property
    def is_known(self) -> bool:
        return self.per_hour > 0 or self.per_month > 0

    def per_million(self, tokens_per_s: float) -> float:
        """Output tokens, at this speed, without what a month costs anyway. Infinite at no speed."""
        if tokens_per_s <= 0:
            return math.inf if self.per_hour else 0.0
        return self.per_hour * MILLION / (tokens_per_s * HOUR_S)


class Cheaper(StrEnum):
    ALWAYS = "always"           # from the first token on
    ABOVE = "above"             # above so many tokens a month
    NEVER = "never"             # each token costs more here than there
    BEYOND = "beyond"           # above more tokens than the machine can write in a month


@dataclass(frozen=True, slots=True)
class Crossover:
    """When one's own machine is cheaper than the API."""

    cheaper: Cheaper
    million_tokens: float       # a month, from which on it is; 0 for ALWAYS, infinite for NEVER
    hours: float                # a month, that it writes then; likewise
    million_per_month: float    # the most that it can write


def crossover(costs: Costs, tokens_per_s: float) -> Crossover:
    """At this speed. `tokens_per_s` is positive, and so is the API's price."""
    most = tokens_per_s * HOUR_S * MONTH_H / MILLION
    gain = costs.api_price - costs.per_million(tokens_per_s)        # of each million
    if gain <= 0:
        return Crossover(Cheaper.NEVER, math.inf, math.inf, most)
    million_tokens = costs.per_month / gain
    hours = million_tokens * MILLION / (tokens_per_s * HOUR_S)
    if not costs.per_month:
        return Crossover(Cheaper.ALWAYS, 0.0, 0.0, most)
    return Crossover(Cheaper.ABOVE if hours <= MONTH_H else Cheaper.BEYOND, million_tokens, hours, most)


def best_level(speeds: dict[int, float]) -> int:
    """Of tokens/s by how many are answered at once: where a million tokens cost least, with as few as will do."""
    return max(sorted(speeds), key=lambda each: speeds[each])


def digits_of(amount: float) -> int:
    """Behind the point, so that two of a small amount are told: 0.42, 0.0042."""
    return 2 if amount >= 0.1 or amount <= 0 else min(8, 1 - math.floor(math.log10(amount)))


def told(costs: Costs, tokens_per_s: float, clients: int, written: Callable[[float, int], str]) -> list[Said]:
    """In sentences; none where no cost is known. `written(value, digits)`: a number as its reader writes it."""
    if not costs.is_known or tokens_per_s <= 0:
        return []
    price = costs.per_million(tokens_per_s)

    def money(amount: float) -> str:
        return written(amount, digits_of(amount))

    sentences = [Said("price-million", price=money(price), clients=clients)]
    if costs.api_price:
        found = crossover(costs, tokens_per_s)
        sentences.append(Said(
            f"price-{found.cheaper.value}", api=money(costs.api_price), price=money(price),
            million=money(found.million_tokens) if math.isfinite(found.million_tokens) else "",
            hours=written(found.hours, 0 if found.hours >= 10 else 1) if math.isfinite(found.hours) else "",
            most=money(found.million_per_month),
        ))
    return sentences
