"""KV kept as q8_0: half the memory, and as with plain KV it changes no text who shares a step and what was cached.

Its rounding tells: texts are compared with those of q8_0, and only loosely with those of f16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.errors import ModelLoadError
from engine.gguf import read_header
from engine.load import LoadLimits, ModelSpec, load_engine
from tests.engine.driving import Driver
from tests.engine.sameness import STORY, Said, alone, ask
from tests.engine.tiny_gguf import write_tiny_gguf

TOKEN_BYTES = 2 * 2 * 34             # layers, K and V, one head of 32 numbers with its scale
Make = Callable[..., LlamaCppBackend]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "wide.gguf", heads=2, kv_heads=1)


@pytest.fixture
def make(path: Path) -> Iterator[Make]:
    made: list[LlamaCppBackend] = []

    def make_backend(kv_type: str = "q8_0") -> LlamaCppBackend:
        made.append(LlamaCppBackend(LlamaCppConfig(
            path=path, max_model_len=2048, max_num_seqs=8, cache_bytes=4 << 20, num_threads=1,
            max_num_batched_tokens=256, kv_type=kv_type,
        )))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()


def test_takes_34_bytes_for_32_numbers(make: Make, path: Path) -> None:
    backend = make()
    assert read_header(path).kv_bytes_per_token("q8_0") == TOKEN_BYTES
    assert backend.info.kv_bytes == 8 * 2048 * TOKEN_BYTES
    assert backend.info.num_blocks == (4 << 20) // (16 * TOKEN_BYTES)
    assert backend.info.prefix_cache


def test_a_cached_prefix_says_the_same_as_a_computed_one(make: Make) -> None:
    asked = ask("r", STORY + "And then?")
    drive = Driver(make())
    drive.run(ask("before", STORY + "Who came?"))
    drive.run(asked)
    assert drive.cached["r"] == 85
    assert drive.output_ids("r") == ids(alone(make, asked))["r"]


def test_eight_at_once_say_what_each_says_alone(make: Make) -> None:
    asked = [ask(f"r{n}", f"{n} times the {'x' * n}") for n in range(8)]
    drive = Driver(make())
    drive.run(*asked)
    assert len(drive.steps) == 12
    assert ids(drive.tokens) == ids(alone(make, *asked))


def test_moves_to_a_larger_context(make: Make) -> None:
    runs, long = ask("runs", STORY, max_tokens=40), ask("long", STORY * 13, max_tokens=3)
    drive = Driver(make())
    drive.submit(runs)
    for _ in range(5):
        drive.step()
    before = drive.backend.held_bytes
    drive.run(long)
    assert drive.backend.held_bytes > before
    assert ids(drive.tokens) == ids(alone(make, runs, long))


def test_is_near_to_f16_and_not_the_same(make: Make) -> None:
    first: dict[str, float] = {}
    for kv_type in ("f16", "q8_0"):
        drive = Driver(make(kv_type))
        drive.run(ask("r", STORY, max_tokens=1))
        logprob = drive.tokens["r"][0].logprob
        assert logprob is not None
        first[kv_type] = logprob
    assert first["f16"] != first["q8_0"]
    assert np.isclose(first["f16"], first["q8_0"], atol=0.2)


def ids(said: Said) -> dict[str, list[int]]:
    return {request_id: [token.token_id for token in tokens] for request_id, tokens in said.items()}


async def test_a_model_whose_heads_are_no_whole_blocks_is_refused_in_words(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "narrow.gguf")
    with pytest.raises(ModelLoadError) as refused:
        await load_engine(ModelSpec("narrow", "Narrow", path, "1"), LoadLimits(kv_type="q8_0"))
    assert str(refused.value) == (
        "narrow.gguf has attention heads of 16 numbers, and q8_0 keeps 32 at a time. Set kv_type to f16."
    )


@pytest.mark.slow
async def test_the_loader_plans_and_tries_with_it(path: Path) -> None:
    limits = LoadLimits(context_tokens=512, max_num_seqs=2, cache_bytes=1 << 20, kv_type="q8_0")
    engine = await load_engine(ModelSpec("wide", "Wide", path, "1"), limits)
    assert engine.info.kv_type == "q8_0"
    assert engine.info.kv_bytes == 2 * 512 * TOKEN_BYTES
    await engine.close()
