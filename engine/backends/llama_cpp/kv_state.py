"""The bytes of one sequence's KV as llama.cpp writes and reads them, cut and joined in numpy. Engine's thread.

A blob of `llama_state_seq_get_data_ext`, in little-endian 32-bit words unless said otherwise:

    magic, sequence id
    number of streams
    for each stream: its number of cells n; where that is not 0, which it is for the sequence's own stream only:
        n times: position, 1, sequence id
        whether V is transposed (0), number of layers
        for each K plane, then for each V plane: type, row bytes (64 bits), n rows

Rows are plain strides, so any stretch of tokens can be taken out and put in again. `StateLayout.learn` accepts nothing
else: there are other formats for recurrent layers, sliding windows, positions in images, and without flash attention.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineFailed

Bytes = NDArray[np.uint8]
Piece = tuple[Bytes, ...]      # KV of a stretch of tokens: [planes, tokens, row bytes] for each run of equal planes

_WORD_BYTES = 4
_HEAD_BYTES = 2 * _WORD_BYTES       # magic, sequence id
_CELL_BYTES = 3 * _WORD_BYTES       # position, number of sequence ids, sequence id
_PLANE_HEAD_BYTES = 12              # type, row bytes
_MAX_ROW_BYTES = 1 << 24
_MAX_LAYERS = 1 << 16


@dataclass(frozen=True, slots=True)
class _PlaneRun:
    """Consecutive planes with rows of one size."""

    heads: Bytes                    # [planes, 12]
    row_bytes: int

    @property
    def num_planes(self) -> int:
        return len(self.heads)

    def plane_bytes(self, num_tokens: int) -> int:
        return _PLANE_HEAD_BYTES + num_tokens * self.row_bytes


@dataclass(frozen=True, slots=True)
class StateLayout:
    """How this model's blobs are built; learnt once from a sample."""

    magic: int
    num_layers: int
    runs: tuple[_PlaneRun, ...]

    @classmethod
    def learn(cls, blob: Bytes, *, num_tokens: int, num_streams: int) -> StateLayout | None:
        """From the state of stream 0, tokens 0 .. num_tokens-1; None where the format is not the plain one."""
        for planes_a_layer in (2, 1):                       # K and V; models with latent attention keep K alone
            layout = _read(blob, num_tokens, num_streams, planes_a_layer)
            if layout is not None:
                return layout
        return None

    @property
    def token_bytes(self) -> int:
        return sum(run.num_planes * run.row_bytes for run in self.runs)

    def blob_bytes(self, num_tokens: int, num_streams: int) -> int:
        fixed = _HEAD_BYTES + (1 + num_streams + 2) * _WORD_BYTES + num_tokens * _CELL_BYTES
        return fixed + sum(run.num_planes * run.plane_bytes(num_tokens) for run in self.runs)

    def open(self, blob: Bytes, *, num_tokens: int, num_streams: int, stream: int) -> Piece:
        """Views of the KV inside a blob, in order of position. Raises EngineFailed if there are gaps."""
        if len(blob) != self.blob_bytes(num_tokens, num_streams):
            raise EngineFailed("llama.cpp gave a sequence's state in an unexpected size. Load the model again.")
        at = _HEAD_BYTES + (1 + stream + 1) * _WORD_BYTES
        positions = blob[at:at + num_tokens * _CELL_BYTES].view(np.int32)[::3]
        order = np.argsort(positions)
        expected = np.arange(num_tokens)
        if not np.array_equal(positions[order], expected):
            raise EngineFailed("A sequence's state has gaps. Load the model again.")
        views = self._views(blob, at + num_tokens * _CELL_BYTES + 2 * _WORD_BYTES, num_tokens)
        if np.array_equal(order, expected):
            return views
        return tuple(view[:, order] for view in views)

    def build(self, blob: Bytes, *, num_tokens: int, num_streams: int) -> Piece:
        """Write all of a blob but its KV into `blob`, and return the views to fill. It restores into any stream."""
        words = np.zeros(4 + 3 * num_tokens + 2, np.uint32)
        words[:4] = self.magic, 0, num_streams, num_tokens
        words[4:-2:3] = np.arange(num_tokens)
        words[5:-2:3] = 1
        words[-1] = self.num_layers
        blob[:words.nbytes] = words.view(np.uint8)
        blob[len(blob) - (num_streams - 1) * _WORD_BYTES:] = 0
        at = words.nbytes
        for run in self.runs:
            _strided(blob, at, run, num_tokens, (run.num_planes, _PLANE_HEAD_BYTES))[:] = run.heads
            at += run.num_planes * run.plane_bytes(num_tokens)
        return self._views(blob, words.nbytes, num_tokens)

    def piece_of(self, data: memoryview, num_tokens: int) -> Piece:
        """What `bytes_of` a piece of so many tokens made of it. Views of `data`."""
        if len(data) != num_tokens * self.token_bytes:
            raise EngineFailed(f"{len(data)} bytes of KV were read for {num_tokens} tokens. Load the model again.")
        views: list[Bytes] = []
        at = 0
        for run in self.runs:
            end = at + run.num_planes * num_tokens * run.row_bytes
            views.append(np.frombuffer(data[at:end], np.uint8).reshape(run.num_planes, num_tokens, run.row_bytes))
            at = end
        return tuple(views)

    @property
    def facts(self) -> str:
        """All that must be equal for another process to read such a piece."""
        heads = ", ".join(f"{run.heads.tobytes().hex()}" for run in self.runs)
        return f"magic {self.magic}, {self.num_layers} layers, planes {heads}"

    def _views(self, blob: Bytes, at: int, num_tokens: int) -> Piece:
        views: list[Bytes] = []
        for run in self.runs:
            shape = (run.num_planes, num_tokens, run.row_bytes)
            views.append(_strided(blob, at + _PLANE_HEAD_BYTES, run, num_tokens, shape))
            at += run.num_planes * run.plane_bytes(num_tokens)
        return tuple(views)


