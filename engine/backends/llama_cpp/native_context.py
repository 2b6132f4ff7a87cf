"""Makes contexts of the native library: what all of them have in common, whether they write or embed. Any owner's
thread.
"""

from __future__ import annotations

from typing import Any

from engine.backends.llama_cpp.library import log_tail, native
from engine.backends.llama_cpp.model import NativeModel
from engine.errors import ModelLoadError
from engine.told import Told

ABORTED = 2                         # what llama_decode says after the abort callback did

_FLASH_ATTENTION = {False: 0, True: 1}


def context_params(model: NativeModel, *, num_batch_tokens: int, num_threads: int) -> Any:
    """For a context whose passes are one micro-batch each, of so many tokens at the most."""
    params = native().llama_context_default_params()
    params.n_batch = params.n_ubatch = num_batch_tokens
    params.n_threads = params.n_threads_batch = num_threads
    params.flash_attn_type = _FLASH_ATTENTION[model.options.flash_attention]
    params.offload_kqv = params.op_offload = model.options.gpu_layers > 0
    params.no_perf = True
    return params


def new_context(model: NativeModel, params: Any, *, size: str, advice: Told) -> Any:
    """A `llama_context *`, the caller's to free. Raises ModelLoadError."""
    log_tail.clear()
    pointer = native().llama_init_from_model(model.pointer, params)
    if not pointer:
        raise ModelLoadError(Told("no-context", size=size, detail=log_tail.cause(), advice=advice))
    return pointer
