"""A short soak, and that it would see what it is there to see."""

from __future__ import annotations

import random

import pytest

from tests.app.prometheus_text import read_prometheus
from tests.benchmarks.soak.asks import Ask, Said
from tests.benchmarks.soak.clients import Client, Tally
from tests.benchmarks.soak.run import Look, Memory, Report, _grown, _left_behind, run_soak

MIB = 2**20


@pytest.mark.slow
async def test_nothing_is_left_when_everybody_came_and_vanished_at_random() -> None:
    report = await run_soak(duration_s=8, num_clients=32, num_prompts=8, seed=1)
    assert report.faults == [], str(report)
    assert report.tally.num_compared > 20
    assert len(report.tally.asked) == 6
    assert report.tally.statuses.keys() == {200}
    assert max(look.num_running for look in report.looks) > 1
    assert max(look.num_waiting for look in report.looks) > 8


def metrics_text(**changed: int) -> str:
    values = {"requests_running": 0, "requests_waiting": 0, "kv_blocks_held": 0, "kv_blocks": 9, "kv_blocks_free": 9}
    return "".join(
        f'# HELP inglenook_{name} Of it.\n# TYPE inglenook_{name} gauge\ninglenook_{name}{{model="tiny"}} {value}\n'
        for name, value in (values | changed).items()
    )


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"requests_running": 1}, "1 requests_running"),
        ({"requests_waiting": 2}, "2 requests_waiting"),
        ({"kv_blocks_held": 1, "kv_blocks_free": 8}, "8 of 9 blocks are free"),
        ({"kv_blocks": 0, "kv_blocks_free": 0}, "0 of 0 blocks are free"),
    ],
)
def test_what_is_still_held_is_a_fault(changed: dict[str, int], word: str) -> None:
    assert list(_left_behind(read_prometheus(metrics_text()))) == []
    assert any(word in fault for fault in _left_behind(read_prometheus(metrics_text(**changed))))


def test_memory_that_grows_after_the_middle_is_a_fault() -> None:
    def looks(*sizes: int) -> list[Look]:
        return [Look(at_s, size * MIB, 0, 0) for at_s, size in enumerate(sizes)]

    flat = looks(50, 90, 95, 98, 100, 100, 100, 104, 103, 102)
    assert list(_grown(flat, 10)) == []
    assert Memory.of(flat, 10) == Memory(50 * MIB, 100 * MIB, 104 * MIB)
    grown = looks(50, 90, 95, 98, 100, 100, 100, 104, 106, 102)
    assert list(_grown(grown, 10)) == [
        "memory grew: 50.0 MiB at first, 100.0 in the middle, at most 106.0 after it"
    ]
    assert list(_grown(looks(50, 60), 10)) == ["memory was not measured in the middle and after it"]


def test_another_text_or_another_end_is_a_fault() -> None:
    ask = Ask("chat", "/v1/chat/completions", {"model": "tiny"}, (Said("so it is", "stop"),))
    tally = Tally()
    client = Client(0, ["sk-"], [ask], tally, random.Random(0))
    client._compare(ask, "whole", [Said("so it is", "stop")])
    assert tally.faults == []
    for said in ([Said("so it was", "stop")], [Said("so it is", "length")], [], [Said("so it is", "stop")] * 2):
        client._compare(ask, "whole", said)
    assert len(tally.faults) == 4


def test_a_report_says_what_is_broken() -> None:
    report = Report(10, 32, Tally(), faults=["left behind: 1 requests_running"])
    assert str(report).splitlines()[-2:] == ["BROKEN left behind: 1 requests_running", "broken"]
    assert str(Report(10, 32, Tally())).endswith("nothing broken")
