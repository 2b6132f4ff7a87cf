"""A small model that guesses what a large one will say: a `Proposer` over a llama.cpp context of its own.

It runs on the engine's thread, all rows that want guesses in one batch. What the large model did not say is cut from
its KV; what it said instead is computed when guesses are wanted next.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow, whole_cells
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.errors import ModelLoadError
from engine.request import Sequence
from engine.told import Told

CATCH_UP_TOKENS = 64                # a step: a long prompt is read in pieces, and guessed about when it is read
FIRST_CHANCE = 0.9                  # hopeful, or it would never be tried
LEARNING_RATE = 0.1                 # a guess's
RECOVERY_RATE = 0.005               # a token's without guesses: it is tried again later

_START_SHAPE = ContextShape(num_streams=1, num_cells=1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftConfig:
    path: Path
    kv_bytes_per_token: int
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(slots=True)
class _State:
    """Of one sequence."""

    stream: int
    num_known: int = 0                         # of its tokens, those that it had when guesses were last wanted
    num_computed: int = 0                      # of those, with KV
    guesses: list[int] = field(default_factory=list)   # since; all but the last have KV, too
    chance: float = FIRST_CHANCE


class DraftModel:
    """Raises ModelLoadError where it does not speak the large model's tokens."""

    def __init__(
        self, config: DraftConfig, target: LlamaTokenizer, *, max_num_seqs: int, max_model_len: int, num_threads: int
    ) -> None:
        self._num_threads = num_threads
        self._bytes_per_token = config.kv_bytes_per_token
        self._num_batch_tokens = CATCH_UP_TOKENS + max_num_seqs
        with ExitStack() as undo:
            self._model = NativeModel(config.path, config.options)
            undo.callback(self._model.close)
            _check(self._model, config.path.name, target)
            self._max_tokens = min(max_model_len, self._model.context_length)
            self._limit = ContextShape(max_num_seqs, whole_cells(self._max_tokens))
            self._context = self._new_context(_START_SHAPE.grown_to(1, 1, self._limit))
            undo.pop_all()
        self._states: dict[Sequence, _State] = {}

    @property
    def weight_bytes(self) -> int:
        return self._model.weight_bytes

    @property
    def kv_bytes(self) -> int:
        """At most."""
        return self._limit.num_streams * self._limit.num_cells * self._bytes_per_token

    @property
    def held_bytes(self) -> int:
        return self._context.shape.num_streams * self._context.shape.num_cells * self._bytes_per_token

    def chance(self, sequence: Sequence) -> float:
        state = self._states.get(sequence)
        if state is None:
            state = self._states[sequence] = _State(self._free_stream())
        self._learn(state, sequence.token_ids)
        return state.chance if len(sequence.token_ids) < self._max_tokens else 0.0

    def propose(self, wanted: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        self._make_room(wanted)
        ready = self._catch_up(wanted)
        num_lacking = {
            sequence: min(num_tokens, self._max_tokens - len(sequence.token_ids)) - 1
            for sequence, num_tokens in wanted.items() if sequence in ready
        }
        while going := [sequence for sequence, num_tokens in num_lacking.items() if num_tokens > 0]:
            self._guess({sequence: self._states[sequence].guesses[-1:] for sequence in going})
            for sequence in going:
                num_lacking[sequence] -= 1
        return {sequence: list(self._states[sequence].guesses) for sequence in ready}

    def forget(self, sequence: Sequence) -> None:
        state = self._states.pop(sequence, None)
        if state is not None and state.stream < self._context.shape.num_streams:
            self._context.clear_stream(state.stream)

    def close(self) -> None:
        self._context.close()
        self._model.close()

    # -- what came of the last guesses ---------------------------------------------------------------------------------

    def _learn(self, state: _State, token_ids: list[int]) -> None:
        """Compare guesses with what was said; keep the KV of those that were right."""
        said = token_ids[state.num_known :]
        if not said:
            return
        if not state.guesses:
            state.chance += (1.0 - (1.0 - RECOVERY_RATE) ** len(said)) * max(FIRST_CHANCE - state.chance, 0.0)
            state.num_known = len(token_ids)
            return
        num_right = 0
        for guess, token_id in zip(state.guesses, said, strict=False):
            state.chance += LEARNING_RATE * ((guess == token_id) - state.chance)
            if guess != token_id:
                break
            num_right += 1
        state.num_computed = state.num_known + min(num_right, len(state.guesses) - 1)
        state.num_known = len(token_ids)
        state.guesses = []
        self._context.cut_stream(state.stream, state.num_computed)

    # -- computing -----------------------------------------------------------------------------------------------------

    def _catch_up(self, wanted: Mapping[Sequence, int]) -> list[Sequence]:
        """Compute what was said meanwhile, as far as a step allows. Gives those that have their first guess then."""
        budget = CATCH_UP_TOKENS
        pieces: dict[Sequence, list[int]] = {}
        for sequence in wanted:
            state = self._states[sequence]
            if len(sequence.token_ids) >= self._max_tokens or not budget:
                continue
            pieces[sequence] = sequence.token_ids[state.num_computed : state.num_computed + budget]
            budget -= len(pieces[sequence])
        if pieces:
            self._guess(pieces)
        ready = [each for each in pieces if self._states[each].num_computed == len(each.token_ids)]
        for sequence in pieces.keys() - ready:
            self._states[sequence].guesses = []            # of the middle of a prompt
        return ready

    def _guess(self, pieces: Mapping[Sequence, list[int]]) -> None:
        """Compute a piece of each, which lies behind what has KV, and guess the token behind it."""
        order = sorted(pieces, key=lambda sequence: self._states[sequence].stream)
        rows = []
        for sequence in order:
            state = self._states[sequence]
            start = state.num_computed + max(len(state.guesses) - 1, 0)
            rows.append(StreamRow(state.stream, start, pieces[sequence], 1))
        logits = self._context.decode(rows)
        for sequence, best in zip(order, logits.argmax(axis=1), strict=True):
            state = self._states[sequence]
            if not state.guesses:
                state.num_computed += len(pieces[sequence])
            state.guesses.append(int(best))

    def _make_room(self, wanted: Mapping[Sequence, int]) -> None:
        """Grow the context. Nothing moves along: what it held is soon computed again, for the model is small."""
        num_streams = 1 + max(self._states[sequence].stream for sequence in wanted)
        num_cells = max(len(sequence.token_ids) + num_tokens for sequence, num_tokens in wanted.items())
        shape = self._context.shape.grown_to(num_streams, min(num_cells, self._limit.num_cells), self._limit)
        if shape != self._context.shape:
            self._context.close()
            self._context = self._new_context(shape)
            for state in self._states.values():
                state.num_computed, state.guesses = 0, []

    def _free_stream(self) -> int:
        taken = {state.stream for state in self._states.values()}
        return next(stream for stream in range(self._limit.num_streams) if stream not in taken)

    def _new_context(self, shape: ContextShape) -> Context:
        return Context(self._model, shape, num_batch_tokens=self._num_batch_tokens, num_threads=self._num_threads)


def _check(model: NativeModel, name: str, target: LlamaTokenizer) -> None:
    if model.forgets:
        raise ModelLoadError(Told("draft-forgets", model=name))
    if model.vocab_size != target.vocab_size:
        raise ModelLoadError(
            Told("draft-size", model=name, count=model.vocab_size, wanted=target.vocab_size)
        )
    tokenizer = LlamaTokenizer(model)
    try:
        is_same = tokenizer.vocabulary() == target.vocabulary() and tokenizer.special_tokens == target.special_tokens
    finally:
        tokenizer.close()
    if not is_same:
        raise ModelLoadError(Told("draft-tokens", model=name))
