"""How long a guesser waits."""

from __future__ import annotations

import pytest

from app.services import throttle
from app.services.throttle import NUM_FREE_FAILURES, Throttle


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guesses(clock: Clock) -> Throttle:
    return Throttle(clock)


def fail(guesses: Throttle, times: int = NUM_FREE_FAILURES) -> None:
    for _ in range(times):
        assert guesses.begin("anna") == 0


def test_the_first_ten_tries_are_free_then_the_wait_doubles(guesses: Throttle, clock: Clock) -> None:
    fail(guesses)
    waits = []
    for _ in range(10):
        waits.append(guesses.begin("anna"))
        clock.now_s += waits[-1]
        fail(guesses, 1)
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_asking_again_while_waiting_makes_it_no_longer(guesses: Throttle, clock: Clock) -> None:
    fail(guesses)
    clock.now_s += 0.5
    assert [guesses.begin("anna") for _ in range(5)] == [2] * 5
    clock.now_s += 1.5
    assert guesses.begin("anna") == 0


def test_success_forgets_the_failures(guesses: Throttle) -> None:
    fail(guesses)
    guesses.succeeded("anna")
    fail(guesses)
    assert guesses.begin("anna") == 2


def test_an_hour_of_quiet_forgets_the_failures(guesses: Throttle, clock: Clock) -> None:
    fail(guesses)
    clock.now_s += 3601
    fail(guesses)


def test_one_does_not_wait_for_another(guesses: Throttle) -> None:
    fail(guesses)
    assert guesses.begin("ben") == 0


def test_a_flood_of_names_does_not_fill_the_memory(guesses: Throttle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "MAX_KEYS", 3)
    for name in range(100):
        guesses.begin(name)
    assert list(guesses._records) == [97, 98, 99]
