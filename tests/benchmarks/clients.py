"""Many streams of completions at once, from processes of their own: a client in one alone would be what is measured.

Used by benchmarks of the whole product over HTTP (`api`, `gpu_http`); one stream is `cpu.client`'s.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Final

from tests.benchmarks.cpu.client import complete

Prompt = list[int] | str

START_S: Final = 60.0           # at most, until all processes are there


@dataclass(frozen=True, slots=True)
class Load:
    """What all streams of one run were given."""

    num_tokens: int
    num_pieces: int             # events with text
    elapsed_s: float
    first_token_s: list[float]  # of each, from its asking on

    @property
    def tokens_per_s(self) -> float:
        return self.num_tokens / self.elapsed_s

    @property
    def pieces_per_token(self) -> float:
        return self.num_pieces / self.num_tokens


def stream_at_once(
    port: int, key: str, model_id: str, prompts: Sequence[Prompt], max_tokens: int, *, num_processes: int
) -> Load:
    """One stream for each prompt, all begun together; the processes are there, with all that they import, before the
    clock starts.
    """
    parts = [list(prompts[first::num_processes]) for first in range(num_processes)]
    spawning = multiprocessing.get_context("spawn")
    all_are_there = spawning.Barrier(num_processes + 1)
    with spawning.Pool(num_processes, initializer=_be_there, initargs=(all_are_there,)) as pool:
        all_are_there.wait(START_S)
        begun_s = time.perf_counter()
        found = pool.starmap(_stream, [(port, key, model_id, part, max_tokens) for part in parts])
        elapsed_s = time.perf_counter() - begun_s
    streams = [each for part in found for each in part]
    num_tokens, num_pieces = (sum(each[place] for each in streams) for place in (0, 1))
    return Load(int(num_tokens), int(num_pieces), elapsed_s, [each[2] for each in streams])


def _be_there(all_are_there: Barrier) -> None:
    """To find this function here, a process has imported this module."""
    all_are_there.wait(START_S)


def _stream(
    port: int, key: str, model_id: str, prompts: list[Prompt], max_tokens: int
) -> list[tuple[int, int, float]]:
    async def all_of_them() -> list[tuple[int, int, float]]:
        asked = (complete(port, key, prompt, max_tokens, model=model_id) for prompt in prompts)
        answers = await asyncio.gather(*asked)
        return [(each.num_tokens, len(each.token_times_s), each.time_to_first_token_s) for each in answers]

    return asyncio.run(all_of_them())
