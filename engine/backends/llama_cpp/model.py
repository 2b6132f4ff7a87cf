"""A model's weights and vocabulary in llama.cpp, and how it is run. The engine's thread makes and closes it."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.backends.llama_cpp.library import log_tail, native
from engine.errors import ModelLoadError

_ALL_LAYERS = 10_000
_VOCABULARY_NONE, _VOCABULARY_BPE = 0, 2     # LLAMA_VOCAB_TYPE_*


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the library is asked to do beyond the plain path. Each crashes somewhere: the trial finds what runs here."""

    gpu: bool = False
    repack: bool = True             # weights rearranged at load for the processor's matrix instructions
    flash_attention: bool = True    # without it V is stored transposed, and prefixes cannot be cached


class NativeModel:
    """Owner of a `llama_model *`. Raises ModelLoadError where the library refuses the file.

    One that `embeds` is asked for vectors only, and may be an encoder.
    """

    def __init__(self, path: Path, options: RunOptions, *, embeds: bool = False) -> None:
        lib = native()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = _ALL_LAYERS if options.gpu else 0
        params.use_extra_bufts = options.repack
        log_tail.clear()
        self._pointer: Any = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self._pointer:
            raise ModelLoadError(
                f"llama.cpp refuses {path.name}: {log_tail.cause()}. Get the file again, or take another model."
            )
        self.options = options
        self.vocab: Any = lib.llama_model_get_vocab(self._pointer)
        self.vocab_size: int = lib.llama_vocab_n_tokens(self.vocab)
        self.weight_bytes: int = lib.llama_model_size(self._pointer)
        self.context_length: int = lib.llama_model_n_ctx_train(self._pointer)
        self.embedding_width: int = lib.llama_model_n_embd_out(self._pointer)
        if embeds:
            return
        if lib.llama_model_has_encoder(self._pointer) or not lib.llama_model_has_decoder(self._pointer):
            self.close()
            raise ModelLoadError(f"{path.name} cannot continue a text: it is an encoder. Take a chat model instead.")

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
