"""What graphs of prompts compute, with capturing left out: sizes that are made up, rows in any order; on plain torch.

On CUDA, test_cuda.py has the graphs themselves.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.decoder import Decoder
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.graph_capture import GraphCapture
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.operations import AttendedStep, PlainOperations
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.prompt_graphs import MOST_ROWS, PromptGraphs, PromptShape
from engine.backends.torch.weights import LayerWeights, Weights
from engine.batch import BatchRow, SamplingInput
from engine.params import SamplingParams

CPU = torch.device("cpu")
CONFIG = DecoderConfig(
    family="qwen3", hidden_size=32, intermediate_size=48, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=16,
    vocab_size=90, context_length=2048, norm_eps=1e-6, norms_heads=True, ties_embeddings=True,
    layers=(Attention(rope=Rope()), Attention(rope=Rope(), window=40)),
)
NUM_BLOCKS = 40
SPARE_BLOCK = NUM_BLOCKS - 1


class _ByBounds(PlainOperations):
    """Attends as flash attention does: of the rows it knows no more than where each begins."""

    def attend(
        self, qkv: Tensor, queries: Tensor, kv: PagedKv, layer: int, step: AttendedStep, *, scale: float,
        softcap: float | None, window: int | None,
    ) -> Tensor:
        assert step.prompts is not None and len(step.prompts) == 1
        [prompts] = step.prompts
        mixed = torch.full_like(queries, float("nan"))
        queries_at, keys_at = prompts.query_bounds.tolist(), prompts.key_bounds.tolist()
        assert queries_at == sorted(queries_at) and queries_at[-1] == len(queries) == prompts.most_queries
        assert keys_at == sorted(keys_at) and keys_at[-1] <= prompts.most_keys
        blocks = step.blocks if prompts.blocks is None else prompts.blocks              # type: ignore[attr-defined]
        positions = step.positions if prompts.positions is None else prompts.positions  # type: ignore[attr-defined]
        for place in range(len(queries_at) - 1):
            own, seen = slice(*queries_at[place : place + 2]), slice(*keys_at[place : place + 2])
            num_queries, num_keys = own.stop - own.start, seen.stop - seen.start
            if num_queries and not num_keys:
                mixed[own] = 0.0
            elif num_queries:
                offsets = positions[seen] % BLOCK_SIZE
                keys, values = (kv.layers[layer][blocks[seen], :, part, offsets].transpose(0, 1) for part in (0, 1))
                at = torch.arange(num_keys - num_queries, num_keys)[:, None]
                there = torch.arange(num_keys)[None, :]
                mask = (there <= at) if window is None else (there <= at) & (there > at - window)
                mixed[own] = torch.nn.functional.scaled_dot_product_attention(
                    queries[own].transpose(0, 1)[None], keys[None], values[None], attn_mask=mask, scale=scale,
                    enable_gqa=True,
                )[0].transpose(0, 1)
        return mixed


def _decoder(*, by_bounds: bool) -> Decoder:
    chance = torch.Generator().manual_seed(4)

    def matrix(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=chance) * 0.2

    layers = tuple(
        LayerWeights(
            input_norm=1 + matrix(32), qkv=matrix(4 * 16, 32), qkv_bias=None, q_norm=1 + matrix(16),
            k_norm=1 + matrix(16), out=matrix(32, 32), out_bias=None, attention_norm=None, block_norm=1 + matrix(32),
            gate_up=matrix(96, 32), gate_up_bias=None, down=matrix(32, 48), down_bias=None, output_norm=None,
        )
        for _ in range(2)
    )
    embedding = matrix(90, 32)
    weights = Weights(embedding=embedding, layers=layers, final_norm=1 + matrix(32), head=embedding)
    return Decoder(CONFIG, weights, max_model_len=1024, operations=_ByBounds(CONFIG) if by_bounds else None)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> PromptGraphs:
    """All of them captured."""
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: SimpleNamespace(multi_processor_count=100)
    )
    monkeypatch.setattr(GraphCapture, "__init__", lambda self: None)
    monkeypatch.setattr(GraphCapture, "__call__", lambda self, step: step)
    decoder = _decoder(by_bounds=True)
    made = PromptGraphs(decoder, _cache(), GraphCapture(), max_num_batched_tokens=1024)     # type: ignore[call-arg]
    while made.prepare():
        pass
    return made


def _cache() -> PagedKv:
    return PagedKv(CONFIG, NUM_BLOCKS, torch.float32, CPU)


def _text(seed: int, length: int) -> list[int]:
    text: list[int] = torch.randint(0, 90, (length,), generator=torch.Generator().manual_seed(seed)).tolist()
    return text


def _row(slot: int, start: int, end: int, blocks: list[int], *, asks: bool = True) -> BatchRow:
    """Tokens `start` to `end` of the text of that slot."""
    text = _text(slot, end)
    sampling = SamplingInput(params=SamplingParams(), seed=0, token_ids=text, num_prompt_tokens=end)
    return BatchRow(
        slot=slot, token_ids=text[start:], position=start, block_table=blocks, sampling=sampling if asks else None
    )


STEPS = [
    [_row(0, 0, 50, [3, 7]), _row(1, 0, 33, [4, 1]), _row(2, 0, 20, [9], asks=False)],          # all begin
    [_row(0, 50, 51, [3, 7]), _row(2, 20, 70, [9, 2, 11]), _row(1, 33, 34, [4, 1]), _row(3, 0, 5, [12])],
    [_row(3, 5, 6, [12]), _row(2, 70, 134, [9, 2, 11, 13, 14])],                                # as many as are held
    [_row(4, 0, 256, list(range(20, 28)))],
    [_row(5, 0, 10, [28], asks=False)],                                                         # nobody asks
]


def test_they_say_what_plain_torch_says_in_the_order_of_the_rows(graphs: PromptGraphs) -> None:
    plain, cache = _decoder(by_bounds=False), _cache()
    for rows in STEPS:
        wanted = plain.forward(flatten(rows, CPU, for_kernels=False), cache)
        found = graphs.forward(rows)
        assert found is not None
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
        for ours, theirs in zip(graphs._kv.layers, cache.layers, strict=True):
            torch.testing.assert_close(ours[:SPARE_BLOCK], theirs[:SPARE_BLOCK])      # nobody's block aside


def test_a_step_takes_the_smallest_that_holds_it_and_none_that_is_larger_than_all(graphs: PromptGraphs) -> None:
    used: list[PromptShape] = []
    for shape, (fixed, _) in graphs._captured.items():
        graphs._captured[shape] = fixed, partial(used.append, shape)
    for rows in STEPS:
        graphs.forward(rows)
    assert used == [(128, 0), (64, 1024), (96, 1024), (256, 0), (32, 0)]
    assert graphs.forward([_row(0, 0, 257, list(range(9)))]) is None
    assert graphs.forward([_row(slot, 0, 2, [slot]) for slot in range(MOST_ROWS)]) is not None
    assert graphs.forward([_row(slot, 0, 2, [slot]) for slot in range(MOST_ROWS + 1)]) is None


def test_there_are_none_where_a_step_has_no_room_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: SimpleNamespace(multi_processor_count=100)
    )
    monkeypatch.setattr(GraphCapture, "__init__", lambda self: None)
    graphs = PromptGraphs(
        _decoder(by_bounds=True), _cache(), GraphCapture(), max_num_batched_tokens=100      # type: ignore[call-arg]
    )
    assert not graphs.prepare()
    assert graphs.forward(STEPS[0]) is None
