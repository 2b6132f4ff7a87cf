"""A run beside the one before it, and two models beside each other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.services.bench_history import Apart, Since, beside, beside_earlier, body_of, changes, differences, since
from store.tables import Benchmark
from tests.app.measured import again, run_of


@pytest.fixture
def row() -> Benchmark:
    return run_of("steady")


def _since(before: Benchmark, now: Benchmark) -> Since:
    found = since([before, now], now)
    assert found is not None
    return found


def test_a_slower_run_says_by_how_much_since_when_and_what_changed(row: Benchmark) -> None:
    row.backend = "llama.cpp 0.3.36"
    found = _since(row, again(row, 0.88, days=3, backend="llama.cpp 0.3.40", context_tokens=2048))
    assert found.is_worse
    assert found.told("3 March") == (
        "12 % slower than on 3 March, with 1 at once. Changed since: llama.cpp 0.3.36 → 0.3.40; context 4096 → 2048"
    )


def test_within_the_noise_it_is_as_before(row: Benchmark) -> None:
    found = _since(row, again(row, 0.97, days=1))
    assert (found.foremost, found.is_worse) == (None, False)
    assert found.told("3 March") == "No faster or slower than on 3 March"
    wide = again(row, 1.0)
    wide.levels = [level | {"tokens_per_s": {"median": 100.0, "low": 80.0, "high": 110.0}} for level in row.levels]
    assert not any(each.is_beyond_noise for each in changes(wide, again(wide, 0.75)) if each.concurrency == 1)


def test_faster_and_sooner_are_said_and_worse_goes_first(row: Benchmark) -> None:
    assert _since(row, again(row, 1.5, days=1)).told("Monday") == "50 % faster than on Monday, with 1 at once"
    later = _since(row, again(row, 1.5, days=1, wait=1.2))
    assert later.told("Monday") == "The first token comes 20 % later than on Monday, with 1 at once"
    assert "20 % sooner" in _since(row, again(row, 1.0, days=1, wait=0.8)).told("Monday")


def test_what_cannot_be_compared_is_not(row: Benchmark) -> None:
    for name, other in (("model_id", "x"), ("prompts_hash", "x"), ("max_tokens", 9), ("machine", "x")):
        change: dict[str, Any] = {name: other}
        now = again(row, 0.5, days=1, **change)
        assert since([row, now], now) is None
    now = again(row, 0.5, days=1)
    now.levels = [level | {"num_others_tokens": 3} for level in now.levels]
    assert _since(row, now).changes == ()
    assert since([now], row) is None        # what came later is not before


def test_why_it_is_not_is_said(row: Benchmark) -> None:
    for changed, words in (
        ({"prompts_hash": "x"}, "other questions were asked"),
        ({"max_tokens": 9, "machine": "x"},
         "its answers had 8 tokens, these 9; it was measured on Abacus, 2 cores"),
        ({"levels": run_of("steady", (2, 8)).levels}, "it was measured with 1, 4 at once, this with 2, 8"),
    ):
        now = again(row, 0.5, days=1, **changed) if "levels" not in changed else run_of("steady", (2, 8))
        now.created_at = row.created_at + timedelta(days=1)
        found = beside_earlier([row, now], now)
        assert isinstance(found, Apart)
        assert found.told("3 March") == f"Not compared with the run of 3 March: {words}"
        body = body_of(now, found)
        assert body["since"] is None and body["not_compared"]["id"] == row.id
    assert beside_earlier([row], row) is None
    other = again(row, 0.5, days=1, model_id="x")
    assert beside_earlier([row, other], other) is None


def test_the_newest_before_is_taken(row: Benchmark) -> None:
    runs = [again(row, 1.0, days=days) for days in range(4)]
    assert _since(runs[2], runs[3]).before is runs[2]
    found = since(runs, runs[3])
    assert found is not None and found.before is runs[2]


def test_two_models_beside_each_other_are_told_in_ratios(row: Benchmark) -> None:
    first, second = beside(row, again(row, 1.5, wait=0.5)), beside(row, again(row, 1.02))
    assert [(each.concurrency, each.tokens_per_s, each.first_token) for each in first] == [(1, 1.5, 0.5), (4, 1.5, 0.5)]
    assert [each.is_beyond_noise for each in (*first, *second)] == [True, True, False, False]


def test_each_part_that_differs_is_named(row: Benchmark) -> None:
    other = again(row, 1.0, days=1, backend="torch 2", kv_type="q8_0", num_threads=8, model_version="x")
    assert differences(row, other) == [
        "scripted → torch 2", "KV f16 → q8_0", "threads 2 → 8", "another version of the model’s file",
    ]
