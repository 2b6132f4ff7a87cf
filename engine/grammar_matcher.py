"""A compiled grammar, and how far one sequence has come in it. `Grammar` is shared and frozen; a `GrammarMatcher`
lives with its sequence on the engine's thread: samplers ask it, the scheduler moves it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidRequest

if TYPE_CHECKING:
    from llguidance import LLMatcher

Mask = NDArray[np.bool_]


class Grammar:
    """`forbidden_ids` are special tokens: none of them is text, whatever the grammar says."""

    def __init__(self, start: LLMatcher, *, forbidden_ids: frozenset[int], param: str) -> None:
        self._start = start
        self._forbidden_ids = forbidden_ids
        self._forbidden_array = np.fromiter(forbidden_ids, dtype=np.intp)
        self._param = param

    def matcher(self) -> GrammarMatcher:
        """At the beginning. Takes microseconds."""
        return GrammarMatcher(self._start.deep_copy(), self._forbidden_ids, self._forbidden_array, self._param)


class GrammarMatcher:
    """Depends on nothing but the tokens accepted so far: preemption does not touch it.

    Once it has failed it allows everything, and `failure` says so: the scheduler ends the sequence before another
    token of it counts.
    """

    def __init__(
        self, native: LLMatcher, forbidden_ids: frozenset[int], forbidden_array: NDArray[np.intp], param: str
    ) -> None:
        self._native = native
        self._forbidden_ids = forbidden_ids
        self._forbidden_array = forbidden_array
        self._param = param
        self.failure: InvalidRequest | None = None

    def copy(self) -> GrammarMatcher:
        """One that can be moved on without this one. Takes microseconds."""
        matcher = GrammarMatcher(self._native.deep_copy(), self._forbidden_ids, self._forbidden_array, self._param)
        matcher.failure = self.failure
        return matcher

    @property
    def is_complete(self) -> bool:
        """Nothing may follow."""
        return self.failure is None and self._native.is_stopped()

    def allows(self, token_id: int) -> bool:
        """A microsecond, where a mask takes tens. What ends a generation is allowed where the grammar may end."""
        if self.failure is not None:
            return True
        return token_id not in self._forbidden_ids and self._native.validate_tokens([token_id]) == 1

    def mask(self, vocab_size: int) -> Mask:
        """[vocab_size], true where `allows` is. Ids that the tokenizer does not know are not allowed."""
        if self.failure is None:
            packed = np.frombuffer(self._native.compute_bitmask(), dtype=np.uint8)
            allowed = np.unpackbits(packed, bitorder="little", count=vocab_size).view(np.bool_)
            allowed[self._forbidden_array] = False
            if self._native.is_error():
                self.fail("it became too complex at this point of the answer")
            elif not allowed.any():
                self.fail("the model has no token that could follow here")
            else:
                return allowed
        return np.ones(vocab_size, dtype=np.bool_)

    def accept(self, token_id: int) -> None:
        """Move on by a token, or fail."""
        if self.failure is not None:
            return
        if token_id in self._forbidden_ids or not self._native.consume_token(token_id):
            self.fail(f"token {token_id} came, which it does not allow here")

    def fail(self, reason: str) -> None:
        self.failure = InvalidRequest(f"{self._param} could not be kept to: {reason}.", param=self._param)
