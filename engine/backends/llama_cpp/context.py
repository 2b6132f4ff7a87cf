"""A llama.cpp context: a rectangle of KV cells, a stream a sequence. The back end owns it; the engine's thread.

What must hold, or the library ends the process or splits a step in silence: no batch larger than `n_batch`, no copy
of a part of one stream to another, rows in order of their streams, streams numbered without holes. The back end
sees to the last.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.abort_flag import AbortFlag
from engine.backends.llama_cpp.kv_state import Bytes
from engine.backends.llama_cpp.library import log_tail, native
from engine.backends.llama_cpp.model import NativeModel, pointer_to
from engine.backends.llama_cpp.native_context import ABORTED, context_params, new_context
from engine.errors import EngineFailed, ModelLoadError
from engine.told import Told

CELL_STEP = 256                     # llama.cpp rounds a stream's cells up to a multiple of this
KV_TYPES = {"f32": 0, "f16": 1, "q8_0": 8}

_KEPT_SCRATCH_BYTES = 16 << 20      # room for a long chat of a small model; more is given back after use


@dataclass(frozen=True, slots=True)
class ContextShape:
    """Streams, and cells (tokens) in each. All of it is resident from creation, used or not."""

    num_streams: int
    num_cells: int

    def grown_to(self, num_streams: int, num_cells: int, limit: ContextShape) -> ContextShape:
        """The next shape that holds so much, within `limit`.

        Growing costs a copy, and should be rare: so both double. Where a sequence wants more cells than that, it gets
        an eighth to spare and no more, for the library writes to every cell at once.
        """
        cells = self.num_cells
        if cells < num_cells:
            cells = min(whole_cells(max(2 * cells, num_cells + num_cells // 8)), limit.num_cells)
        return ContextShape(_doubled(self.num_streams, num_streams, limit.num_streams), min(cells, limit.num_cells))


def _doubled(size: int, wanted: int, limit: int) -> int:
    while size < wanted:
        size *= 2
    return min(size, limit)


def whole_cells(num_tokens: int) -> int:
    return -(-num_tokens // CELL_STEP) * CELL_STEP


@dataclass(frozen=True, slots=True)
class StreamRow:
    """Tokens of one stream in a step, from `position` on; logits are wanted after each of the last `num_logits`."""

    stream: int
    position: int
    token_ids: list[int]
    num_logits: int


class StepInterrupted(Exception):
    """The flag was set in the midst of a step. Some of its tokens may have KV, none has logits."""


class Context:
    """Owner of a `llama_context *`. Raises ModelLoadError where it cannot be made."""

    def __init__(
        self, model: NativeModel, shape: ContextShape, *, num_batch_tokens: int, num_threads: int, kv_type: str = "f16",
        abort_flag: AbortFlag | None = None,
    ) -> None:
        lib = native()
        params = context_params(model, num_batch_tokens=num_batch_tokens, num_threads=num_threads)
        params.n_ctx = shape.num_streams * shape.num_cells
        params.n_seq_max = shape.num_streams
        params.kv_unified = False
        params.swa_full = False              # a layer with a sliding window keeps no more than its window
        params.type_k = params.type_v = KV_TYPES[kv_type]
        self._pointer: Any = new_context(
            model, params, size=f"{shape.num_streams} x {shape.num_cells}",
            advice=Told("advice-context-chats"),
        )
        model.adapt(self._pointer)
        self.shape = shape
        self._memory: Any = lib.llama_get_memory(self._pointer)
        if lib.llama_n_batch(self._pointer) < num_batch_tokens or not self._memory:
            self.close()
            raise ModelLoadError(Told("no-memory-of-text"))
        if abort_flag is not None:
            abort_flag.install(self._pointer)
        self._vocab_size = model.vocab_size
        self._num_threads = num_threads
        self._batch = NativeBatch(num_batch_tokens, shape.num_streams)
        self._scratch: Bytes = np.empty(0, np.uint8)

    def use_threads(self, num_threads: int) -> None:
        """For the passes that follow, whether of one token or of many."""
        if num_threads != self._num_threads:
            native().llama_set_n_threads(self._pointer, num_threads, num_threads)
            self._num_threads = num_threads

    def decode(self, rows: Sequence[StreamRow]) -> NDArray[np.float32]:
        """One forward pass; rows in order of their streams. Gives logits [wanted, vocab_size], in the rows' order.

        They lie in the library's own memory: good until the next call. Raises StepInterrupted, EngineFailed.
        """
        lib = native()
        num_logits = self._batch.fill(rows)
        log_tail.clear()
        code = lib.llama_decode(self._pointer, self._batch.native)
        if code == ABORTED:
            raise StepInterrupted
        if code != 0:
            raise EngineFailed(Told("step-failed", number=code, detail=log_tail.cause()))
        if num_logits == 0:
            lib.llama_synchronize(self._pointer)
            return np.empty((0, self._vocab_size), np.float32)
        pointer = lib.llama_get_logits(self._pointer)                       # waits for the pass to end
        return np.ctypeslib.as_array(pointer, (num_logits, self._vocab_size))

    def read_stream(self, stream: int) -> Bytes:
        """A stream's state. A view of scratch memory: good until the next call here."""
        lib = native()
        size = lib.llama_state_seq_get_size_ext(self._pointer, stream, 0)
        blob = self.scratch(size)
        if lib.llama_state_seq_get_data_ext(self._pointer, pointer_to(blob, ctypes.c_uint8), size, stream, 0) != size:
            raise EngineFailed("llama.cpp did not give the state of a sequence. Load the model again.")
        return blob

    def write_stream(self, stream: int, blob: Bytes) -> None:
        """Replace a stream's state by one that a context with as many streams gave, or that was built for it."""
        lib = native()
        if lib.llama_state_seq_set_data_ext(self._pointer, pointer_to(blob, ctypes.c_uint8), len(blob), stream, 0) == 0:
            raise EngineFailed("llama.cpp did not take the state of a sequence back. Load the model again.")

    def clear_stream(self, stream: int) -> None:
        native().llama_memory_seq_rm(self._memory, stream, -1, -1)

    def copy_stream(self, source: int, target: int) -> None:
        """Done within the next pass, all cells at once, used or not. Not for recurrent models."""
        native().llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def cut_stream(self, stream: int, num_tokens: int) -> None:
        """Drop what lies behind the first `num_tokens` tokens."""
        if not native().llama_memory_seq_rm(self._memory, stream, num_tokens, -1):
            raise EngineFailed("llama.cpp did not let go of a part of a sequence. Load the model again.")

    def num_tokens(self, stream: int) -> int:
        return int(native().llama_memory_seq_pos_max(self._memory, stream)) + 1

    def scratch(self, size: int) -> Bytes:
        """Memory for one blob, kept while it is small."""
        if len(self._scratch) >= size:
            return self._scratch[:size]
        memory = np.empty(size, np.uint8)
        if size <= _KEPT_SCRATCH_BYTES:
            self._scratch = memory
        return memory

    def close(self) -> None:
        if self._pointer:
            native().llama_free(self._pointer)
            self._pointer = None


