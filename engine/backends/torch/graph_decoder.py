"""Steps of one token a sequence on CUDA, which most are, or of one and some proposed: the whole step is one graph,
launched in one call.

Prompts take decoder.py's way. Here each token is a row (token_rows.py). Buffers are fixed; a graph is captured for each
number of them of `BUCKETS` when it is first needed; missing ones are made up by some that work in a block of nobody's.
On the engine's thread.

Where all take their likeliest token and none is proposed, the next step is launched at once, as it is if nobody ends,
comes or has something proposed. If it turns out otherwise, its rows that still run are right, and the others wrote
where nobody reads before writing: behind the end of a sequence, in a block of its own; what comes to that block later
comes later to the device, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from engine.backends.torch.decoder import Decoder
from engine.backends.torch.graph_layers import GraphLayers
from engine.backends.torch.paged_kv import BLOCK_SIZE, PagedKv
from engine.backends.torch.token_rows import TokenRows, are_next_tokens
from engine.batch import BatchRow
from engine.speculation import MAX_PROPOSED

BUCKETS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)


@dataclass(slots=True)
class _Launched:
    """A step on its way."""

    size: int
    row_of: dict[int, int]                          # by slot: of its first token
    tokens_here: Tensor                             # int64, pinned; there once `is_done`
    is_done: torch.cuda.Event
    expected: dict[int, tuple[int, int]] = field(default_factory=dict)     # (position, token) by slot: right for those

    def is_of(self, rows: Sequence[BatchRow]) -> bool:
        """Whether it computes these rows, some of its own."""
        return all(
            not row.num_proposed and self.expected.get(row.slot) == (row.position, row.token_ids[0]) for row in rows
        )


class GraphDecoder:
    def __init__(self, decoder: Decoder, kv: PagedKv, *, max_num_seqs: int, max_model_len: int) -> None:
        device = decoder.weights.embedding.device
        self._spare_block = kv.num_blocks - 1       # which no sequence gets
        self._max_rows = min(max(2 * max_num_seqs, 1 + MAX_PROPOSED), BUCKETS[-1])      # of one token each
        self._width = -(-max_model_len // BLOCK_SIZE)
        slots = max_num_seqs + 1                    # the last for rows that fill up
        self._tables_here = torch.full((slots, self._width), self._spare_block, dtype=torch.int32).pin_memory()
        self._tables = self._tables_here.to(device)
        self._num_known: dict[int, int] = {}        # blocks of each slot's table that are on the device
        self._tables_came = torch.cuda.Event()
        # Token ids, positions and slots; -1 - i in the place of an id: what the step before chose for its row i.
        self._inputs = torch.zeros(3, self._max_rows, dtype=torch.int32, device=device)
        # What is copied asynchronously lies in turn in two places: one is still on its way while the other is written.
        self._inputs_here = [torch.zeros(3, self._max_rows, dtype=torch.int32).pin_memory() for _ in range(2)]
        self._tokens_here = [torch.zeros(self._max_rows, dtype=torch.int64).pin_memory() for _ in range(2)]
        self._turn = 0
        self._ahead: _Launched | None = None        # the step after the last one, where it runs already
        self._layers = GraphLayers(decoder, kv, self._tables, max_rows=self._max_rows)
        self._graphs: dict[tuple[int, bool], torch.cuda.CUDAGraph] = {}     # by number of rows, and `are_each_anothers`

    def takes(self, rows: Sequence[BatchRow]) -> bool:
        return are_next_tokens(rows, self._max_rows)

    def forget(self, slot: int) -> None:
        """Its sequence left, or gave back blocks of wrong proposals: what comes next there brings its table."""
        self._num_known.pop(slot, None)
        if self._ahead is not None:
            self._ahead.expected.pop(slot, None)

    def forward(self, rows: Sequence[BatchRow]) -> Tensor:
        """float32 logits [tokens, vocab], valid until the next call."""
        self._ahead = None
        self._replay(TokenRows.of(rows), rows)
        return self._layers.logits[: sum(len(row.token_ids) for row in rows)]

    def likeliest(self, rows: Sequence[BatchRow]) -> list[list[int]]:
        """The likeliest token after each of every row's. The step after this one is launched before this one's tokens
        are waited for: they are taken from the device, so that it need not stand still while Python thinks.
        """
        ahead, self._ahead = self._ahead, None
        launched = ahead if ahead is not None and ahead.is_of(rows) else self._replay(TokenRows.of(rows), rows)
        following = self._launch_after(launched, rows) if self._can_go_on(rows) else None
        launched.is_done.synchronize()
        found: list[int] = launched.tokens_here[: launched.size].tolist()
        firsts = [launched.row_of[row.slot] for row in rows]
        tokens = [found[first : first + len(row.token_ids)] for first, row in zip(firsts, rows, strict=True)]
        if following is not None:
            following.expected = {
                row.slot: (row.position + 1, token) for row, (token,) in zip(rows, tokens, strict=True)
            }
            self._ahead = following
        return tokens

    def _can_go_on(self, rows: Sequence[BatchRow]) -> bool:
        """The next step can be told: nothing is proposed, and there are blocks for it."""
        return all(
            not row.num_proposed and row.position + 2 <= min(len(row.block_table), self._width) * BLOCK_SIZE
            for row in rows
        )

    def _launch_after(self, last: _Launched, rows: Sequence[BatchRow]) -> _Launched:
        """The step of the tokens that `last` is choosing, for these of its rows."""
        coming = TokenRows(
            token_ids=[-1 - last.row_of[row.slot] for row in rows], positions=[row.position + 1 for row in rows],
            slots=[row.slot for row in rows],
        )
        return self._replay(coming, rows)

    def _replay(self, tokens: TokenRows, rows: Sequence[BatchRow]) -> _Launched:
        size, kind = self._size(len(tokens.token_ids)), len(tokens.token_ids) == len(rows)
        self._bring_tables(rows)
        self._inputs.copy_(self._fill_inputs(tokens, size), non_blocking=True)
        self._turn = 1 - self._turn
        tokens_here, is_done = self._tokens_here[self._turn], torch.cuda.Event()
        with torch.inference_mode():
            if (size, kind) not in self._graphs:
                self._graphs[size, kind] = self._capture(size, are_each_anothers=kind)
            self._graphs[size, kind].replay()
            tokens_here.copy_(self._layers.best, non_blocking=True)
        is_done.record()
        return _Launched(size, tokens.firsts, tokens_here, is_done)

    def _fill_inputs(self, tokens: TokenRows, size: int) -> Tensor:
        """What is missing works in a block of nobody's."""
        here = self._inputs_here[self._turn]
        inputs, num_rows = here.numpy(), len(tokens.token_ids)
        inputs[0, :num_rows], inputs[1, :num_rows], inputs[2, :num_rows] = (
            tokens.token_ids, tokens.positions, tokens.slots
        )
        inputs[0, num_rows:], inputs[1, num_rows:size], inputs[2, num_rows:size] = 0, 0, len(self._tables_here) - 1
        return here

    def _size(self, num_rows: int) -> int:
        return min(next(bucket for bucket in (*BUCKETS, self._max_rows) if bucket >= num_rows), self._max_rows)

    def _bring_tables(self, rows: Sequence[BatchRow]) -> None:
        changed = [row for row in rows if self._num_known.get(row.slot) != len(row.block_table)]
        if not changed:
            return
        self._tables_came.synchronize()             # the last ones, before they are written over
        tables = self._tables_here.numpy()
        for row in changed:
            tables[row.slot, : len(row.block_table)] = row.block_table
            self._num_known[row.slot] = len(row.block_table)
        self._tables.copy_(self._tables_here, non_blocking=True)
        self._tables_came.record()

    def _capture(self, size: int, *, are_each_anothers: bool) -> torch.cuda.CUDAGraph:
        def step() -> None:
            self._layers.step(self._inputs[:, :size], are_each_anothers=are_each_anothers)

        chosen = self._layers.best.clone()          # which the step may begin with, and the rehearsal writes over
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):             # kernels are compiled and libraries warmed up outside of the graph
            step()
        torch.cuda.current_stream().wait_stream(stream)
        self._layers.best.copy_(chosen)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph
