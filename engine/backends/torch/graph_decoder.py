"""Steps of one token a sequence on CUDA, which most are, or of one and some proposed: the whole step is one graph,
launched in one call, the choice of the next tokens included.

Prompts take decoder.py's way. Here each token is a row (token_rows.py). Buffers are fixed; a graph is captured for each
number of them of `BUCKETS`, while nothing is asked or when it is first needed; missing ones are made up by some that
work in a block of nobody's. On the engine's thread.

Where none is proposed, steps are launched one after another, more than are asked for, as they are if nobody ends, comes
or has something proposed: the device never waits for Python. If it turns out otherwise, their rows that still run are
right, and the others wrote where nobody reads before writing: behind the end of a sequence, in a block of its own; what
comes to that block later comes later to the device, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
import structlog
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.backends.torch.decoder import Decoder
from engine.backends.torch.device_sampler import NUM_FACTS, UNCERTAIN, DeviceSampler, draws_of
from engine.backends.torch.graph_capture import GraphCapture
from engine.backends.torch.graph_layers import GraphLayers
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.stream import Stream
from engine.backends.torch.token_rows import TokenRows, are_next_tokens
from engine.batch import BatchRow
from engine.speculation import MAX_PROPOSED

MAX_STEPS: Final = 8            # at once
BUCKETS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)

logger = structlog.get_logger(__name__)
_position = attrgetter("position")


def num_ahead_of(num_steps: int) -> int:
    """Steps launched beyond so many that are taken at once: while they run, Python has time."""
    return (num_steps + 1) // 2


MAX_LAUNCHED: Final = MAX_STEPS + num_ahead_of(MAX_STEPS)


def most_rows(max_num_seqs: int) -> int:
    """Of one token each, in a graph."""
    return min(max(2 * max_num_seqs, 1 + MAX_PROPOSED), BUCKETS[-1])


class _Kind(NamedTuple):
    """Of a graph."""

    size: int                                       # rows
    are_each_anothers: bool                         # no two rows are of one sequence
    draws: bool                                     # not all take the likeliest


@dataclass(slots=True)
class _Launched:
    """A step on its way."""

    size: int
    draws: bool
    row_of: dict[int, int]                          # by slot: of its first token
    tokens_here: NDArray[np.int64]                  # there once `is_done`
    is_done: torch.cuda.Event
    expected: dict[int, tuple[int, int]] = field(default_factory=dict)     # (position, token) by slot: right for those

    def is_of(self, rows: Sequence[BatchRow]) -> bool:
        """Whether it computes these rows, some of its own."""
        return all(
            not row.num_proposed and self.expected.get(row.slot) == (row.position, row.token_ids[0]) for row in rows
        )


def _event() -> torch.cuda.Event:
    """One that has come, so that it is there for others than torch, too."""
    event = torch.cuda.Event()
    event.record()
    return event


def _longest_first(rows: Sequence[BatchRow]) -> list[BatchRow]:
    """The device begins them in order: one that takes long must not be what all others' processors wait for."""
    return sorted(rows, key=_position, reverse=True)


def _joined(taken: Sequence[_Launched], rows: Sequence[BatchRow]) -> list[list[int]]:
    """Each row's tokens, of steps that are done; all as many, so that none comes after one that is UNCERTAIN."""
    tokens: list[list[int]] = [[] for _ in rows]
    for launched in taken:
        found: list[int] = launched.tokens_here[: launched.size].tolist()
        firsts = [launched.row_of[row.slot] for row in rows]
        step = [found[first : first + len(row.token_ids)] for first, row in zip(firsts, rows, strict=True)]
        if any(UNCERTAIN in each for each in step):
            break
        for before, each in zip(tokens, step, strict=True):
            before.extend(each)
    return tokens


