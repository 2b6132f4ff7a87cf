"""One measurement of one or two models, as people use them: so many clients at once, each asking again as soon as it
has its answer. Made by `BenchmarkService`, on the event loop.

Answers are greedy and all of the same length, the end of a text ignored, so that two runs or two models do the same
work. Every prompt is cold: a cache key of its own keeps it from what was computed before. Requests have the lowest
priority: whoever chats goes first, and a level that was disturbed so is marked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from app.errors import Conflict, InvalidInput
from app.language import Said
from app.services.bench_estimate import Pace
from app.services.bench_figures import AnswerTimes, Level, Round, default_levels, num_answers
from app.services.bench_prompts import hash_of
from app.services.bench_status import BenchState, BenchStatus, BenchWish
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry, ModelState
from engine.engine import ChatMessage, ChatRequest, Engine, EngineInfo
from engine.hardware import Machine, inspect_machine
from engine.params import SamplingParams
from store.tables import Benchmark, Model, new_id, now

PRIORITY = 20                   # after everybody's own, and after titles
USER = "benchmark"              # of its requests, in the engine's queue
WARM_UP_TOKENS = 16
ANNOUNCE_INTERVAL_S = 0.3
MOST_ELSEWHERE = 8


class BenchRun:
    """Its own task alone changes it; `status` is what others see."""

    def __init__(self, wish: BenchWish, models: Sequence[Model], engines: EngineRegistry, changes: Changes) -> None:
        names = tuple(each.name for each in models)
        self.status = BenchStatus(
            new_id(), BenchState.LOADING, wish.model_ids, names, wish.repetitions, model_name=names[0],
            prompts_source=wish.prompts.source,
        )
        self._wish = wish
        self._models = models
        self._engines = engines
        self._changes = changes
        self._machine: Machine | None = None
        self._infos: dict[str, EngineInfo] = {}                         # by model
        self._rounds: dict[tuple[str, int], list[Round]] = {}           # by model and level
        self._durations_s: dict[tuple[str, int], float] = {}            # of the last round, likewise
        self._paces: dict[str, Pace] = {}                               # by model, once it has warmed up
        self._prompts = wish.prompts.texts
        self._levels: tuple[int, ...] = ()
        self._num_asked = 0
        self._round_began_s = 0.0
        self._announced_s = 0.0

    def status_now(self) -> BenchStatus:
        return replace(self.status, about_s=self._about_s()) if self.status.is_running else self.status

    async def measure(self) -> list[Benchmark]:
        """A row for each model. A repetition of one model follows one of the other: what changes on this machine meets
        both. Raises AppError or EngineError.
        """
        self._machine = await asyncio.to_thread(inspect_machine)
        for model in self._models:
            async with self._engines.acquire(model.id) as engine:
                self._infos[model.id] = engine.info
                self._prompts = await _fitting(engine, self._prompts, self._wish.max_tokens)
        self._levels = self._wish.levels or default_levels(min(map(_usual_clients, self._infos.values())))
        self._check_line()
        per_turn = sum(num_answers(level, len(self._prompts)) for level in self._levels)
        num_all = per_turn * self._wish.repetitions * len(self._models)
        slots = [each.max_num_seqs for each in self._infos.values() if not each.is_elsewhere]
        self.status = replace(
            self.status, state=BenchState.MEASURING, num_all=num_all,
            num_slots=min(slots, default=0), most_clients=max(self._levels),
        )
        for repetition in range(1, self._wish.repetitions + 1):
            for model in self._models:
                self.status = replace(self.status, model_name=model.name, repetition=repetition, concurrency=0)
                self._announce()
                async with self._engines.acquire(model.id) as engine:
                    if engine.info != self._infos[model.id]:
                        raise Conflict(Said("bench-changed", model=model.name))
                    await self._warm_up(engine)
                    for level in self._levels:
                        await self._round(engine, level)
        return self._rows()

    def _check_line(self) -> None:
        """Beyond what may wait, requests are turned away: that would be no measurement. Raises InvalidInput."""
        num_waiting = self._engines.limits.max_queue
        for info in self._infos.values():
            if not info.is_elsewhere and max(self._levels) > info.max_num_seqs + num_waiting:
                raise InvalidInput(
                    Said("bench-levels-beyond", model=info.name, slots=info.max_num_seqs, waiting=num_waiting,
                         most=info.max_num_seqs + num_waiting),
                    field="levels",
                )

    async def _warm_up(self, engine: Engine) -> None:
        """What happens once after a load is no part of the figures: memory that grows, graphs that are made. It tells
        about how long all will take.
        """
        clients = min(self._levels[-1], engine.info.max_num_seqs)
        num_tokens = min(WARM_UP_TOKENS, self._wish.max_tokens)
        alone = await self._ask(engine, self._prompts[0], num_tokens)
        together: list[AnswerTimes] = []

        async def client(text: str) -> None:
            together.append(await self._ask(engine, text, num_tokens))

        await _together(client(text) for text in self._texts(clients))
        self._paces[engine.info.model_id] = Pace.of(alone, together)

    async def _round(self, engine: Engine, level: int) -> None:
        todo = iter(self._texts(num_answers(level, len(self._prompts))))
        answers: list[AnswerTimes] = []

        async def client() -> None:
            for text in todo:
                self._check_room(engine.info)
                answers.append(await self._ask(engine, text, self._wish.max_tokens))
                self.status = replace(self.status, num_done=self.status.num_done + 1)
                self._announce(at_most_every_s=ANNOUNCE_INTERVAL_S)

        self.status = replace(self.status, concurrency=level)
        self._announce()
        written, guessed = self._written(), engine.metrics().accepted_tokens_total
        began_s = self._round_began_s = time.perf_counter()
        await _together(client() for _ in range(level))
        took_s = time.perf_counter() - began_s
        others = self._written() - written - sum(each.num_tokens for each in answers)
        guessed = engine.metrics().accepted_tokens_total - guessed
        measured = Round.of(answers, took_s, max(0, others), guessed)
        key = (engine.info.model_id, level)
        self._durations_s[key] = took_s
        self._rounds.setdefault(key, []).append(measured)
        self.status = replace(self.status, tokens_per_s=measured.tokens_per_s, rows=tuple(self._rows()))

    async def _ask(self, engine: Engine, text: str, max_tokens: int) -> AnswerTimes:
        self._num_asked += 1
        request = replace(
            _request(text, max_tokens), cache_key=f"{self.status.id} {self._num_asked}", is_private=True,
            user=USER, priority=PRIORITY,
        )
        times_s: list[float] = []
        usage = None
        asked_s = time.perf_counter()
        async with aclosing(engine.chat(request)) as deltas:
            async for delta in deltas:
                if delta.num_tokens:
                    times_s.append(time.perf_counter())
                usage = delta.usage or usage
        if usage is None or not times_s:        # of a server elsewhere, that is
            raise Conflict(Said("bench-empty", model=engine.info.name))
        return AnswerTimes(asked_s, tuple(times_s), usage.completion_tokens, usage.prompt_tokens, usage.cached_tokens)

    def _check_room(self, info: EngineInfo) -> None:
        """Somebody waits for the memory of this model: theirs comes first."""
        if self._engines.status(info.model_id).state is ModelState.DRAINING:
            raise Conflict(Said("bench-gave-way", model=info.name))

    def _texts(self, num_texts: int) -> list[str]:
        """In turn, from the first on: each round asks the same."""
        return [self._prompts[index % len(self._prompts)] for index in range(num_texts)]

    def _written(self) -> int:
        """Tokens, by all models in memory, for whomever."""
        return sum(each.metrics().output_tokens_total for each in self._engines.loaded().values())

    def _announce(self, *, at_most_every_s: float = 0.0) -> None:
        """Each round, but not each answer, of which there may be hundreds a second."""
        now_s = time.perf_counter()
        if now_s - self._announced_s >= at_most_every_s:
            self._announced_s = now_s
            self._changes.announce_all(Change("benchmarks"))

    def _about_s(self) -> float | None:
        """How long it still takes, once a model has warmed up: by what was measured, else by that."""
        if not self._paces:
            return None
        due_s = sum(
            self._round_s(model.id, level)
            * (self._wish.repetitions - len(self._rounds.get((model.id, level), ())))
            for model in self._models for level in self._levels
        )
        in_round_s = time.perf_counter() - self._round_began_s if self.status.concurrency else 0.0
        return max(0.0, due_s - in_round_s)

    def _round_s(self, model_id: str, level: int) -> float:
        """Of a model that has not warmed up yet, as the other's."""
        measured_s = self._durations_s.get((model_id, level))
        if measured_s is not None:
            return measured_s
        known_id = model_id if model_id in self._paces else next(iter(self._paces))
        expected_s = self._expected_s(known_id, level)
        known_s = {each: took_s for (model, each), took_s in self._durations_s.items() if model == known_id}
        off_by = sum(known_s.values()) / sum(self._expected_s(known_id, each) for each in known_s) if known_s else 1.0
        return known_s.get(level, expected_s * off_by)

    def _expected_s(self, model_id: str, level: int) -> float:
        num_at_once = min(level, self._infos[model_id].max_num_seqs)
        num_due = num_answers(level, len(self._prompts))
        return self._paces[model_id].round_s(num_at_once, num_due, self._wish.max_tokens)

    def _rows(self) -> list[Benchmark]:
        """Of each model that has been measured, as far as it has. A moment apart, so that they keep their order."""
        at = now()
        return [
            self._row(model, measured, at + timedelta(microseconds=index))
            for index, model in enumerate(self._models)
            if (measured := [level for level in self._levels if (model.id, level) in self._rounds])
        ]

    def _row(self, model: Model, levels: Sequence[int], at: datetime) -> Benchmark:
        assert self._machine is not None
        info, wish, machine = self._infos[model.id], self._wish, self._machine
        return Benchmark(
            run_id=self.status.id, created_at=at, app_version=version("inglenook"),
            machine=f"{machine.processor}, {machine.num_cores} cores",
            model_id=model.id, model_name=model.name, model_version=info.version, quantisation=info.quantisation,
            backend=info.backend, device=info.device, gpu_layers=info.gpu_layers, num_threads=info.num_threads,
            context_tokens=info.max_model_len, max_num_seqs=info.max_num_seqs, kv_type=info.kv_type,
            prompts_hash=hash_of(self._prompts), prompts_source=wish.prompts.source, num_prompts=len(self._prompts),
            max_tokens=wish.max_tokens, repetitions=wish.repetitions,
            levels=[Level.of(level, self._rounds[model.id, level]).to_values() for level in levels],
        )


def _request(text: str, max_tokens: int) -> ChatRequest:
    params = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    return ChatRequest(messages=(ChatMessage(role="user", content=text),), params=params)


def _usual_clients(info: EngineInfo) -> int:
    """At once, where nobody says how many: what more of them cost elsewhere, nobody knows."""
    return min(info.max_num_seqs, MOST_ELSEWHERE) if info.is_elsewhere else info.max_num_seqs


async def _fitting(engine: Engine, texts: Sequence[str], max_tokens: int) -> tuple[str, ...]:
    """Those whose answer fits into the model's window beside them. Raises InvalidInput where none does."""
    room = engine.info.max_model_len - max_tokens
    found = tuple([text for text in texts if await engine.count_tokens(_request(text, max_tokens)) <= room])
    if not found:
        raise InvalidInput(Said("bench-too-long", tokens=engine.info.max_model_len), field="prompts")
    return found


async def _together(work: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """To the end of all; the first that fails ends the others. Raises what that one raised, not a group of it."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
