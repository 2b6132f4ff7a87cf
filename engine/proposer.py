"""Guesses at a sequence's next tokens, which the model verifies in one step. Called on the engine's thread.

`PromptLookup` (after Saxena's prompt lookup decoding) finds the last tokens earlier in prompt and output, and guesses
that what followed them there follows again: a text that is corrected, quoted or summarised repeats itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engine.request import Sequence

MAX_INDEXED_TOKENS = 1 << 15        # of one sequence, at some 100 bytes each; older ones are forgotten
MAX_AGREEMENT = 16                  # tokens: beyond it, longer is no surer
FIRST_CHANCES = (0.35, 0.6, 0.8, 0.95)  # that a guess comes true where 2 to 3, 4 to 7, 8 to 15, 16 tokens agree
LEARNING_RATE = 0.06                # a token's


class Proposer(Protocol):
    """Follows the sequences that run. What it keeps of one lasts until `forget`."""

    def chance(self, sequence: Sequence) -> float:
        """How probable it is that the next token is the one that would be proposed; 0: there is no proposal."""

    def propose(self, wanted: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """Up to so many tokens for each, whose `chance` has just been asked for."""

    def forget(self, sequence: Sequence) -> None:
        """It left its slot."""


class PromptLookup:
    """A `Proposer` that costs a few microseconds a token, and no memory beyond an index of what runs.

    Each token that comes is compared with the guess that was there for it, proposed or not: so the chances are known
    without a try.
    """

    def __init__(self) -> None:
        self._texts: dict[Sequence, _Text] = {}

    def chance(self, sequence: Sequence) -> float:
        text = self._texts.get(sequence)
        if text is None:
            text = self._texts[sequence] = _Text()
        text.read(sequence.token_ids)
        return text.chance

    def propose(self, wanted: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        return {
            sequence: self._texts[sequence].following(sequence.token_ids, num_tokens)
            for sequence, num_tokens in wanted.items()
        }

    def forget(self, sequence: Sequence) -> None:
        self._texts.pop(sequence, None)


class _Text:
    """Of one sequence: where each pair of tokens was last seen, and the place that its end is now thought to repeat.

    Pairs are enough: how many more tokens agree there is counted. Triples, or fours first, find no better place.
    """

    def __init__(self) -> None:
        self._behind: dict[tuple[int, int], int] = {}      # by pair: index of the token behind it
        self._num_read = 0
        self._place: int | None = None                     # index of the token that is expected next
        self._agreement = 0                                # tokens before it that are the same as the last ones
        self._chances = list(FIRST_CHANCES)

    @property
    def chance(self) -> float:
        return 0.0 if self._place is None else self._chances[self._kind]

    def read(self, token_ids: list[int]) -> None:
        """Take in what has come since the last time."""
        if len(self._behind) > MAX_INDEXED_TOKENS:
            self._behind.clear()
            self._num_read = max(self._num_read - MAX_INDEXED_TOKENS // 2, 0)
            self._place = None
        for index in range(self._num_read, len(token_ids)):
            self._compare(token_ids, index)
            if index == 0:
                continue
            pair = token_ids[index - 1], token_ids[index]
            if self._place is None:
                self._look_up(token_ids, index + 1, self._behind.get(pair))
            self._behind[pair] = index + 1
        self._num_read = len(token_ids)

    def following(self, token_ids: list[int], num_tokens: int) -> list[int]:
        """What is expected. Where that runs into the end of the text, it goes round in a circle."""
        if self._place is None:
            return []
        period = len(token_ids) - self._place
        expected = token_ids[self._place : self._place + num_tokens]
        return [expected[index % period] for index in range(num_tokens)]

    @property
    def _kind(self) -> int:
        return self._agreement.bit_length() - 2

    def _compare(self, token_ids: list[int], index: int) -> None:
        """The token at `index` has come: was it expected?"""
        if self._place is None:
            return
        kind, is_right = self._kind, token_ids[self._place] == token_ids[index]
        self._chances[kind] += LEARNING_RATE * (is_right - self._chances[kind])
        if is_right:
            self._place += 1
            self._agreement = min(self._agreement + 1, MAX_AGREEMENT)
        else:
            self._place = None

    def _look_up(self, token_ids: list[int], end: int, place: int | None) -> None:
        if place is None:
            return
        self._place, self._agreement = place, 2
        while self._agreement < min(MAX_AGREEMENT, place) and (
            token_ids[place - self._agreement - 1] == token_ids[end - self._agreement - 1]
        ):
            self._agreement += 1
