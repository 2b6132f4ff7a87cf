"""What a CUDA graph would hold, run step by step: in Triton's interpreter (TRITON_INTERPRET=1), so without a GPU. What
is CUDA's own, capturing and events, stands still; inputs, tables, kernels and launching ahead are the real ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.decoder import Decoder
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.stream import current_stream
from engine.backends.torch.token_rows import TokenRows, as_far_as_right
from engine.backends.torch.weights import LayerWeights, Weights
from engine.batch import BatchRow, SamplingInput
from engine.params import SamplingParams
from engine.sampler import sample_row
from engine.step_sampler import StepSampler

pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("on CUDA, test_cuda.py has the graphs themselves", allow_module_level=True)

from engine.backends.torch.device_sampler import UNCERTAIN, DeviceSampler
from engine.backends.torch.graph_capture import GraphCapture
from engine.backends.torch.graph_decoder import GraphDecoder, _Kind, _Launched, most_rows

CPU = torch.device("cpu")
CONFIG = DecoderConfig(
    family="qwen3", hidden_size=64, intermediate_size=96, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=64,
    vocab_size=300, context_length=2048, norm_eps=1e-6, norms_heads=True, ties_embeddings=True,
    layers=(Attention(rope=Rope()), Attention(rope=Rope(share=0.5), window=20)),
)
CHANCE = torch.Generator().manual_seed(3)
TEXT, OTHER = torch.randint(0, 300, (2, 60), generator=CHANCE).tolist()


def _as_captured(graphs: GraphDecoder, kind: _Kind) -> None:
    graphs._graphs[kind] = partial(graphs._step, kind)


class _Event:
    def record(self) -> None: ...
    def synchronize(self) -> None: ...


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Decoder:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self)
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: SimpleNamespace(
            multi_processor_count=4, shared_memory_per_multiprocessor=100 << 10
        ),
    )
    monkeypatch.setattr(GraphDecoder, "_capture", _as_captured)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)

    def matrix(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=CHANCE) * 0.15

    layers = tuple(
        LayerWeights(
            input_norm=1 + matrix(64), qkv=matrix(8 * 64, 64), qkv_bias=None, q_norm=1 + matrix(64),
            k_norm=1 + matrix(64), out=matrix(64, 256), out_bias=None, attention_norm=None, block_norm=1 + matrix(64),
            gate_up=matrix(192, 64), gate_up_bias=None, down=matrix(64, 96), down_bias=None, output_norm=None,
        )
        for _ in range(2)
    )
    embedding = matrix(300, 64)
    weights = Weights(embedding=embedding, layers=layers, final_norm=1 + matrix(64), head=embedding)
    return Decoder(CONFIG, weights, max_model_len=128)


GREEDY = SamplingParams(temperature=0.0)
WARM = SamplingParams(temperature=0.9, top_k=5)


def _row(
    slot: int, tokens: list[int], position: int, num_proposed: int, blocks: list[int],
    params: SamplingParams = GREEDY,
) -> BatchRow:
    sampling = SamplingInput(params=params, seed=slot, token_ids=tokens[: position + 1], num_prompt_tokens=3)
    return BatchRow(
        slot=slot, token_ids=tokens[position : position + 1 + num_proposed], position=position, block_table=blocks,
        sampling=sampling, num_proposed=num_proposed,
    )


def _prompted(decoder: Decoder, *, quantises: bool) -> tuple[GraphDecoder, PagedKv]:
    """With thirty tokens of one text and fourteen of another; and a plain cache of the same."""
    kv, plain = (PagedKv(CONFIG, 20, torch.float32, CPU, quantises=quantises) for _ in range(2))
    prompts = [_row(0, TEXT, 0, 29, [5, 1]), _row(1, OTHER, 0, 13, [2])]
    for each in (kv, plain):
        decoder.forward(flatten(prompts, CPU, for_kernels=False), each)
    sampler = DeviceSampler(most_rows(3), CONFIG.vocab_size, CPU)
    stream = current_stream()
    graphs = GraphDecoder(
        decoder, kv, sampler, stream, GraphCapture(stream), max_num_seqs=3, max_model_len=128, speculates=True
    )
    return graphs, plain


@pytest.mark.parametrize("quantises", [False, True])
def test_proposals_beside_single_tokens_while_their_blocks_change_hands(decoder: Decoder, quantises: bool) -> None:
    graphs, plain = _prompted(decoder, quantises=quantises)
    for rows in (
        [_row(0, TEXT, 30, 4, [5, 1, 7]), _row(1, OTHER, 14, 1, [2])],
        [_row(0, TEXT, 31, 0, [5, 1]), _row(1, OTHER, 15, 5, [2, 7])],
        [_row(0, TEXT, 32, 9, [5, 1, 3]), _row(1, OTHER, 16, 0, [2, 7])],
    ):
        assert graphs.takes(rows)
        wanted = decoder.forward(flatten(rows, CPU, for_kernels=False), plain)
        torch.testing.assert_close(graphs.forward(rows), wanted, rtol=2e-3, atol=2e-3)
        best = wanted.argmax(dim=-1).tolist()
        found = graphs.choose(rows)
        assert found is not None
        assert [token for each in found for token in each] == best
        for slot in (0, 1):
            graphs.forget(slot)


def test_what_was_launched_ahead_is_used_until_something_is_proposed(decoder: Decoder) -> None:
    graphs, plain = _prompted(decoder, quantises=False)
    texts = [TEXT[:31], OTHER[:15]]
    for num_proposed, is_ahead in ((0, False), (0, True), (2, False), (0, False)):
        texts[0] += [7] * num_proposed
        rows = [
            _row(0, texts[0], len(texts[0]) - 1 - num_proposed, num_proposed, [5, 1, 3]),
            _row(1, texts[1], len(texts[1]) - 1, 0, [2, 7]),
        ]
        assert any(each.is_of(rows) for each in graphs._ahead[:1]) is is_ahead
        best = decoder.forward(flatten(rows, CPU, for_kernels=False), plain).argmax(dim=-1).tolist()
        found = graphs.choose(rows)
        assert found is not None
        assert [token for each in found for token in each] == best
        texts[0] = [*texts[0][: len(texts[0]) - num_proposed], found[0][0]]
        texts[1].append(found[1][0])
        if num_proposed:
            graphs.forget(0)


def test_what_is_drawn_is_launched_ahead_too_and_is_what_one_row_alone_draws(decoder: Decoder) -> None:
    graphs, plain = _prompted(decoder, quantises=False)
    texts = [TEXT[:31], OTHER[:15]]
    for num_proposed, is_ahead in ((0, False), (0, True), (0, True), (2, False), (0, False), (0, True)):
        texts[0] += [7] * num_proposed
        rows = [
            _row(0, texts[0], len(texts[0]) - 1 - num_proposed, num_proposed, [5, 1, 3], WARM),
            _row(1, texts[1], len(texts[1]) - 1, 0, [2, 7]),
        ]
        assert any(each.is_of(rows) for each in graphs._ahead[:1]) is is_ahead
        logits = decoder.forward(flatten(rows, CPU, for_kernels=False), plain).numpy()
        wanted = [sample_row(logits[: 1 + num_proposed], rows[0]), sample_row(logits[1 + num_proposed :], rows[1])]
        found = graphs.choose(rows)
        assert found is not None
        assert [as_far_as_right(row, each) for row, each in zip(rows, found, strict=True)] == wanted
        texts[0] = [*texts[0][: len(texts[0]) - num_proposed], found[0][0]]
        texts[1].append(found[1][0])
        if num_proposed:
            graphs.forget(0)


@pytest.mark.parametrize("params", [GREEDY, WARM])
def test_several_steps_at_once_are_those_one_by_one(decoder: Decoder, params: SamplingParams) -> None:
    """While one row leaves in the midst, and blocks end."""
    graphs, _ = _prompted(decoder, quantises=False)
    single, _ = _prompted(decoder, quantises=False)
    texts, tables = [TEXT[:31], OTHER[:15]], [[5, 1, 3, 4], [2]]
    wanted = [list(text) for text in texts]
    for _ in range(18):
        rows = [_row(slot, text, len(text) - 1, 0, tables[slot], params) for slot, text in enumerate(wanted)]
        said = single.choose(rows)
        assert said is not None
        for text, (token,) in zip(wanted, said, strict=True):
            text.append(token)
    for num_steps, num_taken, num_rows in ((4, 4, 2), (4, 4, 2), (8, 8, 2), (8, 2, 2), (8, 8, 1)):
        rows = [
            _row(slot, text, len(text) - 1, 0, tables[slot], params) for slot, text in enumerate(texts[:num_rows])
        ]
        found = graphs.choose(rows, num_steps)
        assert found is not None
        assert [len(each) for each in found] == [num_taken] * num_rows
        for text, tokens in zip(texts, found, strict=False):
            text.extend(tokens)
    assert texts[1] == wanted[1]
    assert texts[0][: len(wanted[0])] == wanted[0]
    assert len(texts[0]) == len(wanted[0]) + 8


def test_no_step_counts_after_one_of_which_the_processor_has_to_say_the_token(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs, _ = _prompted(decoder, quantises=False)
    rows = [_row(0, TEXT, 30, 0, [5, 1, 3], WARM), _row(1, OTHER, 14, 0, [2, 7], WARM)]
    replay, num_replayed = graphs._replay, 0

    def uncertain_in_the_third(tokens: TokenRows, rows: Sequence[BatchRow], num_ahead: int | None) -> _Launched:
        nonlocal num_replayed
        num_replayed += 1
        launched = replay(tokens, rows, num_ahead)
        if num_replayed == 3:
            launched.tokens_here[1] = UNCERTAIN
        return launched

    monkeypatch.setattr(graphs, "_replay", uncertain_in_the_third)
    found = graphs.choose(rows, 5)
    assert found is not None
    assert [len(each) for each in found] == [2, 2]
    assert graphs._ahead == []
    num_replayed = 2
    assert graphs.choose(rows, 5) is None


def test_rows_for_the_processor_get_their_logits(decoder: Decoder) -> None:
    graphs, plain = _prompted(decoder, quantises=False)
    rows = [
        _row(0, TEXT[:31], 30, 0, [5, 1], SamplingParams(temperature=0.9, repetition_penalty=1.3)),
        _row(1, OTHER[:15], 14, 0, [2], WARM),
    ]
    assert graphs.choose(rows) is None
    logits = graphs.forward(rows)
    wanted = decoder.forward(flatten(rows, CPU, for_kernels=False), plain)
    torch.testing.assert_close(logits, wanted, rtol=2e-3, atol=2e-3)
    alone = [sample_row(logits.numpy()[[place]], row) for place, row in enumerate(rows)]
    assert DeviceSampler(3, CONFIG.vocab_size, CPU).sample(logits, rows, StepSampler(CONFIG.vocab_size)) == alone


def test_graphs_are_captured_one_by_one_until_none_is_left(decoder: Decoder) -> None:
    """And what they are tried on is nobody's: nothing of a running sequence changes."""
    graphs, plain = _prompted(decoder, quantises=False)
    rows = [_row(0, TEXT, 30, 0, [5, 1])]
    num_prepared = 0
    while graphs.prepare():
        num_prepared += 1
    kinds = set(graphs._graphs)
    assert num_prepared == len(kinds)
    assert {kind.size for kind in kinds if kind.are_each_anothers} == {1, 2, 4}
    assert {kind.size for kind in kinds if not kind.are_each_anothers} == {2, 4, 8, 16, 24, 32}
    torch.testing.assert_close(
        graphs.forward(rows), decoder.forward(flatten(rows, CPU, for_kernels=False), plain), rtol=2e-3, atol=2e-3
    )
    assert set(graphs._graphs) == kinds
