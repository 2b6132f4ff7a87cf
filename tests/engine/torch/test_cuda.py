"""Whole steps on CUDA, by kernels and by graph, beside plain torch on the same card. Skipped where there is none."""

from __future__ import annotations

import gc
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.backends.torch.backend import LoadedModel, TorchBackend, TorchConfig
from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.stream import DriverStream
from engine.backends.torch.weights import LayerWeights, Weights
from engine.batch import Batch, BatchRow, Release, SamplingInput
from engine.params import SamplingParams

if not torch.cuda.is_available():
    pytest.skip("these need CUDA", allow_module_level=True)

CONFIG = DecoderConfig(
    family="qwen3", hidden_size=256, intermediate_size=512, num_layers=3, num_heads=8, num_kv_heads=2, head_dim=64,
    vocab_size=300, context_length=2048, norm_eps=1e-6, norms_heads=True, ties_embeddings=True,
    layers=(Attention(rope=Rope()), Attention(rope=Rope(), window=100), Attention(rope=Rope(share=0.5))),
)
GREEDY = SamplingParams(temperature=0.0, logprobs=3)
PLAIN = SamplingParams(temperature=0.0)


def _model(_: TorchConfig) -> LoadedModel:
    chance = torch.Generator("cuda").manual_seed(11)

    def matrix(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=chance, device="cuda").mul_(0.08).to(torch.bfloat16)

    def layer() -> LayerWeights:
        return LayerWeights(
            input_norm=1 + matrix(256), qkv=matrix(12 * 64, 256), qkv_bias=None, q_norm=1 + matrix(64),
            k_norm=1 + matrix(64), out=matrix(256, 512), out_bias=None, attention_norm=None,
            block_norm=1 + matrix(256), gate_up=matrix(1024, 256), gate_up_bias=None, down=matrix(256, 512),
            down_bias=None, output_norm=None,
        )

    embedding = matrix(300, 256)
    weights = Weights(
        embedding=embedding, layers=tuple(layer() for _ in range(3)), final_norm=1 + matrix(256), head=embedding
    )
    return LoadedModel(config=CONFIG, weights=weights, tokenizer=ByteTokenizer())


def _backend(*, kernels: bool) -> TorchBackend:
    config = TorchConfig(
        folder=Path(), device="cuda:0", dtype="bfloat16", num_blocks=200, max_model_len=1024, max_num_seqs=9,
        max_num_batched_tokens=2048,
    )
    if kernels:
        return TorchBackend(config, _model)
    patch = pytest.MonkeyPatch()
    patch.setattr("engine.backends.torch.backend.fits_kernels", lambda config: False)
    try:
        return TorchBackend(config, _model)
    finally:
        patch.undo()


def _row(slot: int, tokens: list[int], position: int, end: int, blocks: list[int], *, asks: bool = True) -> BatchRow:
    sampling = SamplingInput(params=GREEDY, seed=0, token_ids=tokens[:end], num_prompt_tokens=end)
    return BatchRow(
        slot=slot, token_ids=tokens[position:end], position=position, block_table=blocks,
        sampling=sampling if asks else None,
    )


@pytest.mark.parametrize("is_prepared", [False, True])
def test_prompts_mixed_steps_and_graphs_say_what_plain_torch_says(is_prepared: bool) -> None:
    chance = torch.Generator().manual_seed(2)
    tokens = [torch.randint(0, 300, (600,), generator=chance).tolist() for _ in range(6)]
    starts = (0, 20, 40, 60, 80, 96, 100, 103, 104)
    tables = [list(range(first, end)) for first, end in pairwise(starts)]
    lengths = [1, 16, 40, 333, 500, 90]
    steps = [
        [_row(i, tokens[i], 0, lengths[i], tables[i]) for i in range(3)],
        # prompts beside single tokens, one of them in two parts
        [*(_row(i, tokens[i], lengths[i], lengths[i] + 1, tables[i]) for i in range(3)),
         _row(3, tokens[3], 0, lengths[3], tables[3]), _row(4, tokens[4], 0, 200, tables[4], asks=False)],
        [*(_row(i, tokens[i], lengths[i] + 1, lengths[i] + 2, tables[i]) for i in range(3)),
         _row(4, tokens[4], 200, lengths[4], tables[4]), _row(5, tokens[5], 0, lengths[5], tables[5])],
        # a graph of five rows, in one of eight; and again, to see that it repeats itself
        *([_row(i, tokens[i], lengths[i] + more, lengths[i] + more + 1, tables[i]) for i in (0, 1, 2)]
          + [_row(i, tokens[i], lengths[i] + more - 2, lengths[i] + more - 1, tables[i]) for i in (3, 4)]
          for more in (2, 3)),
        # single tokens between prompts, one of them all of a text's
        [_row(6, tokens[3], 0, 70, tables[6]), _row(5, tokens[5], 90, 91, tables[5]),
         _row(7, tokens[2], 0, 1, tables[7]), _row(3, tokens[3], 335, 337, tables[3])],
    ]
    fast, plain = _backend(kernels=True), _backend(kernels=False)
    while is_prepared and fast.prepare():
        pass
    assert fast._prompt_graphs is not None
    assert (fast._prompt_graphs.forward(steps[0]) is not None) is is_prepared
    for rows in steps:
        said, expected = fast.execute(Batch(rows=rows)), plain.execute(Batch(rows=rows))
        for one, other in zip(said.tokens, expected.tokens, strict=True):
            assert len(one) == len(other)
            for found, wanted in zip(one, other, strict=True):
                near = dict(wanted.top_logprobs)
                assert found.token_id in near, "another token than any of the likeliest"
                assert found.logprob == pytest.approx(near[found.token_id], abs=0.06)


