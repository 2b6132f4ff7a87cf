"""The lower seam of models that embed: token ids in, a vector each out. Called on the engine's own thread, but for the
tokenizer: that on any. `Backend` (engine.backends.base) is the one of models that write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.backends.base import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderInfo:
    """What a loaded model can take. Fixed for its lifetime."""

    name: str                      # "llama.cpp"
    version: str
    device: str                    # "cpu"
    width: int                     # numbers in a vector
    vocab_size: int
    max_model_len: int             # tokens an input may have
    max_num_inputs: int            # in a step
    max_num_batched_tokens: int    # in a step; a longer input has one for itself
    weight_bytes: int = 0
    kv_bytes: int = 0              # for the longest input: its KV, if any, and what is computed on the way


class Embedder(Protocol):
    """Raises only for faults of its own: it is never asked for what `info` does not allow."""

    @property
    def info(self) -> EmbedderInfo: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def held_bytes(self) -> int: ...             # of kv_bytes, by now

    def embed(
        self, inputs: Sequence[Sequence[int]], is_wanted: Callable[[], bool] = lambda: True
    ) -> NDArray[np.float32] | None:
        """One forward pass. Vectors [inputs, width] as the model pools them, not normalised.

        `is_wanted` is asked now and then while a long input is computed: where it says no, the result is None.
        """

    def close(self) -> None: ...
