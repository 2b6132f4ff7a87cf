"""KV outside the context: where idle blocks lie, and how states are cut and joined, on blobs of the real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow
from engine.backends.llama_cpp.kv_pool import KvPool
from engine.backends.llama_cpp.kv_state import Bytes, Piece, StateLayout, cut, fill
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.errors import EngineFailed
from tests.engine.tiny_gguf import write_tiny_gguf

SHAPE = ContextShape(num_streams=3, num_cells=256)
PROMPT = list(range(40, 90))


def piece(value: int, num_tokens: int = 16) -> Piece:
    return (np.full((4, num_tokens, 64), value, np.uint8),)


class TestThePool:
    def test_holds_what_was_put_until_it_is_forgotten(self) -> None:
        pool = KvPool()
        pool.put(7, piece(1))
        pool.put(9, piece(2))
        pool.forget([9, 1234])
        assert 7 in pool
        assert 9 not in pool
        assert pool.get(7)[0][0, 0, 0] == 1

    def test_holds_each_block_once(self) -> None:
        pool = KvPool()
        for block_id in (1, 2, 1):
            pool.put(block_id, piece(block_id))
        assert len(pool) == 2
        pool.clear()
        assert len(pool) == 0


class TestAPiece:
    def test_is_cut_with_memory_of_its_own(self) -> None:
        whole = (np.arange(2 * 8 * 3, dtype=np.uint8).reshape(2, 8, 3),)
        part = cut(whole, 2, 5)
        assert np.array_equal(part[0], whole[0][:, 2:5])
        whole[0][:] = 0
        assert part[0].any()

    def test_fills_no_further_than_the_target(self) -> None:
        target = (np.zeros((4, 20, 64), np.uint8),)
        fill(target, [piece(1), piece(2)])
        assert (target[0][:, :16] == 1).all()
        assert (target[0][:, 16:] == 2).all()

    def test_that_is_too_short_is_an_error(self) -> None:
        with pytest.raises(EngineFailed, match="shorter"):
            fill((np.zeros((4, 20, 64), np.uint8),), [piece(1)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NativeModel]:
    path = write_tiny_gguf(tmp_path_factory.mktemp("kv") / "tiny.gguf", heads=2, kv_heads=1)   # q8_0 wants heads of 32
    opened = NativeModel(path, RunOptions())
    yield opened
    opened.close()


@pytest.fixture(params=["f16", "f32", "q8_0"])
def context(model: NativeModel, request: pytest.FixtureRequest) -> Iterator[Context]:
    made = Context(model, SHAPE, num_batch_tokens=64, num_threads=1, kv_type=request.param)
    yield made
    made.close()


def sample_of(context: Context, stream: int, num_tokens: int) -> Bytes:
    context.decode([StreamRow(stream, 0, PROMPT[:num_tokens], num_logits=0)])
    return context.read_stream(stream).copy()


def layout_of(context: Context) -> StateLayout:
    layout = StateLayout.learn(sample_of(context, 0, 3), num_tokens=3, num_streams=3)
    context.clear_stream(0)
    assert layout is not None
    return layout


class TestAState:
    @pytest.mark.parametrize("stream", [0, 1, 2])
    def test_survives_being_cut_into_blocks_and_joined_in_another_stream(self, context: Context, stream: int) -> None:
        layout = layout_of(context)
        blob = sample_of(context, stream, 50)
        views = layout.open(blob, num_tokens=50, num_streams=3, stream=stream)
        blocks = [cut(views, start, start + 16) for start in (0, 16, 32, 48)]
        built = np.empty(layout.blob_bytes(50, 3), np.uint8)
        fill(layout.build(built, num_tokens=50, num_streams=3), blocks)
        other = (stream + 1) % 3
        context.write_stream(other, built)
        copied = layout.open(context.read_stream(other), num_tokens=50, num_streams=3, stream=other)
        assert context.num_tokens(other) == 50
        assert all(np.array_equal(a, b) for a, b in zip(views, copied, strict=True))

    def test_of_a_prefix_gives_the_same_logits_as_the_prefix_itself(self, context: Context) -> None:
        layout = layout_of(context)
        context.decode([StreamRow(0, 0, PROMPT[:32], num_logits=0)])
        expected = context.decode([StreamRow(0, 32, PROMPT[32:33], num_logits=1)]).copy()
        views = layout.open(context.read_stream(0), num_tokens=33, num_streams=3, stream=0)
        prefix = cut(views, 0, 32)
        context.clear_stream(0)
        built = np.empty(layout.blob_bytes(32, 3), np.uint8)
        fill(layout.build(built, num_tokens=32, num_streams=3), [prefix])
        context.write_stream(0, built)
        again = context.decode([StreamRow(0, 32, PROMPT[32:33], num_logits=1)])
        assert np.array_equal(expected, again)

    def test_knows_the_bytes_of_a_token(self, model: NativeModel) -> None:
        expected = {"f16": 256, "f32": 512, "q8_0": 136}
        for kv_type, num_bytes in expected.items():
            context = Context(model, SHAPE, num_batch_tokens=64, num_threads=1, kv_type=kv_type)
            assert layout_of(context).token_bytes == num_bytes
            context.close()

    def test_of_another_size_is_an_error(self, context: Context) -> None:
        layout, blob = layout_of(context), sample_of(context, 1, 20)
        with pytest.raises(EngineFailed, match="unexpected size"):
            layout.open(blob, num_tokens=21, num_streams=3, stream=1)

    def test_with_gaps_is_an_error(self, context: Context) -> None:
        layout, blob = layout_of(context), sample_of(context, 0, 20)
        blob[16:20] = 77                                          # the position of the first token
        with pytest.raises(EngineFailed, match="gaps"):
            layout.open(blob, num_tokens=20, num_streams=3, stream=0)

    def test_that_the_library_refuses_leaves_the_stream_empty(self, context: Context) -> None:
        blob = sample_of(context, 0, 20)
        with pytest.raises(EngineFailed, match="did not take"):
            context.write_stream(1, blob[:-100].copy())
        assert context.num_tokens(1) == 0


class TestLearning:
    def test_refuses_transposed_values(self, model: NativeModel, tmp_path: Path) -> None:
        plain = NativeModel(write_tiny_gguf(tmp_path / "tiny.gguf"), RunOptions(flash_attention=False))
        context = Context(plain, SHAPE, num_batch_tokens=64, num_threads=1)
        assert StateLayout.learn(sample_of(context, 0, 3), num_tokens=3, num_streams=3) is None
        context.close()
        plain.close()

    def test_refuses_anything_that_is_damaged(self, model: NativeModel) -> None:
        context = Context(model, SHAPE, num_batch_tokens=64, num_threads=1)
        blob = sample_of(context, 0, 3)
        context.close()
        assert StateLayout.learn(blob, num_tokens=3, num_streams=3) is not None
        head_bytes = 8 + 8 + 36 + 8
        for at in range(8, head_bytes):
            damaged = blob.copy()
            damaged[at] ^= 0x11
            assert StateLayout.learn(damaged, num_tokens=3, num_streams=3) is None, at
        for size in (0, 7, 30, len(blob) - 1):
            assert StateLayout.learn(blob[:size], num_tokens=3, num_streams=3) is None