ENDS = [74, 25, 74, 25]         # after the prompt's token runs of 3 or of 8: those who leave do so after as many steps


@pytest.mark.parametrize("num_steps", [1, 3, 8])
def test_steps_that_were_launched_ahead_say_what_steps_one_by_one_say(
    num_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = torch.Generator().manual_seed(5)
    prompts = [torch.randint(0, 300, (length,), generator=chance).tolist() for length in (30, 47, 5, 100)]
    ahead, single = _backend(kernels=True), _backend(kernels=True)
    monkeypatch.setattr(single._graphs, "_num_steps_to_go", lambda rows: 1)
    said = [_greedily(backend, prompts, number) for backend, number in ((ahead, num_steps), (single, 1))]
    assert said[0] == said[1]
    assert [len(each) for each in said[0]] == ENDS


def test_steps_are_launched_by_the_drivers_own_calls() -> None:
    backend = _backend(kernels=True)
    assert backend._graphs is not None
    assert isinstance(backend._graphs._stream, DriverStream)


def test_proposals_in_a_graph_give_the_logits_of_plain_torch() -> None:
    """Beside rows without any; and blocks of proposals that were wrong are another's in the next step."""
    chance = torch.Generator().manual_seed(8)
    text, other = (torch.randint(0, 300, (60,), generator=chance).tolist() for _ in range(2))
    fast, plain = _backend(kernels=True), _backend(kernels=False)
    for backend in (fast, plain):
        backend.execute(Batch(rows=[_row(0, text, 0, 30, [5, 1]), _row(1, other, 0, 14, [2])]))
    steps = [
        [_proposing(0, text, 30, 4, [5, 1, 7]), _proposing(1, other, 14, 1, [2])],
        [_proposing(0, text, 31, 0, [5, 1]), _proposing(1, other, 15, 5, [2, 7])],
        [_proposing(0, text, 32, 9, [5, 1, 3]), _proposing(1, other, 16, 0, [2, 7])],
    ]
    graphs, decoder, kv = fast._graphs, plain._decoder, plain._kv
    assert graphs is not None and decoder is not None and kv is not None
    for rows in steps:
        assert graphs.takes(rows)
        found = graphs.forward(rows)
        wanted = decoder.forward(flatten(rows, torch.device("cuda:0"), for_kernels=False), kv, lambda: None)
        torch.testing.assert_close(found, wanted, atol=0.12, rtol=0.05)     # logits to 6, of three layers in bf16
        assert (found - wanted).abs().mean() < 0.03
        for slot in (0, 1):
            graphs.forget(slot)


def test_what_was_unloaded_gives_all_of_its_memory_back() -> None:
    used = []
    for _ in range(23):
        backend = _backend(kernels=True)
        backend.execute(Batch(rows=[_row(0, [1, 2, 3, 4], 0, 3, [0])]))
        backend.execute(Batch(rows=[_row(0, [1, 2, 3, 4], 3, 4, [0])]))
        assert backend._prompt_graphs is not None and backend._prompt_graphs.prepare()
        backend.close()
        del backend
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        free_bytes, total_bytes = torch.cuda.mem_get_info()
        used.append(total_bytes - free_bytes)
    assert used[-1] <= used[2] * 1.05, "twenty loads and unloads left something behind"


def _proposing(slot: int, tokens: list[int], position: int, num_proposed: int, blocks: list[int]) -> BatchRow:
    row = _row(slot, tokens, position, position + 1 + num_proposed, blocks)
    row.num_proposed = num_proposed
    return row


def _greedily(backend: TorchBackend, prompts: list[list[int]], num_steps: int) -> list[list[int]]:
    """Some leave in the midst, and one of the slots is taken by another."""
    texts = [list(prompt) for prompt in prompts]
    ends = ENDS
    tables = [list(range(20 * index, 20 * index + 20)) for index in range(4)]
    done = [0] * 4
    running, waiting = [0, 1, 2], [3]
    released: list[Release] = []
    while running:
        rows = []
        for index in running:
            slot = 1 if index == 3 else index
            start = done[index]
            sampling = SamplingInput(
                params=PLAIN, seed=0, token_ids=texts[index], num_prompt_tokens=len(prompts[index])
            )
            rows.append(BatchRow(
                slot=slot, token_ids=texts[index][start:], position=start,
                block_table=tables[index][: -(-(len(texts[index]) + 8) // 16)], sampling=sampling,
            ))
        output = backend.execute(Batch(rows=rows, released=released, num_steps=num_steps))
        released = []
        for index, tokens in zip(list(running), output.tokens, strict=True):
            assert 1 <= len(tokens) <= num_steps
            texts[index] += [token.token_id for token in tokens]
            done[index] = len(texts[index]) - 1
            if len(texts[index]) - len(prompts[index]) >= ends[index]:
                running.remove(index)
                released.append(Release(slot=1 if index == 3 else index, kept_blocks=[]))
                if waiting and index == 1:
                    running.append(waiting.pop())
    backend.execute(Batch(released=released))
    backend.check_integrity()
    return [
        text[len(prompt) : len(prompt) + end] for text, prompt, end in zip(texts, prompts, ends, strict=True)
    ]
