"""What an engine counts and times, and how those figures read."""

from __future__ import annotations

import pytest

from engine.backends.scripted import ScriptedBackend
from engine.engine import EngineMetrics
from engine.histogram import FIRST_TOKEN_BOUNDS_S, INTER_TOKEN_BOUNDS_S, Histogram, HistogramCounter
from tests.engine.driving import Driver, request


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def snapshot(drive: Driver) -> EngineMetrics:
    scheduler = drive.scheduler
    return scheduler.counters.snapshot(
        num_running=scheduler.num_running, num_waiting=scheduler.num_waiting, blocks=scheduler.blocks, held_bytes=0
    )


class TestHistogram:
    def test_a_value_falls_into_the_first_bucket_that_is_not_below_it(self) -> None:
        counter = HistogramCounter((1.0, 2.0, 5.0))
        for value_s in (0.0, 1.0, 1.001, 5.0, 7.0):
            counter.observe(value_s)
        histogram = counter.snapshot()
        assert histogram.counts == (2, 1, 1, 1)
        assert histogram.cumulative() == [2, 3, 4, 5]
        assert histogram.count == 5
        assert histogram.sum_s == pytest.approx(14.001)

    def test_a_snapshot_stays_as_it_is(self) -> None:
        counter = HistogramCounter((1.0,))
        before = counter.snapshot()
        counter.observe(0.5)
        assert before.count == 0
        assert counter.snapshot().count == 1
        assert counter.snapshot() is counter.snapshot()

    @pytest.mark.parametrize(
        ("counts", "share", "expected_s"),
        [
            ((0, 0, 0), 0.5, None),
            ((4, 0, 0), 0.5, 0.5),          # half of a bucket from 0 to 1
            ((2, 2, 0), 0.5, 1.0),
            ((2, 2, 0), 0.75, 2.0),         # half of a bucket from 1 to 3
            ((0, 1, 0), 0.0, 1.0),          # no less than the bucket that holds it
            ((1, 0, 3), 0.95, 3.0),         # above all bounds: more is not known
        ],
    )
    def test_quantiles(self, counts: tuple[int, ...], share: float, expected_s: float | None) -> None:
        assert Histogram((1.0, 3.0), counts, 0.0).quantile_s(share) == expected_s

    @pytest.mark.parametrize(("bounds_s", "ends"), [
        (FIRST_TOKEN_BOUNDS_S, (0.005, 60.0)), (INTER_TOKEN_BOUNDS_S, (0.001, 5.0)),
    ])
    def test_the_bounds_rise_and_serve_every_machine(
        self, bounds_s: tuple[float, ...], ends: tuple[float, float]
    ) -> None:
        assert list(bounds_s) == sorted(set(bounds_s))
        assert (bounds_s[0], bounds_s[-1]) == ends


class TestTimes:
    def test_the_first_token_counts_from_arrival_and_each_other_from_the_one_before(self) -> None:
        clock = Clock()
        drive = Driver(ScriptedBackend("0123456789"), clock_s=clock)
        drive.submit(request("r", "hello", max_tokens=3, arrival_s=998.0))
        for passes_s in (0.5, 0.04, 0.04):
            clock.now_s += passes_s
            drive.step()
        metrics = snapshot(drive)
        assert metrics.time_to_first_token.sum_s == pytest.approx(2.5)
        assert metrics.time_to_first_token.count == 1
        assert metrics.inter_token.sum_s == pytest.approx(0.08)
        assert metrics.inter_token.counts[INTER_TOKEN_BOUNDS_S.index(0.05)] == 2

    def test_a_prompt_in_pieces_has_one_first_token(self) -> None:
        clock = Clock()
        drive = Driver(ScriptedBackend("0123", max_num_batched_tokens=16), clock_s=clock)
        drive.submit(request("r", "p" * 40, max_tokens=2, arrival_s=1000.0))
        while drive.scheduler.has_work:
            clock.now_s += 1.0
            drive.step()
        metrics = snapshot(drive)
        assert (metrics.time_to_first_token.count, metrics.inter_token.count) == (1, 1)
        assert metrics.time_to_first_token.sum_s == pytest.approx(3.0)

    def test_what_a_preempted_sequence_waited_is_a_gap_between_its_tokens(self) -> None:
        clock = Clock()
        drive = Driver(ScriptedBackend("0123456789" * 9, block_size=4, num_blocks=8), clock_s=clock)
        drive.submit(*(request(f"r{n}", f"{n} prompt", max_tokens=20, arrival_s=1000.0) for n in range(2)))
        while drive.scheduler.has_work:
            clock.now_s += 0.01
            drive.step()
        metrics = snapshot(drive)
        assert metrics.preemptions_total > 0
        assert metrics.time_to_first_token.count == 2
        assert metrics.inter_token.count == 2 * 19
        assert metrics.inter_token.quantile_s(1.0) > 0.05      # type: ignore[operator]

    def test_an_answer_without_a_token_has_no_time(self) -> None:
        drive = Driver(ScriptedBackend(""))
        drive.run(request("r", "hello"))
        assert snapshot(drive).time_to_first_token.count == 0


class TestRate:
    def test_it_is_of_the_last_seconds(self) -> None:
        clock = Clock()
        drive = Driver(ScriptedBackend("x" * 4000, max_model_len=4096), clock_s=clock)
        drive.submit(request("r", "hello", max_tokens=1500, arrival_s=1000.0))
        for _ in range(1000):
            clock.now_s += 0.01
            drive.step()
        metrics = snapshot(drive)
        assert metrics.output_tokens_per_s(clock.now_s) == pytest.approx(100.0, rel=0.01)
        assert metrics.output_tokens_per_s(clock.now_s + 2.5) == pytest.approx(50.0, rel=0.02)
        assert metrics.output_tokens_per_s(clock.now_s + 7.0) == 0.0
        assert len(metrics.output_tokens_by_second) <= 8        # however long it has been writing

    def test_an_engine_that_wrote_nothing_has_none(self) -> None:
        assert EngineMetrics().output_tokens_per_s(5.0) == 0.0


def test_shares_are_of_something_or_nothing() -> None:
    assert EngineMetrics().cached_share is None
    assert EngineMetrics().accept_rate is None
    metrics = EngineMetrics(
        prompt_tokens_total=200, cached_prompt_tokens_total=50, proposed_tokens_total=8, accepted_tokens_total=6,
        num_blocks=100, num_free_blocks=70,
    )
    assert (metrics.cached_share, metrics.accept_rate, metrics.num_held_blocks) == (0.25, 0.75, 30)


def test_accepted_proposals_reach_the_snapshot() -> None:
    drive = Driver(ScriptedBackend("01"))
    drive.scheduler.counters.proposed_tokens += 4
    drive.scheduler.counters.accepted_tokens += 3
    assert snapshot(drive).accept_rate == 0.75
