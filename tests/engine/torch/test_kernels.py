"""Kernels beside their plain forms: on CUDA, or in Triton's interpreter (TRITON_INTERPRET=1), which runs anywhere."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from engine.backends.torch.attention import Span, attend_paged
from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.quantised import Quantised, quantise
from engine.backends.torch.rope import rotary_tables, turn

pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("kernels need CUDA, or Triton's interpreter", allow_module_level=True)

from engine.backends.torch import few_rows, kernels, paged_attention, quantised_kernels
from engine.backends.torch.launching import rehearsal
from engine.backends.torch.likeliest_kernel import Likeliest

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DTYPE = torch.bfloat16 if DEVICE.type == "cuda" else torch.float32
CLOSE = {"rtol": 2e-2, "atol": 2e-2} if DEVICE.type == "cuda" else {"rtol": 1e-4, "atol": 1e-4}
CARD = kernels.Card.of(DEVICE) if DEVICE.type == "cuda" else kernels.Card(132, 228 << 10)
CONFIG = DecoderConfig(
    family="llama", hidden_size=256, intermediate_size=96, num_layers=1, num_heads=8, num_kv_heads=2, head_dim=64,
    vocab_size=99, context_length=512, norm_eps=1e-5, layers=(Attention(rope=Rope()),),
)


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(DEVICE, DTYPE)


@pytest.mark.skipif(DEVICE.type != "cuda", reason="the interpreter compiles nothing")
def test_what_is_rehearsed_is_compiled_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    hooks = import_module("triton").knobs.runtime
    monkeypatch.setattr(hooks, "jit_post_compile_hook", lambda **facts: compiled.append(facts["fn"].name))
    x, residual, weight = _random(5, 1000), _random(5, 1000), _random(1000)     # of a size that no other test has
    before, out = residual.clone(), torch.full_like(x, 7.0)
    with rehearsal(torch.device(DEVICE.type)):
        kernels.add_norm(x, residual, weight, out, 1e-5)
        kernels.silu_mul(_random(5, 2000), out)
        torch.cuda.synchronize()
        assert torch.equal(residual, before)
        assert (out == 7.0).all()
    num_compiled = len(compiled)
    kernels.add_norm(x, residual, weight, out, 1e-5)
    assert not torch.equal(residual, before)
    assert num_compiled >= 1
    assert len(compiled) == num_compiled


@pytest.mark.parametrize("size", [96, 256, 4096])
def test_the_norm_adds_first_where_there_is_something_to_add(size: int) -> None:
    x, residual, weight = _random(5, size), _random(5, size) * 2, _random(size)
    expected = residual + x
    out = torch.empty_like(x)
    kernels.add_norm(x, residual, weight, out, 1e-5)
    torch.testing.assert_close(residual, expected, **CLOSE)
    full = expected.float()
    normed = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + 1e-5)
    torch.testing.assert_close(out, weight * normed.to(DTYPE), **CLOSE)
    kernels.add_norm(None, residual, weight, out, 1e-5)
    torch.testing.assert_close(residual, expected, **CLOSE)


def test_silu_times_up() -> None:
    gate_up = _random(3, 2 * 1500)
    out = torch.empty(3, 1500, dtype=DTYPE, device=DEVICE)
    kernels.silu_mul(gate_up, out)
    gate, up = gate_up.chunk(2, dim=-1)
    torch.testing.assert_close(out, torch.nn.functional.silu(gate) * up, **CLOSE)


@pytest.mark.parametrize(("size_out", "size_in"), [(7, 64), (300, 1000), (96, 4096), (18, 1536)])
@pytest.mark.parametrize("biased", [False, True])
def test_a_row_times_a_matrix(size_out: int, size_in: int, biased: bool) -> None:
    x, weight = _random(1, size_in), _random(size_out, size_in) / size_in**0.5
    bias = _random(size_out) if biased else None
    torch.testing.assert_close(kernels.linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias), **CLOSE)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("rows", "hidden", "inner"), [
    (1, 96, 160), (1, 256, 96), (1, 2048, 1536), (2, 96, 160), (16, 128, 256), (20, 576, 1536), (64, 1024, 3072),
])
def test_products_of_few_rows_with_norm_gate_and_residual(rows: int, hidden: int, inner: int, biased: bool) -> None:
    if DEVICE.type != "cuda" and hidden > 256:
        pytest.skip("the interpreter would take minutes")
    embedding, chosen = _random(70, hidden) + 0.5, torch.arange(10, 18, device=DEVICE)
    gate_up, down = _random(2 * inner, hidden) / hidden**0.5, _random(hidden, inner) / inner**0.5
    head = _random(99, hidden) / hidden**0.5
    norms = [1 + _random(hidden) / 3, 1 + _random(hidden + 1)[:-1].contiguous() / 3]
    biases = (_random(2 * inner), _random(hidden)) if biased else (None, None)
    tokens = torch.arange(rows, dtype=torch.int32, device=DEVICE)
    tokens[0] = -1 - 3                  # the one that was chosen for row 3
    whole = few_rows.Residual.empty(hidden, DTYPE, DEVICE)
    few, residual = few_rows.FewRowProducts(hidden, 1e-5, CARD, DEVICE), whole.first(rows)
    taken = tokens.long()
    taken[0] = 13

    def full(*tensors: torch.Tensor | None) -> list[torch.Tensor | None]:
        return [None if each is None else each.float() for each in tensors]

    wide_norms, wide_biases = full(*norms), full(*biases)
    hidden_rows = (embedding[taken].float() * 2).to(DTYPE).float()
    gated = torch.nn.functional.linear(_normed(hidden_rows, wide_norms[0]), gate_up.float(), wide_biases[0])
    activated = torch.nn.functional.silu(gated[:, :inner]) * gated[:, inner:]
    added = hidden_rows + torch.nn.functional.linear(activated, down.float(), wide_biases[1])
    for _ in range(2):                  # what counts the parts begins anew by itself
        few.enter(tokens, chosen, embedding, 2.0, norms[0], residual)
        out = torch.empty(rows, inner, dtype=DTYPE, device=DEVICE)
        few.gated_product(residual, gate_up, biases[0], out)
        torch.testing.assert_close(out.float(), activated, rtol=CLOSE["rtol"], atol=2 * CLOSE["atol"])
        few.add_product(out, down, biases[1], residual, norms[1])
        torch.testing.assert_close(residual.hidden.float(), added, **CLOSE)
        logits = torch.empty(rows, 99, dtype=torch.float32, device=DEVICE)
        few.normed_product(residual, head, None, logits)
        torch.testing.assert_close(logits, _normed(added, wide_norms[1]) @ head.float().T, **CLOSE)


def test_a_small_card_holds_fewer_tiles_at_once() -> None:
    card = kernels.Card(20, 100 << 10)
    assert [card.num_stages(5, size << 10) for size in (16, 24, 32, 64, 200)] == [5, 4, 3, 1, 1]


def test_the_likeliest_of_many() -> None:
    logits = torch.randn(3, 9001, generator=torch.Generator().manual_seed(4)).to(DEVICE)
    logits[1, [77, 5000]] = 9.0                         # the first of two that are alike
    out = torch.zeros(3, dtype=torch.int64, device=DEVICE)
    Likeliest(4, 9001, DEVICE)(logits, out)
    assert out.tolist() == [int(logits[0].argmax()), 77, int(logits[2].argmax())]


@pytest.mark.parametrize("kind", ["fp8", "int8", "int4"])
@pytest.mark.parametrize(("size_out", "size_in"), [(7, 64), (300, 576), (96, 4096), (130, 1536)])
@pytest.mark.parametrize("rows", [1, 3, 20, 70, 200])
def test_a_product_with_a_quantised_matrix(kind: str, size_out: int, size_in: int, rows: int) -> None:
    matrix = quantise(_random(size_out, size_in) / size_in**0.5, kind)
    x, bias = _random(rows, size_in), _random(size_out)
    assert isinstance(matrix, Quantised)
    if kind == "fp8" and rows >= quantised_kernels.LEAST_FP8_ROWS and DEVICE.type != "cuda":
        pytest.skip("torch's product of FP8 is CUDA's")
    plain = torch.nn.functional.linear(x, matrix.plain(x.dtype), bias)
    rounded = {"rtol": 0.1, "atol": 0.1} if kind == "fp8" and rows >= quantised_kernels.LEAST_FP8_ROWS else CLOSE
    torch.testing.assert_close(quantised_kernels.product(x, matrix, bias), plain, **rounded)
    if matrix.zeros is not None:
        torch.testing.assert_close(quantised_kernels.plain_of_4(matrix, x.dtype), matrix.plain(x.dtype), **CLOSE)


@pytest.mark.parametrize("quantises", [False, True])
def test_gathered_keys_and_values_are_those_of_the_cache(quantises: bool) -> None:
    kv = PagedKv(CONFIG, 9, DTYPE, DEVICE, quantises=quantises)
    _fill(kv)
    blocks = torch.tensor([4, 4, 0, 8, 8, 2], device=DEVICE)
    positions = torch.tensor([0, 1, 15, 16, 40, 33], device=DEVICE)
    keys, values = kernels.gather(kv.layers[0], blocks, positions, DTYPE, kv.scales(0))
    offsets = positions % BLOCK_SIZE
    wanted = [each[torch.arange(6), :, offsets] for each in kv.read_all(0, blocks[:, None])]
    torch.testing.assert_close((keys, values), tuple(wanted), **CLOSE)


def _fill(kv: PagedKv) -> None:
    """With keys and values of chance."""
    blocks, positions = torch.arange(kv.num_blocks, device=DEVICE), torch.arange(BLOCK_SIZE, device=DEVICE)
    keys, values = _random(2, kv.num_blocks * BLOCK_SIZE, CONFIG.num_kv_heads, CONFIG.head_dim)
    kv.write(0, blocks.repeat_interleave(BLOCK_SIZE), positions.repeat(kv.num_blocks), keys, values)


@pytest.mark.parametrize("many_rows", [64, 2])      # one head a program, and eight
@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.75])
@pytest.mark.parametrize(("window", "softcap", "quantises"), [
    (None, None, False), (40, None, False), (None, 5.0, False), (None, None, True), (40, None, True),
])
def test_a_token_a_sequence_is_turned_written_and_attended_as_in_plain_torch(
    norms: bool, share: float, window: int | None, softcap: float | None, quantises: bool, many_rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "MANY_ROWS", many_rows)
    lengths = [1, 16, 17, 100, 257]
    heads, kv_heads, dim = CONFIG.num_heads, CONFIG.num_kv_heads, CONFIG.head_dim
    rope = replace(CONFIG.layers[0].rope, share=share)
    cos, sin = rotary_tables(rope, dim, 512, DEVICE)
    plain, paged = (PagedKv(CONFIG, 40, DTYPE, DEVICE, quantises=quantises) for _ in range(2))
    _fill(plain)
    _fill(paged)
    tables = torch.zeros(7, 20, dtype=torch.int32)
    free = iter(torch.randperm(40, generator=torch.Generator().manual_seed(1)).tolist())
    slots = [6, 0, 3, 1, 2]
    for slot, length in zip(slots, lengths, strict=True):
        num_blocks = -(-length // BLOCK_SIZE)
        tables[slot, :num_blocks] = torch.tensor([next(free) for _ in range(num_blocks)])
    qkv = _random(len(lengths), (heads + 2 * kv_heads) * dim)
    weights = (_random(dim), _random(dim + 1)[:-1].contiguous()) if norms else None
    positions = torch.tensor([length - 1 for length in lengths], device=DEVICE)

    queries, keys, values = qkv.view(len(lengths), -1, dim).split((heads, kv_heads, kv_heads), dim=1)
    if weights:
        queries, keys = _normed(queries, weights[0]), _normed(keys, weights[1])
    queries, keys = turn(queries, cos[positions], sin[positions]), turn(keys, cos[positions], sin[positions])
    spans = []
    for row, (slot, length) in enumerate(zip(slots, lengths, strict=True)):
        table = tables[slot, : -(-length // BLOCK_SIZE)].to(DEVICE, torch.int64)
        at = torch.tensor([length - 1], device=DEVICE)
        plain.write(0, table[at // BLOCK_SIZE], at, keys[row : row + 1], values[row : row + 1])
        spans.append(Span(start=row, num_tokens=1, num_before=length - 1, table=table))
    expected = attend_paged(queries, plain, 0, spans, window=window, scale=0.125, softcap=softcap)

    out = torch.empty(len(lengths), heads * dim, dtype=DTYPE, device=DEVICE)
    where = (tables.to(DEVICE), torch.tensor(slots, dtype=torch.int32, device=DEVICE), positions.to(torch.int32))
    blocks = where[0][where[1], positions // BLOCK_SIZE]
    if not quantises:                   # all in one, before q and k are turned in place
        _turns_too(qkv, kv=plain, where=where, turning=paged_attention.Turning(
            rotary=(cos, sin), norms=weights, eps=1e-5
        ), expected=expected, softcap=softcap, window=window)
    kernels.rotate_and_write(
        qkv, paged.layers[0], blocks, where[2], (cos, sin), weights, num_heads=heads, eps=1e-5, scales=paged.scales(0)
    )
    for processors in (1, 5, 132):      # one program a head, and keys split over many
        card = replace(CARD, num_processors=processors)
        attend = paged_attention.PagedAttention(heads, kv_heads, dim, card, DEVICE)
        attend(
            qkv, paged.layers[0], *where, out, scale=0.125, softcap=softcap, window=window, scales=paged.scales(0)
        )
        torch.testing.assert_close(out.view_as(expected), expected, **CLOSE)
    if quantises:
        torch.testing.assert_close(paged.scales(0), plain.scales(0), rtol=2e-3, atol=0.0)
        assert (paged.layers[0].int() - plain.layers[0].int()).abs().max() <= 1
    else:
        torch.testing.assert_close(paged.layers[0], plain.layers[0], **CLOSE)


def _turns_too(
    qkv: torch.Tensor, kv: PagedKv, where: tuple[torch.Tensor, ...], turning: paged_attention.Turning,
    expected: torch.Tensor, softcap: float | None, window: int | None,
) -> None:
    tables, slots, positions = where
    heads, kv_heads, dim = CONFIG.num_heads, CONFIG.num_kv_heads, CONFIG.head_dim
    for processors in (1, 5, 132):
        cache, out = kv.layers[0].clone(), torch.empty(len(qkv), heads * dim, dtype=DTYPE, device=DEVICE)
        for slot, position in zip(slots.tolist(), positions.tolist(), strict=True):
            cache[tables[slot, position // BLOCK_SIZE], :, :, position % BLOCK_SIZE] = 7.0      # to be written
        card = replace(CARD, num_processors=processors)
        attend = paged_attention.PagedAttention(heads, kv_heads, dim, card, DEVICE)
        for _ in range(2):              # what counts the parts begins anew by itself
            attend(
                qkv, cache, tables, slots, positions, out, scale=0.125, softcap=softcap, window=window,
                turning=turning,
            )
            torch.testing.assert_close(out.view_as(expected), expected, **CLOSE)
            torch.testing.assert_close(cache, kv.layers[0], **CLOSE)


def _normed(heads: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    full = heads.float()
    return weight * (full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + 1e-5)).to(heads.dtype)
