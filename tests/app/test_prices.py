"""What a million tokens cost, and when one's own machine is cheaper."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.services.prices import MONTH_H, Cheaper, Costs, crossover

AMOUNTS = st.floats(0, 1e5)
SPEEDS = st.floats(0.1, 1e5)


def test_electricity_and_rent_make_a_price() -> None:
    costs = Costs(watts=300, kwh_price=0.40, rent_per_hour=0.08)
    assert costs.per_hour == pytest.approx(0.20)
    assert costs.per_million(1e6 / 3600) == pytest.approx(0.20)       # a million tokens an hour
    assert costs.per_million(1e6 / 36000) == pytest.approx(2.0)
    assert Costs().per_million(0) == 0 and math.isinf(costs.per_million(0))


def test_a_fixed_cost_is_won_back_above_so_many_tokens_a_month() -> None:
    costs = Costs(watts=500, kwh_price=0.40, per_month=45, api_price=2.0)
    found = crossover(costs, 1e6 / 3600)                # 0.20 a million here
    assert found.cheaper is Cheaper.ABOVE
    assert (found.million_tokens, found.hours) == pytest.approx((25.0, 25.0))
    assert found.million_per_month == pytest.approx(MONTH_H)


def test_without_a_fixed_cost_it_is_cheaper_always_or_never() -> None:
    assert crossover(Costs(watts=500, kwh_price=0.40, api_price=2.0), 1e6 / 3600).cheaper is Cheaper.ALWAYS
    assert crossover(Costs(watts=500, kwh_price=40, api_price=2.0), 1e6 / 3600).cheaper is Cheaper.NEVER


def test_more_than_a_month_of_writing_is_beyond() -> None:
    found = crossover(Costs(per_month=5000, api_price=2.0), 1e6 / 3600)
    assert found.cheaper is Cheaper.BEYOND
    assert found.million_tokens == pytest.approx(2500.0)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, SPEEDS, st.floats(0.01, 10))
def test_at_the_crossover_both_cost_the_same_and_above_it_ones_own_is_cheaper(
    watts: float, kwh_price: float, rent: float, per_month: float, speed: float, gain: float
) -> None:
    plain = Costs(watts=watts, kwh_price=kwh_price, rent_per_hour=rent, per_month=per_month)
    own = plain.per_million(speed)
    assume(own < 1e6)
    costs = Costs(**plain.to_values() | {"api_price": own + gain})
    found = crossover(costs, speed)
    assume(found.cheaper is not Cheaper.NEVER)          # what was gained is lost by rounding

    def difference(million_tokens: float) -> float:
        return million_tokens * costs.api_price - (costs.per_month + million_tokens * costs.per_million(speed))

    scale = max(1.0, found.million_tokens * costs.api_price)
    assert difference(found.million_tokens) == pytest.approx(0, abs=1e-6 * scale)
    assert difference(2 * found.million_tokens + 1) > -1e-6 * scale
    assert found.hours == pytest.approx(found.million_tokens * 1e6 / (speed * 3600))


@given(AMOUNTS, AMOUNTS, SPEEDS)
def test_twice_the_speed_is_half_the_price(watts: float, kwh_price: float, speed: float) -> None:
    costs = Costs(watts=watts, kwh_price=kwh_price)
    assert costs.per_million(2 * speed) == pytest.approx(costs.per_million(speed) / 2)


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, 1e12, True, "3"])
def test_what_is_no_amount_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(ValueError, match="kwh_price"):
        Costs(kwh_price=wrong)      # type: ignore[arg-type]


def test_stored_costs_come_back_and_unknown_names_are_left_out() -> None:
    costs = Costs(watts=90, kwh_price=0.3, api_price=2)
    assert Costs.from_values(costs.to_values() | {"later": 1}) == costs
    assert Costs.from_values(None) == Costs()
