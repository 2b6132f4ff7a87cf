"""The lower seam: a batch in, tokens out. Called on the engine's own thread, but for the tokenizer: that on any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.batch import Batch, StepOutput
from engine.disk_cache.blocks import DiskBlocks
from engine.proposer import Proposer


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendInfo:
    """What a loaded back end can hold. Fixed for its lifetime."""

    name: str                      # "llama.cpp", "torch", "scripted"
    version: str
    device: str                    # "cpu", "cuda:0"
    block_size: int                # tokens
    num_blocks: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int             # the window, in tokens
    vocab_size: int
    prefix_cache: bool
    num_tokens_ahead: int = 0      # whose blocks a running sequence should have before they are asked for
    max_steps: int = 1             # of one token a row that a batch may ask for at once
    can_speculate: bool = False    # rows may carry proposals: KV of wrong ones can be dropped
    prefill_tokens_per_s: float = 0.0   # a first guess, from which steps are bounded by time; 0: by tokens alone
    weight_bytes: int = 0
    kv_bytes: int = 0              # resident for running sequences
    cache_bytes: int = 0           # at most, for idle prefixes

    @property
    def max_sequence_tokens(self) -> int:
        """That one sequence may have, prompt and output: the window, or all blocks if they hold less.

        A sequence alone can therefore always grow to its end, and preemption always comes to rest.
        """
        return min(self.max_model_len, self.num_blocks * self.block_size)


class Tokenizer(Protocol):
    """Text to tokens and back. Thread-safe: long texts are encoded off the event loop."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def eog_token_ids(self) -> frozenset[int]: ...          # every token that ends a generation
    @property
    def bos_token(self) -> str: ...                          # "" where the model has none
    @property
    def eos_token(self) -> str: ...
    @property
    def chat_template(self) -> str | None: ...               # Jinja source, None for a base model
    @property
    def special_tokens(self) -> Mapping[int, str]: ...       # names, by id, of those that are no text: <|im_end|>, <s>

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """`add_special` puts BOS where the model wants it; `parse_special` reads <|im_end|> and its kin as tokens."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token adds to the text: maybe part of a character, empty for control tokens."""

    def vocabulary(self) -> list[bytes]:
        """`token_bytes` of every token, at once. Not on the event loop: there may be hundreds of thousands."""


class Backend(Protocol):
    """Forward and sample. Raises only for faults of its own: the scheduler never sends what `info` does not allow."""

    @property
    def info(self) -> BackendInfo: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def held_bytes(self) -> int: ...             # of KV and cache, by now: no more than `info` says

    @property
    def proposers(self) -> tuple[Proposer, ...]: ...     # of its own, beside prompt lookup
    @property
    def disk(self) -> DiskBlocks | None: ...     # where blocks are saved; None: nowhere

    def execute(self, batch: Batch) -> StepOutput:
        """Apply a batch's parts in their order. One without rows is legal and computes nothing.

        Of the `saved` blocks, those are given to `disk` that can be without holding up the rows. A step that
        `interrupt` cut short computes nothing either, but what it released, evicted and restored holds.
        """

    def interrupt(self) -> None:
        """Any thread: let the step that runs end soon, and any later one, where that can be; until `resume`."""

    def resume(self) -> None: ...

    def prepare(self) -> bool:
        """Called while there is nothing else to do: get ready, by a piece of a tenth of a second or so, for what later
        steps would have to wait for. False: all is ready.
        """

    def check_integrity(self) -> None:
        """Called when no sequence runs: raise EngineFailed if slots or blocks are held that nobody owns."""

    def close(self) -> None: ...
