"""Vectors by llama.cpp, against numpy's from the same weights, however the inputs are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from engine.backends.llama_cpp.embedder import EmbedderConfig, LlamaCppEmbedder
from engine.backends.llama_cpp.model import RunOptions
from engine.embedding_worker import Vectors, normalised
from engine.errors import EngineFailed, ModelLoadError
from engine.gguf import read_header
from tests.engine.reference_embedding import embed as reference
from tests.engine.tiny_bert import HEADS, vocabulary_tokens, write_tiny_bert
from tests.engine.tiny_gguf import write_tiny_gguf

TEXTS = ("the quick brown fox jumps over the lazy dog.", "dog", "a fox, a dog")
TOLERANCE = 2e-3                    # the library keeps KV and its table of GELU in 16 bits
SAME = 1e-5

Make = Callable[..., LlamaCppEmbedder]
WRITERS: dict[str, Callable[..., Path]] = {"bert": write_tiny_bert, "llama": write_tiny_gguf}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[LlamaCppEmbedder] = []

    def make_embedder(kind: str = "bert", pooling: str = "mean", **changes: Any) -> LlamaCppEmbedder:
        path = WRITERS[kind](tmp_path / f"{kind}-{pooling}.gguf", pooling=gguf.PoolingType[pooling.upper()])
        config = EmbedderConfig(
            path=path, pooling=read_header(path).pooling, max_model_len=512, max_num_batched_tokens=256,
            bytes_per_token=100, num_threads=1,
        )
        made.append(LlamaCppEmbedder(replace(config, **changes)))
        return made[-1]

    yield make_embedder
    for embedder in made:
        embedder.close()


def tokens_of(embedder: LlamaCppEmbedder, *texts: str) -> list[list[int]]:
    return [embedder.tokenizer.encode(text, add_special=True, parse_special=True) for text in texts]


def vectors_of(embedder: LlamaCppEmbedder, inputs: list[list[int]]) -> Vectors:
    vectors = embedder.embed(inputs)
    assert vectors is not None
    return normalised(vectors)


@pytest.mark.parametrize("flash_attention", [True, False])
@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_vectors_are_those_that_numpy_computes(
    make: Make, tmp_path: Path, kind: str, pooling: str, flash_attention: bool
) -> None:
    embedder = make(kind, pooling, options=RunOptions(flash_attention=flash_attention))
    inputs = tokens_of(embedder, *TEXTS)
    for vector, token_ids in zip(vectors_of(embedder, inputs), inputs, strict=True):
        expected = reference(tmp_path / f"{kind}-{pooling}.gguf", token_ids, pooling, num_heads=HEADS)
        assert np.abs(vector - expected).max() < TOLERANCE


def test_poolings_differ(make: Make) -> None:
    token_ids = tokens_of(make(), TEXTS[0])
    first, second, third = (vectors_of(make(pooling=pooling), token_ids)[0] for pooling in ("mean", "cls", "last"))
    assert min(np.abs(first - second).max(), np.abs(second - third).max(), np.abs(third - first).max()) > 10 * TOLERANCE


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_among_others_an_input_has_the_vector_that_it_has_alone(make: Make, kind: str) -> None:
    embedder = make(kind, "last")
    inputs = tokens_of(embedder, *TEXTS) * 2
    together = vectors_of(embedder, inputs)
    for index, token_ids in enumerate(inputs):
        assert np.abs(vectors_of(embedder, [token_ids])[0] - together[index]).max() < TOLERANCE
    assert np.abs(together[:3] - together[3:]).max() < TOLERANCE


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_an_input_longer_than_a_step_is_computed_whole_and_its_memory_given_back(
    make: Make, tmp_path: Path, kind: str
) -> None:
    embedder = make(kind)
    usual = embedder.held_bytes
    token_ids = [5 + index % 60 for index in range(512)]
    vector = vectors_of(embedder, [token_ids])[0]
    expected = reference(tmp_path / f"{kind}-mean.gguf", token_ids, "mean", num_heads=HEADS)
    assert np.abs(vector - expected).max() < TOLERANCE
    assert embedder.held_bytes == embedder.info.kv_bytes == 2 * usual
    vectors_of(embedder, [token_ids[:5]])
    assert embedder.held_bytes == usual


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_a_long_input_that_nobody_wants_any_more_is_given_up_in_the_middle(make: Make, kind: str) -> None:
    embedder = make(kind)
    asked: list[bool] = []

    def is_wanted() -> bool:
        asked.append(len(asked) < 10)
        return asked[-1]

    before = vectors_of(embedder, [[5, 6]])
    assert embedder.embed([[5] * 400], is_wanted) is None
    assert asked == [True] * 10 + [False]
    assert np.abs(vectors_of(embedder, [[5, 6]]) - before).max() < SAME
    assert np.isfinite(vectors_of(embedder, [[5] * 400])).all()      # and nobody is asked any more


def test_a_question_that_raises_is_heard(make: Make) -> None:
    def fail() -> bool:
        raise EngineFailed("The loop is gone.")

    with pytest.raises(EngineFailed, match="The loop is gone"):
        make().embed([[5] * 400], fail)


def test_word_pieces_and_what_goes_around_a_text(make: Make) -> None:
    embedder, tokens = make(), vocabulary_tokens()
    (token_ids,) = tokens_of(embedder, "The foxes jumped.")
    assert [tokens[token] for token in token_ids] == [
        "[CLS]", "▁the", "▁fox", "e", "s", "▁jump", "ed", "▁.", "[SEP]",
    ]


@pytest.mark.parametrize("kind, first, last", [("bert", "[CLS]", "[SEP]"), ("llama", None, "<|im_end|>")])
def test_what_goes_around_a_text_goes_around_a_long_one_once(
    make: Make, kind: str, first: str | None, last: str
) -> None:
    """A long text is encoded in pieces, cut before markers that it may hold."""
    embedder = make(kind)
    marker = last
    long = ("the dog " * 200 + marker) * 2 + "the fox"
    (token_ids,), (short,) = tokens_of(embedder, long), tokens_of(embedder, "the dog ")
    special = {name: token for token, name in embedder.tokenizer.special_tokens.items()}
    assert token_ids[-1] == short[-1] == special[last]
    assert token_ids.count(special[last]) == 3          # two are the text's own
    if first:
        assert token_ids[0] == special[first]
        assert token_ids.count(special[first]) == 1


def test_no_input_may_have_more_tokens_than_the_model_has_positions(make: Make) -> None:
    assert make(max_model_len=100_000).info.max_model_len == 512


def test_a_file_that_the_library_refuses(make: Make, tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelLoadError, match=r"llama\.cpp refuses bad\.gguf"):
        make(path=tmp_path / "bad.gguf")
