"""Measuring models: what is asked of them, that people go first, that one runs at a time, and what is kept."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from app.errors import Conflict, InvalidInput, ModelNotFound, NotFound
from app.services import bench_run
from app.services.bench_figures import Level
from app.services.bench_history import beside
from app.services.bench_prompts import BUILT_IN, Prompts, prompts_in
from app.services.bench_status import BenchState, BenchStatus, BenchWish
from app.services.connections import Entered
from app.services.container import Services
from app.services.engines import ModelState
from app.services.prices import Costs
from engine.backends.scripted import Gate, ScriptedBackend
from engine.batch import Batch, StepOutput
from engine.errors import ModelLoadError
from engine.told import Told
from store import benchmarks
from tests.app.house import Shelf, turn, until
from tests.app.measured import again, run_of
from tests.app.test_memory_sharing import SIZE, CountingLoader
from tests.engine.scripted_embedder import ScriptedEmbedder
from tests.engine.upstream import Upstream

STEP_S = 0.01
GIVEN = Prompts(("One?", "And two, which is longer?"), "given")


class Paced(ScriptedBackend):
    """Each step takes as long as it is told, however many rows it has; more than `max_num_seqs` wait."""

    def __init__(self, step_s: float = STEP_S, **options: Any) -> None:
        super().__init__("Yes.", **options)
        self.batches: list[Batch] = []
        self._step_s = step_s

    def execute(self, batch: Batch) -> StepOutput:
        self.batches.append(batch)
        threading.Event().wait(self._step_s)        # the time that a real model needs
        return super().execute(batch)


def wish(*model_ids: str, **changed: Any) -> BenchWish:
    plain = BenchWish(model_ids=model_ids, prompts=GIVEN, levels=(1, 4), max_tokens=8, repetitions=2)
    return replace(plain, **changed)


async def ended(services: Services) -> BenchStatus:
    await until(lambda: services.benchmarks.last is not None and not services.benchmarks.last.is_running)
    assert services.benchmarks.last is not None
    return services.benchmarks.last


@pytest.fixture
async def steady(services: Services, shelf: Shelf) -> str:
    await shelf.put(services, "steady", Paced)
    return "steady"


async def test_it_measures_each_level_and_keeps_what_came_out(services: Services, steady: str) -> None:
    begun = await services.benchmarks.start(wish(steady))
    assert (begun.is_running, begun.model_names) == (True, ("Steady",))
    done = await ended(services)
    assert (done.state, done.num_done, done.num_all, done.fraction) == (BenchState.DONE, 12, 12, 1.0)
    [row] = await services.benchmarks.history()
    assert row == done.rows[0]
    assert (row.model_name, row.backend, row.max_num_seqs, row.num_prompts) == ("Steady", "scripted", 8, 2)
    assert (row.prompts_source, row.prompts_hash, row.repetitions) == ("given", GIVEN.hash, 2)
    alone, together = map(Level.from_values, row.levels)
    assert (alone.concurrency, alone.num_answers, together.concurrency, together.num_answers) == (1, 2, 4, 4)
    for level in (alone, together):
        assert level.inter_token_p50_s.low >= STEP_S
        assert level.tokens_per_s.high <= level.concurrency / STEP_S
        assert level.stream_tokens_per_s.high <= 1 / STEP_S
        assert (level.num_cached_tokens, level.is_disturbed) == (0, False)
    assert together.tokens_per_s.median > alone.tokens_per_s.median
    assert alone.prompt_tokens > len("One?")


async def test_no_text_of_a_prompt_is_kept(services: Services, steady: str) -> None:
    await services.benchmarks.start(wish(steady, prompts=Prompts(("zebra crossing",), "given")))
    await ended(services)
    assert len(await services.benchmarks.history()) == 1
    files = [file for file in services.settings.data_dir.rglob("*") if file.is_file()]
    assert files and not any(b"zebra" in file.read_bytes() for file in files)


async def test_without_levels_it_goes_up_to_what_the_model_answers_at_once(services: Services, shelf: Shelf) -> None:
    await shelf.put(services, "small", partial(Paced, 0.0, max_num_seqs=3))
    await services.benchmarks.start(wish("small", levels=(), repetitions=1))
    assert [level["concurrency"] for level in (await ended(services)).rows[0].levels] == [1, 2, 3]


async def test_who_waits_in_line_is_told_beforehand_and_who_would_be_turned_away_refused(
    services: Services, shelf: Shelf
) -> None:
    await shelf.put(services, "narrow", partial(Paced, max_num_seqs=2))
    most = 2 + services.settings.max_queue
    await services.benchmarks.start(wish("narrow", levels=(1, 3), repetitions=1))
    told: set[tuple[int, bool]] = set()
    while (status := services.benchmarks.last) is not None and status.is_running:
        told.add((status.num_slots, status.waits_in_line))
        await asyncio.sleep(STEP_S)
    assert told <= {(0, False), (2, True)} and (2, True) in told
    await services.benchmarks.start(wish("narrow", levels=(most + 1,)))
    refused = await ended(services)
    assert refused.state is BenchState.FAILED and f"Give at most {most} at once" in refused.reason
    await services.benchmarks.start(wish("narrow", levels=(1, 2)))
    assert not (await ended(services)).waits_in_line


async def test_two_models_take_turns(services: Services, shelf: Shelf) -> None:
    turns: list[str] = []

    class Noted(ScriptedBackend):
        def __init__(self, name: str) -> None:
            super().__init__("Yes.")
            self._name = name

        def execute(self, batch: Batch) -> StepOutput:
            if turns[-1:] != [self._name]:
                turns.append(self._name)
            return super().execute(batch)

    for name in ("one", "other"):
        await shelf.put(services, name, partial(Noted, name))
    await services.benchmarks.start(wish("one", "other"))
    rows = (await ended(services)).rows
    assert turns == ["one", "other"] * 2
    assert [row.model_id for row in rows] == ["one", "other"]
    assert rows[0].run_id == rows[1].run_id
    assert [each.concurrency for each in beside(*rows)] == [1, 4]
    assert [each.run_id for each in await services.benchmarks.history()] == [rows[0].run_id] * 2


async def test_whoever_chats_goes_first_and_the_level_says_that_it_was_disturbed(
    services: Services, shelf: Shelf, user_id: str
) -> None:
    gate = Gate()
    await shelf.put(services, "busy", lambda: ScriptedBackend("Yes.", gate=gate, max_num_seqs=2))
    await services.benchmarks.start(wish("busy", levels=(2,), repetitions=1, max_tokens=200))
    while services.benchmarks.last is None or services.benchmarks.last.concurrency != 2:
        await asyncio.to_thread(gate.wait_until_held)
        gate.allow()
    sent = await services.chat.send(user_id, None, "Me?", model_id="busy")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    while generation.text != "Yes.":
        await asyncio.to_thread(gate.wait_until_held)
        gate.allow()
    assert services.benchmarks.last.num_done == 0       # both wait for their turn, though they were first
    gate.open()
    level = Level.from_values((await ended(services)).rows[0].levels[0])
    assert level.num_others_tokens >= len("Yes.") and level.is_disturbed


async def test_one_at_a_time_and_stopping_keeps_nothing(services: Services, shelf: Shelf) -> None:
    gate = Gate()
    await shelf.put(services, "held", lambda: ScriptedBackend("Yes.", gate=gate))
    begun = await services.benchmarks.start(wish("held"))
    with pytest.raises(Conflict, match="being measured already"):
        await services.benchmarks.start(wish("parrot"))
    await until(lambda: "held" in services.engines.loaded())
    gate.allow(2)
    await services.benchmarks.stop()
    gate.open()
    assert services.benchmarks.get(begun.id).state is BenchState.STOPPED
    assert await services.benchmarks.history() == []
    await until(lambda: not services.engines.loaded()["held"].metrics().num_running)
    await services.benchmarks.start(wish("held", repetitions=1))
    assert (await ended(services)).state is BenchState.DONE
    with pytest.raises(NotFound):
        services.benchmarks.get(begun.id)


async def test_stopped_before_it_began_it_is_stopped(services: Services) -> None:
    assert services.benchmarks.last is None
    await services.benchmarks.start(wish("parrot"))
    await services.benchmarks.stop()
    assert (await ended(services)).state is BenchState.STOPPED


async def test_what_fails_says_why(services: Services, shelf: Shelf) -> None:
    def broken() -> ScriptedBackend:
        raise ModelLoadError(Told("trial-failed", detail="The file ends too early. Get it again."))

    await shelf.put(services, "broken", broken)
    await shelf.put(services, "breaks", lambda: ScriptedBackend("Yes.", fail_at_step=30))
    await services.benchmarks.start(wish("broken"))
    assert (await ended(services)).reason == "The file ends too early. Get it again."
    await services.benchmarks.start(wish("breaks"))
    failed = await ended(services)
    assert (failed.state, bool(failed.reason)) == (BenchState.FAILED, True)
    await services.benchmarks.start(wish("parrot", prompts=Prompts(("x" * 5000,), "given")))
    assert "None of the prompts fits into the model’s 4,096 tokens" in (await ended(services)).reason
    assert await services.benchmarks.history() == []


async def test_a_model_that_changes_in_between_is_not_measured_on(services: Services, shelf: Shelf) -> None:
    sizes = iter((8, 4))
    gate = Gate()
    await shelf.put(services, "odd", lambda: ScriptedBackend("Yes.", max_num_seqs=next(sizes)))
    await shelf.put(services, "other", lambda: ScriptedBackend("Yes.", gate=gate))
    await services.benchmarks.start(wish("odd", "other"))
    await asyncio.to_thread(gate.wait_until_held)       # it is the other's turn
    await services.engines.unload("odd")
    gate.open()
    assert "loaded anew in between" in (await ended(services)).reason


async def test_a_model_whose_room_somebody_wants_is_given_up(services: Services, shelf: Shelf) -> None:
    gate = Gate()
    await shelf.put(services, "held", lambda: ScriptedBackend("Yes.", gate=gate))
    services.engines.loader = CountingLoader(shelf).load
    services.engines.budget_bytes = SIZE                # room for one
    await services.benchmarks.start(wish("held"))
    while services.benchmarks.last is None or not services.benchmarks.last.concurrency:
        await asyncio.to_thread(gate.wait_until_held)
        gate.allow()
    asked = asyncio.create_task(services.engines.load("parrot"))
    await until(lambda: services.engines.status("held").state is ModelState.DRAINING)
    gate.open()
    await asked
    assert "made room for a model that somebody asked for" in (await ended(services)).reason


@pytest.mark.parametrize(("changed", "field"), [
    ({"model_ids": ()}, "models"), ({"model_ids": ("parrot", "parrot")}, "models"),
    ({"levels": (0,)}, "levels"), ({"levels": (1000,)}, "levels"), ({"levels": tuple(range(1, 20))}, "levels"),
    ({"max_tokens": 1}, "max_tokens"), ({"repetitions": 0}, "repetitions"), ({"repetitions": 99}, "repetitions"),
    ({"prompts": Prompts((), "given")}, "prompts"), ({"prompts": Prompts(("half \ud83d",), "given")}, "prompts"),
    ({"prompts": Prompts(("x" * 10**6,), "given")}, "prompts"), ({"levels": (-1, 10**9)}, "levels"),
    ({"max_tokens": 10**9}, "max_tokens"), ({"max_tokens": True}, "max_tokens"),
    ({"prompts": Prompts(("x",) * 65, "given")}, "prompts"),
])
async def test_a_wish_that_cannot_be_is_refused_by_its_field(
    services: Services, changed: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await services.benchmarks.start(wish("parrot", **changed))
    assert refused.value.field == field


async def test_a_model_elsewhere_that_says_nothing_is_told(services: Services) -> None:
    upstream = Upstream(fault="no words")
    try:
        await services.connections.set_allowed(True)
        await services.connections.add(Entered(name="Office", base_url=upstream.url))
        await services.benchmarks.start(wish("big"))
        assert "without a word" in (await ended(services)).reason
        upstream.fault = ""
        await services.benchmarks.start(wish("big"))
        assert (await ended(services)).state is BenchState.DONE
    finally:
        upstream.close()


async def test_what_people_asked_is_not_sent_elsewhere_and_few_ask_at_once(
    services: Services, upstream: Upstream, shelf: Shelf
) -> None:
    await services.connections.set_allowed(True)
    await services.connections.add(Entered(name="Office", base_url=upstream.url))
    own = Prompts(("What did the doctor say?",), "own")
    await services.benchmarks.start(wish("big", prompts=own, levels=(), repetitions=1))
    status = await ended(services)
    assert (status.state, status.prompts_source) == (BenchState.DONE, "built-in")
    assert "doctor" not in str(upstream.asked)
    assert [level["concurrency"] for level in status.rows[0].levels] == [1, 2, 4, 8]
    assert status.rows[0].kv_type == ""
    await shelf.put(services, "near", Paced)
    await services.benchmarks.start(wish("near", prompts=own, levels=(1,)))
    assert (await ended(services)).prompts_source == "own"


async def test_what_embeds_or_is_not_there_is_refused(services: Services, shelf: Shelf) -> None:
    await shelf.put_embedder(services, "vectors", ScriptedEmbedder)
    with pytest.raises(Conflict, match="makes embeddings"):
        await services.benchmarks.start(wish("vectors"))
    with pytest.raises(ModelNotFound):
        await services.benchmarks.start(wish("unicorn"))


async def test_ones_own_questions_are_the_first_of_ones_oldest_chats(services: Services, user_id: str) -> None:
    assert await services.benchmarks.own_prompts(user_id) == Prompts(BUILT_IN, "built-in")
    other = (await services.accounts.add_user("Ben", "correct horse battery")).id
    for who, text in ((other, "Mine alone"), *((user_id, f"Question {number // 2}?") for number in range(12))):
        sent = await services.chat.send(who, None, text)
        generation = services.generations.get(sent.answer_id)
        assert generation is not None
        async for _ in generation.follow():
            pass
        await services.chat.send(who, sent.conversation_id, "And then?")
    own = await services.benchmarks.own_prompts(user_id)
    assert own == Prompts(tuple(f"Question {number}?" for number in range(4)), "own")


def test_prompts_are_lines_or_parts_between_dashes() -> None:
    assert prompts_in("One?\n\n  Two?  \n") == ("One?", "Two?")
    assert prompts_in("One,\nwith two lines\n---\n\nTwo?\n ---\n") == ("One,\nwith two lines", "Two?")
    assert prompts_in(" \n") == ()
    assert Prompts(("a", "b"), "given").hash != Prompts(("ab",), "given").hash


async def test_costs_are_kept(services: Services) -> None:
    assert await services.benchmarks.costs() == Costs()
    await services.benchmarks.set_costs(Costs(watts=90, kwh_price=0.32))
    assert await services.benchmarks.costs() == Costs(watts=90, kwh_price=0.32)


async def test_progress_is_announced_but_not_for_each_answer(
    services: Services, steady: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_run, "ANNOUNCE_INTERVAL_S", 0.0)
    heard: list[BenchStatus] = []

    def hear(change: Any) -> None:
        if change.kind == "benchmarks" and services.benchmarks.last is not None:
            heard.append(services.benchmarks.last)

    services.changes.watch(None, hear)
    await services.benchmarks.start(wish(steady))
    await ended(services)
    await turn()
    await turn()
    assert [each.num_done for each in heard] == sorted(each.num_done for each in heard)
    assert {each.state for each in heard} >= {BenchState.LOADING, BenchState.MEASURING, BenchState.DONE}
    assert any(each.about_s and each.num_done == 0 for each in heard)       # before any of it is measured
    assert any(each.rows and each.is_running for each in heard)


@pytest.mark.parametrize("levels", [
    [], [{}], [{"concurrency": 1}], [1], [None], [{"concurrency": 1, "tokens_per_s": 3}],
])
async def test_what_another_version_kept_otherwise_is_passed_over(services: Services, levels: list[Any]) -> None:
    row = run_of("steady")
    odd = again(row, 0.5, days=1, levels=levels)
    no_number = dict.fromkeys(("median", "low", "high"))
    worse = again(row, 0.5, days=2, levels=[row.levels[0] | {"tokens_per_s": no_number}])
    newer = again(row, 0.5, days=3, levels=[each | {"of_a_newer_version": 1} for each in row.levels])
    await services.db.run(benchmarks.add, [row, odd, worse, newer])
    history = await services.benchmarks.history()
    assert [each.id for each in history] == [newer.id, row.id]
    found, _ = await services.benchmarks.since(history)
    assert found is not None and found.before.id == row.id


async def test_history_is_newest_first(services: Services) -> None:
    row = run_of("steady")
    later = again(row, 0.5, days=2)
    await services.db.run(benchmarks.add, [row, later])
    history = await services.benchmarks.history()
    assert history[0].id == later.id
    found, none = await services.benchmarks.since(history)
    assert found is not None and found.before.id == history[1].id and none is None
