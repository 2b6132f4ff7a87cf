"""Whether the first of several waits for the others."""

from __future__ import annotations

import asyncio

import pytest

from engine import bursts
from engine.backends.scripted import ScriptedBackend
from engine.bursts import LONGEST_S, TOGETHER_S, Bursts
from engine.request import FinishReason
from tests.engine.driving import request
from tests.engine.test_core import started


class Arrivals:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.bursts = Bursts(lambda: self.now_s)

    def burst(self, size: int, *, apart_s: float = 0.001) -> None:
        self.now_s += 10.0
        self.bursts.came(to_rest=True)
        self.bursts.begin_step()
        for _ in range(size - 1):
            self.now_s += apart_s
            self.bursts.came(to_rest=False)

    def first(self) -> float:
        """How long it waits."""
        self.now_s += 10.0
        self.bursts.came(to_rest=True)
        return self.bursts.wait_s()


@pytest.mark.parametrize(("sizes", "waits"), [
    ((), False), ((4,), False), ((4, 4), True), ((4, 1), False), ((1, 4), False), ((1, 1), False), ((4, 1, 2, 8), True),
])
def test_the_first_waits_where_the_last_two_bursts_were_of_several(sizes: tuple[int, ...], waits: bool) -> None:
    arrivals = Arrivals()
    for size in sizes:
        arrivals.burst(size)
    assert arrivals.first() == pytest.approx(LONGEST_S if waits else 0.0)


def test_it_waits_for_as_many_as_the_smaller_of_them_had_and_no_longer_than_a_moment() -> None:
    arrivals = Arrivals()
    arrivals.burst(5)
    arrivals.burst(3)
    assert arrivals.first() > 0.0
    arrivals.now_s += LONGEST_S / 3
    arrivals.bursts.came(to_rest=False)
    assert arrivals.bursts.wait_s() == pytest.approx(LONGEST_S * 2 / 3)
    arrivals.bursts.came(to_rest=False)
    assert arrivals.bursts.wait_s() == 0.0
    assert arrivals.first() > 0.0
    arrivals.now_s += LONGEST_S
    assert arrivals.bursts.wait_s() == 0.0


def test_who_comes_later_is_of_no_burst() -> None:
    arrivals = Arrivals()
    arrivals.burst(3, apart_s=TOGETHER_S * 1.1)
    arrivals.burst(3, apart_s=TOGETHER_S * 1.1)
    assert arrivals.first() == 0.0


def test_nobody_waits_once_the_first_step_has_begun() -> None:
    arrivals = Arrivals()
    arrivals.burst(3)
    arrivals.burst(3)
    assert arrivals.first() > 0.0
    arrivals.bursts.begin_step()
    assert arrivals.bursts.wait_s() == 0.0


async def test_the_third_burst_begins_with_a_step_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "TOGETHER_S", 60.0)
    monkeypatch.setattr(bursts, "LONGEST_S", 60.0)
    backend = ScriptedBackend("ab")
    async with started(backend) as inbox:
        for burst in range(3):
            backend.steps.clear()
            inbox.submit(*(request(f"{burst}{name}", f"{burst}{name}?") for name in "xyz"))
            async with asyncio.TaskGroup() as group:
                for name in "xyz":
                    group.create_task(inbox.last(f"{burst}{name}"))
        assert backend.steps[0] == (3, 3, 3)
        inbox.submit(request("alone", "alone"), request("aborted", "aborted"))
        inbox.core.abort("aborted")
        inbox.submit(request("late", "late"))
        assert (await inbox.last("late")).finish_reason is FinishReason.STOP