def cut(piece: Piece, start: int, stop: int) -> Piece:
    """A copy of the tokens start .. stop-1, with memory of its own."""
    return tuple(array[:, start:stop].copy() for array in piece)


def bytes_of(piece: Piece, num_tokens: int) -> list[memoryview]:
    """Of its first tokens. Copied only where it has more."""
    return [np.ascontiguousarray(array[:, :num_tokens]).data.cast("B") for array in piece]


def num_tokens_of(piece: Piece) -> int:
    return int(piece[0].shape[1])


def fill(target: Piece, pieces: list[Piece]) -> None:
    """Lay pieces one after another into the views of a blob, until it is full."""
    size, at = num_tokens_of(target), 0
    for piece in pieces:
        count = min(num_tokens_of(piece), size - at)
        for into, source in zip(target, piece, strict=True):
            into[:, at:at + count] = source[:, :count]
        at += count
    if at != size:
        raise EngineFailed("A cached prefix is shorter than its blocks say. Load the model again.")


def _read(blob: Bytes, num_tokens: int, num_streams: int, planes_a_layer: int) -> StateLayout | None:
    """Walk an unknown blob; None at the first word that the plain format would not have."""
    num_words = 4 + 3 * num_tokens + 2
    words = blob[:num_words * _WORD_BYTES].copy()
    if len(words) < num_words * _WORD_BYTES:
        return None
    magic, _, *counts, is_transposed, num_layers = map(int, words.view(np.uint32))
    cells = [word for position in range(num_tokens) for word in (position, 1, 0)]
    if counts != [num_streams, num_tokens, *cells] or is_transposed or not 0 < num_layers < _MAX_LAYERS:
        return None
    heads: list[Bytes] = []
    at = num_words * _WORD_BYTES
    for _ in range(num_layers * planes_a_layer):
        head = blob[at:at + _PLANE_HEAD_BYTES].copy()
        if not 0 < _row_bytes(head) <= _MAX_ROW_BYTES:
            return None
        heads.append(head)
        at += _PLANE_HEAD_BYTES + num_tokens * _row_bytes(head)
    rest = blob[at:]
    if len(rest) != (num_streams - 1) * _WORD_BYTES or rest.any():
        return None
    return StateLayout(magic, num_layers, _runs_of(heads))


def _row_bytes(head: Bytes) -> int:
    return int.from_bytes(bytes(head[_WORD_BYTES:]), "little")


def _runs_of(heads: list[Bytes]) -> tuple[_PlaneRun, ...]:
    runs: list[list[Bytes]] = []
    for head in heads:
        if runs and _row_bytes(runs[-1][0]) == _row_bytes(head):
            runs[-1].append(head)
        else:
            runs.append([head])
    return tuple(_PlaneRun(np.stack(run), _row_bytes(run[0])) for run in runs)


def _strided(blob: Bytes, at: int, run: _PlaneRun, num_tokens: int, shape: tuple[int, ...]) -> Bytes:
    """A view of the planes of a run: of their heads (2 dimensions) or of their rows (3)."""
    strides = (run.plane_bytes(num_tokens), run.row_bytes, 1) if len(shape) == 3 else (run.plane_bytes(num_tokens), 1)
    return np.lib.stride_tricks.as_strided(blob[at:], shape, strides)