class NativeBatch:
    """A `llama_batch` over numpy arrays, filled a row at a time: ctypes, token by token, would take milliseconds."""

    def __init__(self, capacity: int, num_streams: int) -> None:
        self._token_ids = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._num_streams = np.ones(capacity, np.int32)
        self._wants_logits = np.zeros(capacity, np.int8)
        self._stream_ids = np.arange(num_streams, dtype=np.int32)
        self._stream_pointers = np.zeros(capacity, np.uintp)
        offsets = np.arange(num_streams, dtype=np.uintp) * self._stream_ids.itemsize
        self._pointer_of = self._stream_ids.ctypes.data + offsets
        batch = native().llama_batch()
        batch.token = pointer_to(self._token_ids, ctypes.c_int32)
        batch.embd = None
        batch.pos = pointer_to(self._positions, ctypes.c_int32)
        batch.n_seq_id = pointer_to(self._num_streams, ctypes.c_int32)
        batch.seq_id = pointer_to(self._stream_pointers, ctypes.POINTER(ctypes.c_int32))
        batch.logits = pointer_to(self._wants_logits, ctypes.c_int8)
        self.native = batch

    def fill(self, rows: Sequence[StreamRow]) -> int:
        """Number of tokens after which logits are wanted."""
        start = num_logits = 0
        for row in rows:
            end = start + len(row.token_ids)
            if end > len(self._token_ids):
                raise EngineFailed(f"A step has more than {len(self._token_ids)} tokens, the most this context takes.")
            self._token_ids[start:end] = row.token_ids
            self._positions[start:end] = np.arange(row.position, row.position + len(row.token_ids))
            self._stream_pointers[start:end] = self._pointer_of[row.stream]
            self._wants_logits[start:end] = 0
            self._wants_logits[end - row.num_logits : end] = 1
            num_logits += row.num_logits
            start = end
        self.native.n_tokens = start
        return num_logits
