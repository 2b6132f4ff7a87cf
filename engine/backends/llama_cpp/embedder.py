"""llama.cpp as an `Embedder`: several inputs, each a sequence of its own, in one pass; the library pools them.

All of it runs on the engine's thread. What must hold, or the library ends the process: a pass fits into one of its
micro-batches, for pooling looks at all tokens of an input at once; no input has more tokens than the model has
positions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.embedder import EmbedderInfo
from engine.backends.llama_cpp.context import NativeBatch, StreamRow, whole_cells
from engine.backends.llama_cpp.library import LIBRARY_VERSION, log_tail, native
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.native_context import ABORTED, context_params, new_context
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.errors import EngineFailed
from engine.told import Told

MAX_INPUTS = 32                     # in a pass: more gain nothing, and a recurrent model pays for each


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderConfig:
    """What the memory plan and the trial decided."""

    path: Path
    pooling: str                    # "mean", "cls" or "last"
    max_model_len: int
    max_num_batched_tokens: int
    bytes_per_token: int            # of a pass
    num_threads: int
    options: RunOptions = field(default_factory=RunOptions)


class LlamaCppEmbedder:
    """Raises ModelLoadError when it cannot be made, EngineFailed when a pass fails.

    A context is as large as a step; a longer input has one made for it, which goes at the next step.
    """

    def __init__(self, config: EmbedderConfig) -> None:
        self._config = config
        with ExitStack() as undo:
            self._model = NativeModel(config.path, config.options, embeds=True)
            undo.callback(self._model.close)
            max_model_len = min(config.max_model_len, self._model.context_length)
            num_batched_tokens = min(config.max_num_batched_tokens, max_model_len)
            self._usual_size = whole_cells(num_batched_tokens)
            self._tokenizer = LlamaTokenizer(self._model)
            self._context = PoolingContext(self._model, config, self._usual_size)
            undo.pop_all()
        self._info = EmbedderInfo(
            name="llama.cpp",
            version=LIBRARY_VERSION,
            device="gpu" if config.options.gpu_layers else "cpu",
            width=self._model.embedding_width,
            vocab_size=self._model.vocab_size,
            max_model_len=max_model_len,
            max_num_inputs=MAX_INPUTS,
            max_num_batched_tokens=num_batched_tokens,
            weight_bytes=self._model.weight_bytes,
            kv_bytes=config.bytes_per_token * max_model_len,
        )

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    @property
    def tokenizer(self) -> LlamaTokenizer:
        return self._tokenizer

    @property
    def held_bytes(self) -> int:
        return min(self._config.bytes_per_token * self._context.size, self._info.kv_bytes)

    def embed(
        self, inputs: Sequence[Sequence[int]], is_wanted: Callable[[], bool] = lambda: True
    ) -> NDArray[np.float32] | None:
        size = max(self._usual_size, whole_cells(sum(map(len, inputs))))
        if size != self._context.size:
            self._context.close()
            self._context = PoolingContext(self._model, self._config, size)
        if size == self._usual_size:
            return self._context.embed(inputs)
        return self._context.embed(inputs, is_wanted)

    def close(self) -> None:
        self._tokenizer.close()
        self._context.close()
        self._model.close()


class PoolingContext:
    """Owner of a `llama_context *` that gives a vector for each sequence, `size` tokens in all of them together."""

    def __init__(self, model: NativeModel, config: EmbedderConfig, size: int) -> None:
        lib = native()
        params = context_params(model, num_batch_tokens=size, num_threads=config.num_threads)
        params.embeddings = True
        params.pooling_type = getattr(lib, f"LLAMA_POOLING_TYPE_{config.pooling.upper()}")
        params.n_ctx = size
        params.n_seq_max = MAX_INPUTS
        params.kv_unified = True             # sequences of any length share the cells
        self._pointer: Any = new_context(model, params, size=str(size), advice=Told("advice-context"))
        self.size = size
        self._width = model.embedding_width
        self._memory: Any = lib.llama_get_memory(self._pointer)      # none where a model reads both ways
        self._batch = NativeBatch(size, MAX_INPUTS)

    def embed(
        self, inputs: Sequence[Sequence[int]], is_wanted: Callable[[], bool] | None = None
    ) -> NDArray[np.float32] | None:
        lib = native()
        if self._memory:
            lib.llama_memory_clear(self._memory, False)
        self._batch.fill([StreamRow(index, 0, list(tokens), 0) for index, tokens in enumerate(inputs)])
        log_tail.clear()
        with _Watch(self._pointer, is_wanted):
            code = (lib.llama_decode if self._memory else lib.llama_encode)(self._pointer, self._batch.native)
        if code == ABORTED:
            return None
        if code != 0:
            raise EngineFailed(Told("step-failed", number=code, detail=log_tail.cause()))
        return np.stack([self._vector(index) for index in range(len(inputs))])

    def _vector(self, index: int) -> NDArray[np.float32]:
        pointer = native().llama_get_embeddings_seq(self._pointer, index)       # waits for the pass to end
        if not pointer:
            raise EngineFailed("llama.cpp gave no vector for an input. Load the model again.")
        return np.ctypeslib.as_array(pointer, (self._width,)).copy()

    def close(self) -> None:
        if self._pointer:
            native().llama_free(self._pointer)
            self._pointer = None


class _Watch:
    """While entered, the library asks `is_wanted` after each operation of a pass, on this very thread."""

    def __init__(self, context: Any, is_wanted: Callable[[], bool] | None) -> None:
        self._context = context
        self._is_wanted = is_wanted
        self._error: Exception | None = None

    def __enter__(self) -> None:
        if self._is_wanted is not None:
            self._callback = native().ggml_abort_callback(self._must_end)       # kept: the library holds a pointer
            native().llama_set_abort_callback(self._context, self._callback, None)

    def __exit__(self, *_: object) -> None:
        if self._is_wanted is not None:
            native().llama_set_abort_callback(self._context, native().ggml_abort_callback(), None)
        if self._error is not None:
            raise self._error

    def _must_end(self, _data: ctypes.c_void_p) -> bool:
        assert self._is_wanted is not None
        try:
            return not self._is_wanted()
        except Exception as error:  # noqa: BLE001 - it cannot pass through C; `__exit__` raises it
            self._error = error
            return True
