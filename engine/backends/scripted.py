"""A back end whose model is a script: it says what it is told, so that stop strings, unicode, failures and timing are
tested exactly. All but the arithmetic is real: memory that is checked, logits, sampler. Runs on the engine's thread.

    ScriptedBackend("Hello!")                                    every prompt is answered with Hello!
    ScriptedBackend([72, 105])                                   the same, in token ids
    ScriptedBackend({"France": "Paris.", "": "Hm?"})             by what stands last in the prompt; "" for all others
    ScriptedBackend(lambda token_ids, num_prompt_tokens: ...)    the next token id
    ScriptedBackend(logits=lambda token_ids: ...)                or float32 logits [vocab_size], to be sampled
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import BackendInfo
from engine.backends.scripted_memory import PagedMemory, PooledMemory
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.batch import Batch, BatchRow, SampledToken, StepOutput
from engine.disk_cache.blocks import DiskBlocks
from engine.disk_cache.cache import DiskCache
from engine.disk_cache.ledger import Scope
from engine.errors import EngineFailed
from engine.proposer import Proposer
from engine.sampler import sample_row

Reply = str | Sequence[int]
NextToken = Callable[[Sequence[int], int], int]                     # (prompt and output so far, num_prompt_tokens)
LogitsOf = Callable[[Sequence[int]], NDArray[np.float32]]           # (prompt and output so far)

UNLIKELY = np.float32(-200.0)    # logit of all that the script does not say: beyond any temperature, yet finite


class ScriptedBackend:
    """`memory` is "paged" (block ids are addresses) or "pooled" (names of pieces in a pool).

    A reply is followed by the end of the turn. With a `gate`, no step begins before it lets it through; it may be
    interrupted there, which `steps` does not count. Step number
    `fail_at_step` (1 is the first that computes anything) raises RuntimeError. `steps` lists, for each step, how many
    tokens each row had.
    """

    def __init__(
        self,
        script: Reply | Mapping[str, Reply] | NextToken = "",
        *,
        logits: LogitsOf | None = None,
        tokenizer: ByteTokenizer | None = None,
        memory: Literal["paged", "pooled"] = "paged",
        gate: Gate | None = None,
        fail_at_step: int | None = None,
        block_size: int = 16,
        num_blocks: int = 512,
        max_num_seqs: int = 8,
        max_num_batched_tokens: int = 512,
        prefill_tokens_per_s: float = 0.0,
        max_model_len: int = 4096,
        prefix_cache: bool = True,
        can_speculate: bool = False,
        num_tokens_ahead: int = 0,
        max_steps: int = 1,
        disk: DiskCache | None = None,
    ) -> None:
        self.tokenizer = tokenizer or ByteTokenizer()
        self.memory = {"paged": PagedMemory, "pooled": PooledMemory}[memory](num_blocks, block_size)
        if disk is not None:
            scope = Scope.of((), ("scripted", f"blocks of {block_size}"))
            self.memory.disk = DiskBlocks(disk, scope, block_size=block_size, token_bytes=4)
        self.steps: list[tuple[int, ...]] = []
        self.gate = gate
        self.is_closed = False
        self._is_interrupted = threading.Event()
        self._next_token = _next_token(script, self.tokenizer)
        self._logits = logits
        self._fail_at_step = fail_at_step
        self._info = BackendInfo(
            name="scripted",
            version="1",
            device="cpu",
            block_size=block_size,
            num_blocks=num_blocks,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            prefill_tokens_per_s=prefill_tokens_per_s,
            max_model_len=max_model_len,
            vocab_size=self.tokenizer.vocab_size,
            prefix_cache=prefix_cache,
            can_speculate=can_speculate,
            num_tokens_ahead=num_tokens_ahead,
            max_steps=max_steps,
        )

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def proposers(self) -> tuple[Proposer, ...]:
        return ()

    @property
    def disk(self) -> DiskBlocks | None:
        return self.memory.disk

    @property
    def held_bytes(self) -> int:
        return 0

    def execute(self, batch: Batch) -> StepOutput:
        if batch.rows and self.gate is not None:
            self.gate.pass_through()
        if batch.rows and self._is_interrupted.is_set():
            self.memory.apply(batch)
            self.memory.take_back(batch)
            return StepOutput([], was_interrupted=True)
        if batch.rows:
            self._begin_step(batch)
        self.memory.apply(batch)
        return StepOutput([self._go_on(row, self._compute(row), batch.num_steps) for row in batch.rows])

    def interrupt(self) -> None:
        self._is_interrupted.set()

    def resume(self) -> None:
        self._is_interrupted.clear()

    def prepare(self) -> bool:
        return False

    def check_integrity(self) -> None:
        self.memory.check_idle()

    def close(self) -> None:
        self.is_closed = True
        if self.disk is not None:
            self.disk.close()

    def _begin_step(self, batch: Batch) -> None:
        self.steps.append(tuple(len(row.token_ids) for row in batch.rows))
        if len(self.steps) == self._fail_at_step:
            raise RuntimeError(f"The script fails at step {self._fail_at_step}.")
        if batch.num_tokens > self._info.max_num_batched_tokens or len(batch.rows) > self._info.max_num_seqs:
            raise EngineFailed("The batch is larger than the back end allows.")

    def _compute(self, row: BatchRow) -> tuple[SampledToken, ...]:
        token_ids = self.memory.read(row)
        if row.sampling is None:
            return ()
        if token_ids != row.sampling.token_ids + row.proposed_ids:
            raise EngineFailed(f"Memory of slot {row.slot} does not hold the tokens of the sequence that runs there.")
        num_tokens = len(row.sampling.token_ids)
        logits = np.stack([
            self._logits_after(token_ids[: num_tokens + num_more], row.sampling.num_prompt_tokens)
            for num_more in range(row.num_sampled_from)
        ])
        tokens = sample_row(logits, row)
        self.memory.keep(row, row.num_tokens_after(len(tokens)))
        return tokens

    def _go_on(self, row: BatchRow, tokens: tuple[SampledToken, ...], num_steps: int) -> tuple[SampledToken, ...]:
        """With steps of one token more, as far as it has blocks. A grammar is moved on by the scheduler first."""
        if row.sampling is None or row.sampling.grammar is not None:
            return tokens
        room = len(row.block_table) * self._info.block_size
        while len(tokens) < num_steps and (position := row.position + len(row.token_ids)) < room:
            sampling = row.sampling.copy()
            sampling.token_ids.append(tokens[-1].token_id)
            row = replace(
                row, token_ids=[tokens[-1].token_id], position=position, restored_blocks=[], sampling=sampling
            )
            self.memory.apply(Batch(rows=[row]))
            tokens += self._compute(row)
        return tokens

    def _logits_after(self, token_ids: list[int], num_prompt_tokens: int) -> NDArray[np.float32]:
        if self._logits is not None:
            return self._logits(token_ids)
        logits = np.full(self._info.vocab_size, UNLIKELY, dtype=np.float32)
        logits[self._next_token(token_ids, num_prompt_tokens)] = 0.0
        return logits


class Gate:
    """Holds a back end before each step until a test lets it through: no race, no sleep. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._num_allowed = 0
        self._is_open = False
        self._is_held = False

    def allow(self, num_steps: int = 1) -> None:
        with self._changed:
            self._num_allowed += num_steps
            self._changed.notify_all()

    def open(self) -> None:
        """Let everything through from now on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def wait_until_held(self, timeout_s: float = 10.0) -> None:
        """Block until a step stands before the closed gate. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_held and not self._num_allowed, timeout_s):
                raise TimeoutError("No step came to the gate.")

    def pass_through(self) -> None:
        """Called by the back end."""
        with self._changed:
            self._is_held = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_open or self._num_allowed)
            self._is_held = False
            self._num_allowed = max(self._num_allowed - 1, 0)


def _next_token(script: Reply | Mapping[str, Reply] | NextToken, tokenizer: ByteTokenizer) -> NextToken:
    if callable(script):
        return script
    replies = script if isinstance(script, Mapping) else {"": script}

    def encoded(reply: Reply) -> list[int]:
        if isinstance(reply, str):
            return tokenizer.encode(reply, add_special=False, parse_special=False)
        return list(reply)

    token_ids_of = {key: [*encoded(reply), tokenizer.end_of_turn_id] for key, reply in replies.items()}

    def next_token(token_ids: Sequence[int], num_prompt_tokens: int) -> int:
        reply = token_ids_of[_last_key(tokenizer.decode(token_ids[:num_prompt_tokens]), token_ids_of)]
        return reply[min(len(token_ids) - num_prompt_tokens, len(reply) - 1)]

    return next_token


def _last_key(prompt: str, keys: Mapping[str, list[int]]) -> str:
    """The key that stands last in the prompt: the newest question, not one of the chat's earlier ones."""
    found = max((key for key in keys if key), key=prompt.rfind, default="")
    if found and found in prompt:
        return found
    if "" not in keys:
        raise EngineFailed('The script has no reply to this prompt. Give it one under "", for all others.')
    return ""