class GraphDecoder:
    max_steps: Final = MAX_STEPS
    num_tokens_ahead: Final = MAX_LAUNCHED

    def __init__(
        self, decoder: Decoder, kv: PagedKv, sampler: DeviceSampler, stream: Stream, capture: GraphCapture, *,
        max_num_seqs: int, max_model_len: int, speculates: bool = False,
    ) -> None:
        device = decoder.weights.embedding.device
        self._spare_block = kv.num_blocks - 1       # which no sequence gets
        self._max_num_seqs, self._max_rows = max_num_seqs, most_rows(max_num_seqs)
        self._width = -(-max_model_len // BLOCK_SIZE)
        slots = max_num_seqs + 1                    # the last for rows that fill up
        self._stream, self._captured = stream, capture
        self._tables_here = torch.full((slots, self._width), self._spare_block, dtype=torch.int32).pin_memory()
        self._tables = self._tables_here.to(device)
        self._num_known: dict[int, int] = {}        # blocks of each slot's table that are on the device
        self._tables_came = _event()
        # Token ids, positions and slots; -1 - i in the place of an id: what the step before chose for its row i.
        self._inputs = torch.zeros(3, self._max_rows, dtype=torch.int32, device=device)
        self._draws = torch.zeros(NUM_FACTS, self._max_rows, dtype=torch.float64, device=device)
        # What is copied asynchronously lies in turn in as many places as steps are on their way, and one.
        turns = range(MAX_LAUNCHED + 1)
        self._inputs_here = [torch.zeros(3, self._max_rows, dtype=torch.int32).pin_memory() for _ in turns]
        self._draws_here = [torch.zeros(NUM_FACTS, self._max_rows, dtype=torch.float64).pin_memory() for _ in turns]
        self._tokens_here = [torch.zeros(self._max_rows, dtype=torch.int64).pin_memory() for _ in turns]
        self._is_done = [_event() for _ in turns]               # the step, and so what lay there has been copied
        self._turn = 0
        self._ahead: list[_Launched] = []           # the steps after the last one taken, where they run already
        self._sampler = sampler
        self._layers = GraphLayers(decoder, kv, self._tables, sampler, max_rows=self._max_rows)
        self._graphs: dict[_Kind, Callable[[], None]] = {}      # they launch it
        self._to_prepare = self._kinds(speculates=speculates)

    def takes(self, rows: Sequence[BatchRow]) -> bool:
        return are_next_tokens(rows, self._max_rows)

    def forget(self, slot: int) -> None:
        """Its sequence left, or gave back blocks of wrong proposals: what comes next there brings its table."""
        self._num_known.pop(slot, None)
        for launched in self._ahead[:1]:
            launched.expected.pop(slot, None)

    def rehearse(self) -> None:
        """Compute the first steps of one or two sequences, as far as `launching.rehearsal` does."""
        with torch.inference_mode():
            for kind in self._to_prepare:
                if kind.size <= 2 and kind.are_each_anothers:
                    self._bring(TokenRows([], [], []), kind, draws_of([]))
                    self._step(kind)

    def prepare(self) -> bool:
        """Capture one more of the graphs that a step may need. False: there are none left."""
        kind = next((kind for kind in self._to_prepare if kind not in self._graphs), None)
        if kind is None:
            return False
        self._ahead = []
        self._bring(TokenRows([], [], []), kind, draws_of([]))
        self._capture(kind)
        return True

    def close(self) -> None:
        """Wait until nothing is on its way to or from what is let go of now."""
        torch.cuda.synchronize()

    def forward(self, rows: Sequence[BatchRow]) -> Tensor:
        """float32 logits [tokens, vocab], valid until the next call."""
        self._ahead = []
        self._replay(TokenRows.of(rows), rows, None)
        return self._layers.logits[: sum(len(row.token_ids) for row in rows)]

    def choose(self, rows: Sequence[BatchRow], num_steps: int = 1) -> list[list[int]] | None:
        """The token after each of every row's; and where none is proposed, those of so many steps, or of fewer where
        their blocks end or the sampler is not certain. None where `DeviceSampler` takes not all of them, or is not
        certain in the first step: `forward` has their logits.
        """
        if not all(self._sampler.takes(row.sampling) for row in rows):
            return None
        draws = any(row.sampling is not None and not row.sampling.params.is_greedy for row in rows)
        launched, self._ahead = self._ahead, []
        in_order = _longest_first(rows)
        if not (launched and launched[0].is_of(rows) and launched[0].draws is draws):
            launched = [self._replay(TokenRows.of(in_order), in_order, 0 if draws else None)]
        room = self._num_steps_to_go(rows)
        num_steps = min(num_steps, room)
        while len(launched) < min(num_steps + num_ahead_of(num_steps), room):
            launched.append(self._launch_after(launched[-1], in_order, len(launched)))
        taken, following = launched[:num_steps], launched[num_steps:]
        self._stream.wait(taken[-1].is_done)
        tokens = _joined(taken, rows)
        if min(map(len, tokens)) == len(taken) and following:
            following[0].expected = {
                row.slot: (row.position + num_steps, each[-1]) for row, each in zip(rows, tokens, strict=True)
            }
            self._ahead = following
        return tokens if all(tokens) else None

    def _num_steps_to_go(self, rows: Sequence[BatchRow]) -> int:
        """So many can be told: nothing is proposed, and there are blocks for them."""
        if any(row.num_proposed for row in rows):
            return 1
        return min(min(len(row.block_table), self._width) * BLOCK_SIZE - row.position for row in rows)

    def _launch_after(self, last: _Launched, rows: Sequence[BatchRow], num_ahead: int) -> _Launched:
        """The step of the tokens that `last` is choosing, for these of its rows; so many steps after theirs."""
        coming = TokenRows(
            token_ids=[-1 - last.row_of[row.slot] for row in rows],
            positions=[row.position + num_ahead for row in rows], slots=[row.slot for row in rows],
        )
        return self._replay(coming, rows, num_ahead if last.draws else None)

    def _replay(self, tokens: TokenRows, rows: Sequence[BatchRow], num_ahead: int | None) -> _Launched:
        """`num_ahead`: draws are for tokens so many places after the rows' next; None: all take the likeliest."""
        num_tokens = len(tokens.token_ids)
        kind = _Kind(self._size(num_tokens), num_tokens == len(rows), num_ahead is not None)
        self._bring_tables(rows)
        self._bring(tokens, kind, draws_of(rows if kind.draws else [], num_ahead or 0))
        turn = self._turn
        if kind not in self._graphs:
            self._capture(kind)
        self._graphs[kind]()
        self._stream.fetch(self._tokens_here[turn], self._layers.said if kind.draws else self._layers.chosen)
        self._stream.mark(self._is_done[turn])
        self._turn = (turn + 1) % len(self._is_done)
        return _Launched(kind.size, kind.draws, tokens.firsts, self._tokens_here[turn].numpy(), self._is_done[turn])

    def _bring(self, tokens: TokenRows, kind: _Kind, draws: NDArray[np.float64]) -> None:
        turn = self._turn
        self._stream.wait(self._is_done[turn])      # a step that was launched ahead in vain may still be on its way
        inputs, num_rows = self._inputs_here[turn].numpy(), len(tokens.token_ids)
        inputs[0, :num_rows], inputs[1, :num_rows], inputs[2, :num_rows] = (
            tokens.token_ids, tokens.positions, tokens.slots
        )
        # What is missing works in a block of nobody's.
        inputs[0, num_rows:], inputs[1, num_rows:kind.size] = 0, 0
        inputs[2, num_rows:kind.size] = len(self._tables_here) - 1
        self._stream.bring(self._inputs, self._inputs_here[turn])
        if kind.draws:
            draws_here = self._draws_here[turn].numpy()
            draws_here[:, draws.shape[1] :] = 0.0   # who fills up takes the likeliest
            draws_here[:, : draws.shape[1]] = draws
            self._stream.bring(self._draws, self._draws_here[turn])

    def _size(self, num_rows: int) -> int:
        return min(next(bucket for bucket in (*BUCKETS, self._max_rows) if bucket >= num_rows), self._max_rows)

    def _bring_tables(self, rows: Sequence[BatchRow]) -> None:
        changed = [row for row in rows if self._num_known.get(row.slot) != len(row.block_table)]
        if not changed:
            return
        self._stream.wait(self._tables_came)        # the last ones, before they are written over
        tables = self._tables_here.numpy()
        for row in changed:
            tables[row.slot, : len(row.block_table)] = row.block_table
            self._num_known[row.slot] = len(row.block_table)
        self._stream.bring(self._tables, self._tables_here)
        self._stream.mark(self._tables_came)

    def _kinds(self, *, speculates: bool) -> list[_Kind]:
        """Those that steps of any number of sequences need, and with proposals: what most steps are comes first."""
        sizes = [size for size in BUCKETS if size < self._size(self._max_num_seqs)] + [self._size(self._max_num_seqs)]
        kinds = [_Kind(size, True, draws) for size in sizes for draws in (False, True)]
        if speculates:
            more = sorted({*sizes, *(size for size in BUCKETS if size < self._max_rows), self._max_rows} - {1})
            kinds += [_Kind(size, False, draws) for size in more for draws in (False, True)]
        return kinds

    def _capture(self, kind: _Kind) -> None:
        begun_s = time.monotonic()
        with torch.inference_mode():            # a step may begin with what was chosen, and trying it writes over that
            chosen = self._layers.chosen.clone()
            launch = self._captured(partial(self._step, kind))
            self._layers.chosen.copy_(chosen)
        self._graphs[kind] = launch
        logger.debug("graph_captured", **kind._asdict(), seconds=round(time.monotonic() - begun_s, 3))

    def _step(self, kind: _Kind) -> None:
        self._layers.step(
            self._inputs[:, : kind.size], self._draws if kind.draws else None, are_each_anothers=kind.are_each_anothers
        )
