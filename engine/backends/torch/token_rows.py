"""A step of few tokens a sequence as rows of one token each, which is how a graph computes them. Engine's thread.

The tokens of one sequence, the last ones guesses, differ from those of several in nothing but that they share a table
of blocks: all keys are written before any is read, and each token sees what lies before its own position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.batch import BatchRow, SampledToken


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Lists of one number a token, in the order of the step's rows."""

    token_ids: list[int]
    positions: list[int]
    slots: list[int]

    @classmethod
    def of(cls, rows: Iterable[BatchRow]) -> TokenRows:
        tokens = [
            (token_id, row.position + place, row.slot) for row in rows for place, token_id in enumerate(row.token_ids)
        ]
        token_ids, positions, slots = map(list, zip(*tokens, strict=True))
        return cls(token_ids, positions, slots)

    @property
    def firsts(self) -> dict[int, int]:
        """By slot: the place of its first token."""
        return {slot: place for place, slot in reversed(list(enumerate(self.slots)))}


def are_next_tokens(rows: Sequence[BatchRow], max_tokens: int) -> bool:
    """Each lacks one token, and may have some proposed; all of them together are at most so many."""
    return all(
        row.sampling is not None and len(row.token_ids) == 1 + row.num_proposed for row in rows
    ) and sum(len(row.token_ids) for row in rows) <= max_tokens


def as_far_as_right(row: BatchRow, chosen: Iterable[int]) -> tuple[SampledToken, ...]:
    """A row's next tokens, of those `chosen` after each of its last: as long as what was proposed is what comes, and
    one more. None for a row that wants none.
    """
    if not row.num_proposed:
        return tuple(map(SampledToken, chosen))
    tokens = []
    for proposed, token_id in zip((*row.proposed_ids, None), chosen, strict=False):
        tokens.append(SampledToken(token_id))
        if token_id != proposed:
            break
    return tuple(tokens)
