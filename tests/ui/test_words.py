"""Numbers, times and names as people read them."""

from __future__ import annotations

from datetime import datetime

import pytest

from ui.words import (
    GIB,
    MIB,
    brief,
    context,
    count,
    greeting,
    initials,
    ordinal,
    percent,
    seconds,
    size,
    speed,
)

NOON = datetime(2026, 3, 10, 12, 0)


@pytest.mark.parametrize(
    ("hour", "words"),
    [(3, "Hello"), (5, "Good morning"), (12, "Good afternoon"), (18, "Good evening"), (23, "Hello")],
)
def test_the_greeting_fits_the_hour(hour: int, words: str) -> None:
    assert greeting("Mira Kovač", NOON.replace(hour=hour)) == f"{words}, Mira"


@pytest.mark.parametrize(
    ("name", "letters"), [("Mira Kovač", "MK"), ("ada", "A"), ("Anna Maria de Vries", "AV"), ("李雷", "李")]
)
def test_initials_are_of_the_first_and_the_last_name(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_numbers_have_units_and_a_space() -> None:
    assert [size(98 * MIB), size(5 * GIB), size(GIB // 2)] == ["98 MiB", "5.0 GiB", "0.5 GiB"]
    assert [context(512), context(2048), context(32768)] == ["512", "2k", "32k"]
    assert [seconds(0.84), seconds(59.9), seconds(61.2)] == ["0.8 s", "59.9 s", "1 min 1 s"]
    assert [ordinal(number) for number in (2, 3, 4, 11, 12, 13, 21, 22, 113)] == [
        "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "113th",
    ]
    assert [count(0, "token"), count(1, "token"), count(1234, "token")] == ["0 tokens", "1 token", "1,234 tokens"]


def test_times_speeds_and_shares_that_change_are_short() -> None:
    assert [brief(value_s) for value_s in (0.00123, 0.0249, 0.4213, 0.996, 1.94, 34.2, 60.0)] == [
        "1.2 ms", "25 ms", "420 ms", "1 s", "1.9 s", "34 s", "60 s",
    ]
    assert [speed(tokens_per_s) for tokens_per_s in (0.0, 0.42, 9.96, 41.3)] == [
        "0 tok/s", "0.4 tok/s", "10.0 tok/s", "41 tok/s",
    ]
    assert (percent(None), percent(0.0), percent(0.624)) == (None, "0 %", "62 %")
