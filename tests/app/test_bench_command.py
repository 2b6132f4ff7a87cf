"""`inglenook bench`: alone on the data folder, with the real starter model, and beside a server that does the work."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.bench import _follow
from app.bench_report import as_values, line_of, lines_of, progress_of
from app.instance import Instance, Note
from app.services.bench_history import beside_earlier, body_of, since
from app.services.models import STARTER_ID
from app.services.prices import Costs
from engine.backends.scripted import ScriptedBackend
from tests.app.command_line import Inglenook
from tests.app.house import House, Person
from tests.app.measured import again, run_of

QUICK = ("--concurrency", "1,2", "--tokens", "8", "--repetitions", "2")
COSTS = Costs(watts=65, kwh_price=0.32, per_month=20, api_price=2)


@pytest.mark.slow
def test_the_starter_model_is_measured_and_the_run_before_is_remembered(
    inglenook: Inglenook, data_dir: Path, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("What is the capital of France?\nName three birds.\n")
    first = inglenook("bench", STARTER_ID, "--prompts", str(questions), *QUICK, "--watts", "65", "--kwh-price", "0.32")
    assert first.exit_code == 0, first.err
    head, asked = first.out.splitlines()[:2]
    assert re.match(r"SmolLM2 135M Instruct, Q4_1: llama\.cpp [\d.]+ on cpu, \d+ threads; [\d,]+ tokens of", head)
    assert asked.startswith("Prompts: 2 as they were given, about ") and "cold; answers of 8 tokens" in asked
    assert len(re.findall(r"^ +[12] +\d+\.\d +\d+\.\d to \d+\.\d ", first.out, re.MULTILINE)) == 2
    assert re.search(r"a million tokens cost \d+\.", first.out)
    assert "Loading SmolLM2 135M Instruct" in first.err
    assert re.search(r"^This takes about \d+ s, for \d+ answers\. Ctrl-C stops it\.$", first.err, re.MULTILINE)
    assert not any(b"three birds" in file.read_bytes() for file in data_dir.rglob("*") if file.is_file())

    second = inglenook("bench", STARTER_ID, "--prompts", "-", *QUICK, "--json", stdin=questions.read_bytes())
    assert second.exit_code == 0, second.err
    [run] = json.loads(second.out)["runs"]
    assert run["since"] is not None and run["prices"] is None
    assert [level["concurrency"] for level in run["levels"]] == [1, 2]


def test_wrong_usage_is_told_in_one_line(inglenook: Inglenook, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    arguments: tuple[str, ...]
    for arguments in (
        ("--concurrency", "many"), ("--concurrency", "1_0"),
        ("--prompts", str(tmp_path / "empty")), ("--kwh-price", "nan"), ("--watts", "-1"),
        ("--against", "x"), ("--tokens", "4097"), ("--repetitions", "0"), ("--concurrency", "1,513"),
    ):
        done = inglenook("bench", "x", *arguments)
        assert (done.exit_code, "Traceback" in done.err) == (2, False), done.err
        assert arguments[0] in done.err or arguments[0] == "--prompts"
    for arguments, words in (
        (("--tokens", "0"), "--tokens: Give a whole number from 8 to 4,096."),
        (("--concurrency", "0"), "from 1 to 512"), (("--rent", "-1"), "--rent: Give an amount of 0 or more"),
    ):
        done = inglenook("bench", STARTER_ID, *arguments)
        assert (done.exit_code, words in done.err) == (2, True), done.err
    for arguments, words in (
        (("unicorn",), "does not exist here"), ((STARTER_ID, "--user", "Eve"), "Eve"),
        ((STARTER_ID, "--prompts", str(tmp_path / "none")), "none: No such file"),
    ):
        done = inglenook("bench", *arguments)
        assert done.exit_code == 1, done.err
        assert words in done.err


class TestBesideAServer:
    @pytest.fixture
    def beside(self, house: House, admin: Person, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
        folder = house.services.settings.data_dir
        monkeypatch.setenv("INGLENOOK_DATA_DIR", str(folder))
        for name in ("swift", "slow"):
            house.do(house.shelf.put(house.services, name, partial(ScriptedBackend, "Yes.", max_num_seqs=2)))
        with Instance.claim(folder) as instance:
            instance.publish(Note(os.getpid(), house.url))
            yield house

    def test_the_server_measures_and_keeps_it(self, inglenook: Inglenook, beside: House) -> None:
        done = inglenook("bench", "swift", "--against", "slow", "--prompts", "-", *QUICK, stdin="One?")
        assert done.exit_code == 0, done.err
        assert "Slow (OTHER) beside Swift, turn by turn." in done.out
        assert len(re.findall(r" x +\d+\.\d+ m?s +\d+\.\d+ m?s +\d+\.\d\d x$", done.out, re.MULTILINE)) == 2
        last = beside.services.benchmarks.last
        assert last is not None and last.model_ids == ("swift", "slow")
        assert [row.id for row in beside.do(beside.services.benchmarks.history())[:2]][::-1] == [
            row.id for row in last.rows
        ]

    def test_its_refusals_are_told_in_its_own_words(self, inglenook: Inglenook, beside: House) -> None:
        done = inglenook("bench", "dodo")
        assert (done.exit_code, "does not exist here" in done.err) == (1, True)


def test_the_report_names_what_every_figure_depends_on() -> None:
    row, now = run_of("parrot"), again(run_of("parrot"), 0.8, days=3, backend="llama.cpp 0.3.40")
    row.backend = "llama.cpp 0.3.36"
    text = "\n".join(lines_of([body_of(now, since([row, now], now))], COSTS))
    for part in (
        "Parrot, Q4_1: llama.cpp 0.3.40 on cpu, 2 threads; 4,096 tokens of context for 8 at once, KV in f16; Inglenook",
        "Prompts: 2 from chats, about 34 tokens each, cold; answers of 8 tokens",
        "20 % slower than on 3 March 2026, with 1 at once. Changed since: llama.cpp 0.3.36 → 0.3.40.",
        "   4 at once  ######################################## 320 tok/s",
        "With 4 at once a million tokens cost 0.018 here, as long as it writes.",
        "Above 10.09 million tokens a month, which are 8.8 hours of writing, this machine is cheaper than the API at ",
    ):
        assert part in text, text


def test_what_nobody_knows_of_a_server_elsewhere_is_not_told() -> None:
    row = run_of("parrot")
    row.backend, row.device, row.kv_type, row.max_num_seqs, row.num_threads = "HTTP", "elsewhere", "", 256, 0
    text = "\n".join(lines_of([body_of(row, None)], Costs()))
    assert "Parrot, Q4_1: HTTP to a server elsewhere; 4,096 tokens of context; Inglenook" in text


def test_who_waited_in_line_and_why_a_run_is_not_compared_are_told() -> None:
    row = run_of("parrot", (4, 99), model_version=f"parrot.gguf, 92000000 bytes, {1_772_500_000 * 10**9}")
    now = again(row, 1.0, days=3, prompts_hash="x")
    body = body_of(now, beside_earlier([row, now], now))
    text = "\n".join(lines_of([body], Costs()))
    assert "\n99 asked, 8 at once  ####" in text and "\n          4 at once  ##" in text
    assert "Not compared with the run of 3 March 2026: other questions were asked." in text
    assert "Version: parrot.gguf, 88 MiB of 2026-03-03 01:06 UTC." in text
    assert as_values([body], Costs())["runs"][0]["model_version"] == row.model_version
    assert line_of({"num_slots": 8, "most_clients": 99}) == (
        "8 are answered at once here: where more ask, up to 99, the others wait in line, and their wait is measured "
        "too."
    )


def test_disturbed_levels_are_marked_and_warm_prompts_told() -> None:
    row = run_of("parrot")
    told = {"num_others_tokens": 3, "num_cached_tokens": 5, "guessed_share": 0.12}
    row.levels = [level | told for level in row.levels]
    text = "\n".join(lines_of([body_of(row, None)], Costs()))
    assert "1*" in text and "* Somebody was answered meanwhile" in text and "warm: 10 tokens were cached" in text
    assert "Up to 12% of the tokens were guessed ahead" in text
    assert "A MILLION" not in text


def test_values_for_programs_hold_prices_and_no_infinity() -> None:
    [run] = as_values([body_of(run_of("parrot"), None)], COSTS)["runs"]
    assert [each["cheaper"] for each in run["prices"]] == ["above", "above"]
    [never] = as_values([body_of(run_of("parrot"), None)], Costs(watts=9e6, kwh_price=9, api_price=1))["runs"]
    assert json.loads(json.dumps(never))["prices"][0] == {
        "concurrency": 1, "per_million": never["prices"][0]["per_million"], "cheaper": "never",
        "million_tokens_per_month": None, "hours_per_month": None,
    }


async def test_how_long_it_takes_is_told_once_and_first(capsys: pytest.CaptureFixture[str]) -> None:
    now = {
        "id": "b", "state": "measuring", "is_running": True, "waits_in_line": False, "fraction": 0.0, "num_all": 396,
        "model_name": "Parrot", "concurrency": 0, "repetition": 1, "repetitions": 3, "tokens_per_s": None,
        "about_s": None,
    }
    later = now | {"concurrency": 99, "about_s": 725.0}
    due = [later, later | {"about_s": 700.0}, later | {"is_running": False, "state": "done"}]

    class Desk:
        async def start(self, body: dict[str, Any]) -> dict[str, Any]:
            return now

        async def get(self, bench_id: str) -> dict[str, Any]:
            return due.pop(0)

        async def stop(self, bench_id: str) -> None:
            raise AssertionError("nobody stopped it")

    await _follow(Desk(), now)
    warming, told, *rest = capsys.readouterr().err.splitlines()
    assert "warming up" in warming and told == "This takes about 12 min 5 s, for 396 answers. Ctrl-C stops it."
    assert rest and not any("This takes" in line for line in rest)


def test_the_line_of_progress() -> None:
    status = {
        "state": "measuring", "fraction": 0.5, "model_name": "Parrot", "concurrency": 4, "repetition": 2,
        "repetitions": 3, "tokens_per_s": 84.4, "about_s": 61.0,
    }
    bar = "[############------------]"
    assert progress_of(status, True) == (
        f"{bar}  50%  Parrot  4 at once  2 of 3  84 tok/s before  about 1 min 1 s left"
    )
    assert "warming up" in progress_of(status | {"concurrency": 0}, False)
