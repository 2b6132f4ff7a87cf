"""Hundreds of random runs over both kinds of memory: every request that ends has said what it would have said alone.

The next token depends on all tokens before it, read back from memory: one wrong block, anywhere, changes a text. After
every step everything is recounted. `FUZZ_SEED=17` runs one seed again, `FUZZ_RUNS=5000` many.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_memory import PooledMemory
from engine.disk_cache import blocks
from engine.disk_cache.cache import DiskCache
from engine.disk_cache.folder import BlockFolder
from engine.params import SamplingParams
from engine.request import FinishReason, Request
from tests.engine.driving import Driver, request
from tests.engine.guessing import Guesser

RUNS = int(os.environ.get("FUZZ_RUNS", "200"))
STEPS_A_RUN = 60
LETTERS = b"abcdefg"


def next_token(token_ids: Sequence[int], num_prompt_tokens: int) -> int:
    """A letter, or once in 67 the end of the turn (258)."""
    value = crc32(bytes(token_id % 256 for token_id in token_ids))
    return 258 if value % 67 == 0 else LETTERS[value % len(LETTERS)]


def said_alone(asked: Request, window: int) -> tuple[list[int], FinishReason]:
    token_ids = list(asked.prompt_token_ids)
    while True:
        token_id = next_token(token_ids, 0)
        num_output = len(token_ids) - len(asked.prompt_token_ids)
        if token_id == 258 and not asked.params.ignore_eos:
            return token_ids[len(asked.prompt_token_ids):], FinishReason.STOP
        token_ids.append(token_id)
        if num_output + 1 == asked.max_tokens or len(token_ids) == window:
            return token_ids[len(asked.prompt_token_ids):], FinishReason.LENGTH


class Run:
    """One random engine and one random crowd."""

    def __init__(self, seed: int, disk: SteppedDiskCache | None = None) -> None:
        self.random = rng = random.Random(seed)
        self.disk = disk
        self.shape: dict[str, Any] = {
            "memory": rng.choice(["paged", "pooled"]),
            "block_size": rng.choice([1, 2, 4, 8, 16]),
            "num_blocks": rng.choice([6, 10, 16, 24, 60]),
            "max_num_seqs": rng.choice([1, 2, 4, 8]),
            "max_num_batched_tokens": rng.choice([1, 5, 17, 40, 100]),
            "max_model_len": rng.choice([20, 60, 1000]),
            "prefix_cache": rng.random() < 0.9,
            "can_speculate": rng.random() < 0.7,
            "num_tokens_ahead": rng.choice([0, 0, 1, 5]),
            "max_steps": rng.choice([1, 1, 3, 8]),
        }
        self.now_s = 0.0
        self._load()
        self.window = self.backend.info.max_sequence_tokens
        self.asked: dict[str, Request] = {}
        self.texts = [bytes(rng.choices(LETTERS, k=rng.randint(1, self.window // 2)))]   # prompts begin like these
        self.coverage: Counter[str] = Counter()

    def __call__(self) -> Counter[str]:
        for _ in range(STEPS_A_RUN):
            self._ask_and_abort()
            if self.drive.scheduler.has_work:
                self._step()
            self.now_s += self.random.random() * 10
            if self.disk is not None and self.random.random() < 0.03:
                self._finish()
                self._restart(self.disk)
        self._finish()
        return self.coverage

    def _finish(self) -> None:
        for _ in range(20_000):
            if not self.drive.scheduler.has_work:
                break
            self._step()
        self.drive.check_rest()
        self._check_pool()
        assert self.drive.ended.keys() == self.asked.keys()
        counters = self.drive.scheduler.counters
        self.coverage.update(preemptions=counters.preemptions, cached=counters.cached_prompt_tokens)
        self.coverage.update(accepted=counters.accepted_tokens)
        self.coverage.update(rejected=counters.proposed_tokens - counters.accepted_tokens)

    def _load(self) -> None:
        self.backend = ScriptedBackend(next_token, disk=self.disk, **self.shape)
        self.drive = Driver(self.backend, proposer=self._proposer(), clock_s=lambda: self.now_s)

    def _restart(self, disk: SteppedDiskCache) -> None:
        """All at once, or with what was to be written lost; and some of what is there may have been damaged."""
        ended = self.drive.ended
        if self.random.random() < 0.5:
            self.backend.execute(self.drive.scheduler.drain())
            self.backend.close()
        else:
            disk.crash()
        disk.damage(self.random)
        self._load()
        self.drive.ended = ended
        self.coverage["restarts"] += 1

    def _proposer(self) -> Guesser | None:
        """Prompt lookup, or somebody who knows what comes, but is wrong now and then, or has no idea."""
        rng, wrong, silent = self.random, self.random.choice([0.0, 0.1, 0.9]), self.random.choice([0.0, 0.2])

        def guess(token_ids: list[int]) -> int | None:
            if rng.random() < silent:
                return None
            return rng.choice(LETTERS) if rng.random() < wrong else next_token(token_ids, 0)

        return Guesser(guess) if rng.random() < 0.8 else None

    def _ask_and_abort(self) -> None:
        rng = self.random
        inside = [request_id for request_id in self.asked if request_id not in self.drive.ended]
        if rng.random() < 0.5 and len(inside) < 12:
            base = rng.choice(self.texts)
            prompt = base[: rng.randint(0, len(base))] + bytes(rng.choices(LETTERS, k=rng.randint(1, 12)))
            asked = request(
                f"r{len(self.asked)}",
                list(prompt[: self.window - 1]),
                max_tokens=rng.choice([1, 5, 20, 80]),
                params=SamplingParams(temperature=0.0, ignore_eos=rng.random() < 0.2),
                arrival_s=self.now_s,
                user=rng.choice("xyz"),
                priority=rng.choice([0, 0, 0, 1]),
                cache_key=rng.choice(["", "x", "y"]),
                num_shared_tokens=rng.choice([0, 0, 6, 13, 40]),
            )
            self.asked[asked.request_id] = asked
            self.drive.submit(asked)
        if inside and rng.random() < 0.08:
            self.drive.abort(rng.choice(inside))
            self.coverage["aborts"] += 1

    def _step(self) -> None:
        before = set(self.drive.ended)
        batch = self.drive.step()
        self.drive.scheduler.check_integrity()
        self.coverage["from disk"] += sum(each.num_tokens for each in batch.loaded)
        if self.disk is not None:
            self.disk.work(self.random.choice([0, 0, 1, 2, 20]))
        for request_id in self.drive.ended.keys() - before:
            asked = self.asked[request_id]
            got = self.drive.output_ids(request_id), self.drive.ended[request_id]
            assert got == said_alone(asked, self.window), f"{request_id} said something else"
            self.texts = [*self.texts[-20:], bytes(token % 256 for token in [*asked.prompt_token_ids, *got[0]])]
            self.coverage[f"{self.backend.memory.__class__.__name__} ended"] += 1

    def _check_pool(self) -> None:
        """What can be found is what is parked: nothing is lost, nothing is kept for nobody."""
        if isinstance(self.backend.memory, PooledMemory):
            assert self.backend.memory.parked_blocks == self.drive.scheduler.blocks.cached_blocks


class SteppedDiskCache(DiskCache):
    """Its jobs are done when the test says so, a few at a time: no thread, so that a seed repeats a run."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        super().__init__(folder, limit_bytes, settle_s=0.0)
        self._folder = folder
        self._ledger.survey()

    def start(self) -> None:
        """There is nothing to start."""

    def work(self, num_jobs: int) -> None:
        for _ in range(num_jobs):
            if self._jobs.empty():
                return
            self._work()

    def finish(self, folder: BlockFolder, timeout_s: float) -> bool:
        self.work(1 << 30)
        self._close(folder)
        return True

    def crash(self) -> None:
        """The process is gone, and another has begun: with what is on disk, and nothing else."""
        self.__init__(self._folder, self._ledger._limit_bytes or 0)  # type: ignore[misc]

    def damage(self, rng: random.Random) -> None:
        for path in sorted(self._folder.rglob("*")):
            if path.is_file() and path.name != "about.json" and rng.random() < 0.02:
                data = bytearray(path.read_bytes())
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                path.write_bytes(data[: rng.choice([len(data), len(data) // 2])])


def test_with_a_disk_behind_memory_every_request_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes late, is lost in a crash, damaged, or has to make way."""
    monkeypatch.setattr(blocks, "WAIT_S", 0.0)
    runs = max(1, RUNS // 5)
    coverage: Counter[str] = Counter()
    for seed in range(runs):
        disk = SteppedDiskCache(tmp_path / str(seed), limit_bytes=random.Random(seed).choice([2_000, 10_000, 1 << 20]))
        try:
            coverage += Run(seed, disk)()
        except Exception as error:
            error.add_note(f"Seed {seed}.")
            raise
    print(dict(coverage))
    assert coverage["from disk"] > 20 * runs
    assert coverage["restarts"] > runs


def test_every_request_says_what_it_would_have_said_alone() -> None:
    chosen = os.environ.get("FUZZ_SEED")
    coverage: Counter[str] = Counter()
    for seed in [int(chosen)] if chosen else range(RUNS):
        try:
            coverage += Run(seed)()
        except Exception as error:
            error.add_note(f"FUZZ_SEED={seed} repeats this run.")
            raise
    print(dict(coverage))
    if not chosen:       # the crowd really met what it was sent to meet
        assert coverage["PagedMemory ended"] > 5 * RUNS
        assert coverage["PooledMemory ended"] > 5 * RUNS
        assert coverage["preemptions"] > RUNS / 2
        assert coverage["cached"] > 20 * RUNS
        assert coverage["aborts"] > RUNS
        assert coverage["accepted"] > 5 * RUNS
        assert coverage["rejected"] > 5 * RUNS
