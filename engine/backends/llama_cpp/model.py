"""A model's weights and vocabulary in llama.cpp, and how it is run. The engine's thread makes and closes it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.backends.llama_cpp.library import log_tail, native
from engine.errors import ModelLoadError
from engine.lora import Adapter
from engine.told import Told

_NO_GPU = -1
_VOCABULARY_NONE, _VOCABULARY_BPE = 0, 2     # LLAMA_VOCAB_TYPE_*


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the library is asked to do beyond the plain path. Each crashes somewhere: the trial finds what runs here."""

    gpu_layers: int = 0             # from the last backwards, the output as the first of them; 0: no GPU is touched
    main_gpu: int = 0               # which one, in the library's order
    repack: bool = True             # weights rearranged at load for the processor's matrix instructions
    flash_attention: bool = True    # without it V is stored transposed, and prefixes cannot be cached


def _listener(on_share: Callable[[float], None]) -> Any:
    def hear(share: float, _: Any) -> bool:
        on_share(share)
        return True                     # go on

    return native().llama_progress_callback(hear)


class NativeModel:
    """Owner of a `llama_model *`. Raises ModelLoadError where the library refuses the file.

    One that `embeds` is asked for vectors only, and may be an encoder. With `vocabulary_only` no weights are read.
    `on_share` hears, while it is made, how much of them is.
    """

    def __init__(
        self, path: Path, options: RunOptions, adapters: Sequence[Adapter] = (), *, embeds: bool = False,
        vocabulary_only: bool = False, on_share: Callable[[float], None] | None = None,
    ) -> None:
        lib = native()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = options.gpu_layers
        params.split_mode = lib.LLAMA_SPLIT_MODE_NONE
        params.main_gpu = options.main_gpu if options.gpu_layers else _NO_GPU
        params.use_extra_bufts = options.repack
        params.vocab_only = vocabulary_only
        params.load_mode = lib.LLAMA_LOAD_MODE_NONE      # of a mapped file that is cut short meanwhile the process dies
        if on_share is not None:
            listener = _listener(on_share)               # kept until the weights are there
            params.progress_callback = listener
        log_tail.clear()
        self._pointer: Any = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self._pointer:
            raise ModelLoadError(Told("file-refused", file=path.name, detail=log_tail.cause()))
        self.options = options
        self.vocab: Any = lib.llama_model_get_vocab(self._pointer)
        self.vocab_size: int = lib.llama_vocab_n_tokens(self.vocab)
        self.weight_bytes: int = lib.llama_model_size(self._pointer)
        self.context_length: int = lib.llama_model_n_ctx_train(self._pointer)
        self.embedding_width: int = lib.llama_model_n_embd_out(self._pointer)
        if embeds or vocabulary_only:
            return
        if lib.llama_model_has_encoder(self._pointer) or not lib.llama_model_has_decoder(self._pointer):
            self.close()
            raise ModelLoadError(Told("file-encoder", file=path.name))
        self._adapters = [self._load_adapter(adapter) for adapter in adapters]      # before any context is made
        self.weight_bytes += sum(adapter.path.stat().st_size for adapter in adapters)

    @property
    def pointer(self) -> Any:
        return self._pointer

    @property
    def has_tokenizer(self) -> bool:
        return int(native().llama_vocab_type(self.vocab)) != _VOCABULARY_NONE

    @property
    def splits_by_patterns(self) -> bool:
        """Its tokenizer first takes a text apart by regular expressions."""
        return int(native().llama_vocab_type(self.vocab)) == _VOCABULARY_BPE

    @property
    def forgets(self) -> bool:
        """Recurrent layers or sliding windows: from the state after a text, that after its beginning cannot be had."""
        lib = native()
        return bool(
            lib.llama_model_is_recurrent(self._pointer)
            or lib.llama_model_is_hybrid(self._pointer)
            or lib.llama_model_n_swa(self._pointer) > 0
        )

    @property
    def chat_template(self) -> str | None:
        template = native().llama_model_chat_template(self._pointer, None)
        return template.decode("utf-8", "replace") if template else None

    def adapt(self, context: Any) -> None:
        """Let the adapters act in a new `llama_context *` of this model."""
        if self._adapters:
            lib, count = native(), len(self._adapters)
            pointers, scales = zip(*self._adapters, strict=True)
            lib.llama_set_adapters_lora(
                context, (lib.llama_adapter_lora_p_ctypes * count)(*pointers), count, (ctypes.c_float * count)(*scales)
            )

    def _load_adapter(self, adapter: Adapter) -> tuple[Any, float]:
        """Its `llama_adapter_lora *`, which the library frees with the model, and its scale."""
        log_tail.clear()
        pointer = native().llama_adapter_lora_init(self._pointer, os.fsencode(adapter.path))
        if not pointer:
            self.close()
            raise ModelLoadError(Told("adapter-refused", file=adapter.path.name, detail=log_tail.cause()))
        return pointer, adapter.scale

    def close(self) -> None:
        if self._pointer:
            native().llama_model_free(self._pointer)
            self._pointer = None


def supports_gpu() -> bool:
    """Whether this build of the library has a device to put weights on."""
    return bool(native().llama_supports_gpu_offload())


def pointer_to(array: Any, c_type: Any) -> Any:
    """A C pointer to a numpy array's memory; the array must outlive it."""
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(c_type))
