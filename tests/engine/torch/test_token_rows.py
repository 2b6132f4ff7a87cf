"""Proposed tokens as rows of their own, as a CUDA graph computes them: here through the plain decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.backends.torch.backend import LoadedModel, TorchBackend, TorchConfig, load_model
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.decoder import Decoder
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.token_rows import TokenRows, are_next_tokens, as_far_as_right
from engine.backends.torch.weights import Weights
from engine.batch import Batch, BatchRow, SampledToken, SamplingInput
from engine.params import SamplingParams
from tests.engine.driving import Driver
from tests.engine.guessing import knowing
from tests.engine.sameness import STORY, ask
from tests.engine.torch.tiny_folder import write_tiny_folder

CPU = torch.device("cpu")
GREEDY = SamplingParams(temperature=0.0, ignore_eos=True)


def _row(slot: int, token_ids: list[int], position: int, num_proposed: int = 0, table: Sequence[int] = ()) -> BatchRow:
    sampling = SamplingInput(params=GREEDY, seed=0, token_ids=[], num_prompt_tokens=0)
    return BatchRow(
        slot=slot, token_ids=token_ids, position=position, block_table=list(table), sampling=sampling,
        num_proposed=num_proposed,
    )


def test_each_token_has_its_place_and_each_row_its_first() -> None:
    rows = [_row(3, [7, 8, 9], 20, 2), _row(0, [4], 5), _row(2, [5, 6], 0, 1)]
    tokens = TokenRows.of(rows)
    assert tokens == TokenRows([7, 8, 9, 4, 5, 6], [20, 21, 22, 5, 0, 1], [3, 3, 3, 0, 2, 2])
    assert tokens.firsts == {3: 0, 0: 3, 2: 4}


def test_a_graph_takes_next_tokens_and_no_prompts() -> None:
    rows = [_row(3, [7, 8, 9], 20, 2), _row(0, [4], 5)]
    assert are_next_tokens(rows, 4)
    assert not are_next_tokens(rows, 3)
    assert not are_next_tokens([*rows, _row(1, [1, 2], 0)], 32)
    assert not are_next_tokens([*rows, replace(_row(1, [1], 0), sampling=None)], 32)


@pytest.mark.parametrize(("likeliest", "tokens"), [
    ([5, 6, 7], [5, 6, 7]), ([5, 9, 7], [5, 9]), ([8, 6, 7], [8]),
])
def test_what_was_proposed_counts_as_long_as_it_is_what_comes(likeliest: list[int], tokens: list[int]) -> None:
    assert as_far_as_right(_row(0, [4, 5, 6], 0, 2), likeliest) == tuple(map(SampledToken, tokens))


def test_tokens_of_one_sequence_beside_each_other_are_as_behind_each_other(tmp_path: Path) -> None:
    decoder, kv = _decoder(write_tiny_folder(tmp_path / "tiny"))
    tables = [[4, 2, 7], [1, 3, 0]]
    text = list(STORY.encode())
    for slot, table in enumerate(tables):
        decoder.forward(flatten([_row(slot, text[:29], 0, table=table)], CPU, for_kernels=False), kv)
    rows = [_row(0, text[29:38], 29, 8, tables[0]), _row(1, text[29:30], 29, 0, tables[1])]
    behind = decoder.forward(flatten(rows, CPU, for_kernels=False), kv)
    for layer in kv.layers:
        layer[tables[0][1], :, :, 13:] = layer[tables[0][2]] = 9.0
    torch.testing.assert_close(_as_a_graph_would(decoder, kv, rows), behind, rtol=1e-4, atol=1e-4)


def _decoder(folder: Path) -> tuple[Decoder, PagedKv]:
    model = load_model(TorchConfig(
        folder=folder, device="cpu", dtype="float32", num_blocks=8, max_model_len=128, max_num_seqs=2,
        max_num_batched_tokens=64,
    ))
    assert isinstance(model.config, DecoderConfig) and isinstance(model.weights, Weights)
    return Decoder(model.config, model.weights, max_model_len=128), PagedKv(model.config, 8, torch.float32, CPU)


def _as_a_graph_would(decoder: Any, kv: PagedKv, rows: Sequence[BatchRow]) -> Tensor:
    """Logits [tokens, vocab], all tokens as rows of their own."""
    tokens = TokenRows.of(rows)
    tables = {row.slot: row.block_table for row in rows}
    singles = [
        _row(slot, [token_id], position, table=tables[slot])
        for token_id, position, slot in zip(tokens.token_ids, tokens.positions, tokens.slots, strict=True)
    ]
    return decoder.forward(flatten(singles, CPU, for_kernels=False), kv)


class _PlainGraphs:
    """What `GraphDecoder` does for the back end, without a device of its own."""

    def __init__(self, decoder: Any, kv: PagedKv) -> None:
        self._decoder = decoder
        self._kv = kv
        self._tables: dict[int, list[int]] = {}
        self.num_proposed = 0

    def takes(self, rows: Sequence[BatchRow]) -> bool:
        return are_next_tokens(rows, 64)

    def forget(self, slot: int) -> None:
        self._tables.pop(slot, None)

    def forward(self, rows: Sequence[BatchRow]) -> Tensor:
        """By tables that stay as they came, as on the device, while they are as long."""
        self.num_proposed += sum(row.num_proposed for row in rows)
        for row in rows:
            if len(self._tables.get(row.slot, ())) != len(row.block_table):
                self._tables[row.slot] = list(row.block_table)
        known = [replace(row, block_table=self._tables[row.slot]) for row in rows]
        return _as_a_graph_would(self._decoder, self._kv, known)

    def choose(self, rows: Sequence[BatchRow], num_steps: int = 1) -> list[list[int]] | None:
        if not all(row.sampling is None or row.sampling.params == GREEDY for row in rows):
            return None
        found = iter(self.forward(rows).argmax(dim=-1).tolist())
        return [[next(found) for _ in row.token_ids] for row in rows]


def _backend(folder: Path, *, speculates: bool) -> tuple[TorchBackend, _PlainGraphs]:
    made: list[LoadedModel] = []

    def load(config: TorchConfig) -> LoadedModel:
        made.append(load_model(config))
        return made[-1]

    backend = TorchBackend(TorchConfig(
        folder=folder, device="cpu", dtype="float32", num_blocks=30, max_model_len=256, max_num_seqs=4,
        max_num_batched_tokens=64, speculate=speculates,
    ), load)
    backend._info = replace(backend.info, num_tokens_ahead=1)
    graphs = _PlainGraphs(backend._decoder, backend._kv)        # type: ignore[arg-type]
    backend._graphs = graphs                                     # type: ignore[assignment]
    return backend, graphs


def test_a_block_of_a_wrong_proposal_may_be_anothers_in_the_next_step(tmp_path: Path) -> None:
    """The table is as long as before, and another."""
    text, other = list(STORY.encode()), list(STORY[5:].encode())
    folder = write_tiny_folder(tmp_path / "tiny")
    steps = [
        [_row(0, text[:31], 0, table=[0, 1]), _row(1, other[:15], 0, table=[4])],
        [_row(0, text[31:34], 31, 2, [0, 1, 2]), _row(1, other[15:16], 15, table=[4])],
        [_row(0, text[32:33], 32, table=[0, 1, 3]), _row(1, other[16:17], 16, table=[4, 2])],
        [_row(0, text[33:34], 33, table=[0, 1, 3]), _row(1, other[17:18], 17, table=[4, 2])],
    ]
    plain, (backend, graphs) = _backend(folder, speculates=False)[0], _backend(folder, speculates=True)
    plain._graphs = None
    for rows in steps:
        assert backend.execute(Batch(rows=rows)).tokens == plain.execute(Batch(rows=rows)).tokens
        for slot in (0, 1):                             # what is said is given, whatever is chosen
            after = next(row for row in rows if row.slot == slot)
            backend._lengths[slot] = plain._lengths[slot] = after.position + len(after.token_ids) - after.num_proposed
    assert graphs.num_proposed == 2
    for layer, wanted in zip(backend._kv.layers, plain._kv.layers, strict=True):    # type: ignore[union-attr]
        torch.testing.assert_close(layer[[0, 1, 3, 4]][:, :, :, :1], wanted[[0, 1, 3, 4]][:, :, :, :1])
        torch.testing.assert_close(layer[2][:, :, :2], wanted[2][:, :, :2])


@pytest.mark.parametrize(("wrong_every", "params"), [
    (0, GREEDY), (3, GREEDY), (3, replace(GREEDY, logprobs=2)), (5, replace(GREEDY, temperature=0.8, seed=3)),
])
def test_texts_are_those_of_plain_steps(wrong_every: int, params: SamplingParams, tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny")
    asked = [ask(f"r{n}", f"{n} {STORY[:30]}", max_tokens=24 + 7 * n, params=params) for n in range(4)]
    backend, _ = _backend(folder, speculates=False)
    plain = Driver(backend).run(*asked)
    backend, graphs = _backend(folder, speculates=True)
    texts = [[*each.prompt_token_ids, *plain[each.request_id]] for each in asked]
    drive = Driver(backend, proposer=knowing(texts, wrong_every=wrong_every))
    assert drive.run(*asked) == plain
    assert graphs.num_proposed > 30
    assert drive.scheduler.counters.accepted_tokens > 20
