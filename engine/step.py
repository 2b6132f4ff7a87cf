"""A step being planned: how many tokens each sequence gets, and the rows that come of it. Made by `Scheduler`, for one
step, on the engine's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.batch import BatchRow
from engine.request import Sequence


@dataclass(slots=True)
class Share:
    """Of a step, one sequence's."""

    num_tokens: int
    restored_blocks: list[int]
    proposed_ids: list[int]                                    # beyond num_tokens


class StepInHand:
    """For whom a step is being computed, where it reads prompts: others are over soon. Asked on the engine's thread and
    on the event loop's.
    """

    def __init__(self, num_tokens: Mapping[str, int] | None = None) -> None:
        """By request id."""
        self._num_tokens = dict(num_tokens or {})
        self._num_all = sum(self._num_tokens.values())

    def leave(self, request_id: str) -> bool:
        """Whether, without this one too, more than half of it is for nobody: then it is not worth its time."""
        is_in_it = self._num_tokens.pop(request_id, None) is not None
        return is_in_it and 2 * sum(self._num_tokens.values()) < self._num_all


@dataclass(slots=True)
class Step:
    budget: int                                                # tokens not yet given to anybody
    block_size: int
    shares: dict[Sequence, Share] = field(default_factory=dict)
    num_prompt_tokens: int = 0                                 # given to those that lack more than one
    ends_prompt: bool = False                                  # one of those has no more to read
    _cut: list[Sequence] = field(default_factory=list)         # whose prompts got less than they lack

    @property
    def only_writes(self) -> bool:
        """Nobody in it lacks more than one token, proposed ones aside."""
        return not self.num_prompt_tokens

    def give_one(self, sequence: Sequence) -> None:
        """It lacks one token, and there is budget for that."""
        self.shares[sequence] = Share(1, [], [])
        self.budget -= 1

    def share_out(self, sequence: Sequence, *, restored_blocks: Iterable[int] = ()) -> None:
        """A prompt too long for this step leaves a quarter to those behind it: a short one is served beside it."""
        num_tokens = num_lacking = sequence.num_lacking_tokens
        if num_lacking > self.budget:
            num_tokens = self.budget - self.budget // 4 // self.block_size * self.block_size
            self._cut.append(sequence)
        self.shares[sequence] = Share(num_tokens, list(restored_blocks), [])
        self.budget -= num_tokens
        if num_lacking > 1:
            self.num_prompt_tokens += num_tokens
            self.ends_prompt |= num_tokens == num_lacking

    def give_back_spare(self) -> None:
        """What nobody came for goes to those whose prompts were cut."""
        for sequence in self._cut:
            share = self.shares[sequence]
            num_more = min(self.budget, sequence.num_lacking_tokens - share.num_tokens)
            share.num_tokens += num_more
            self.budget -= num_more

    def add_proposed(self, sequence: Sequence, token_ids: list[int]) -> None:
        self.shares[sequence].proposed_ids = token_ids
        self.budget -= len(token_ids)

    def rows(self) -> list[BatchRow]:
        return [_row(sequence, share) for sequence, share in self.shares.items()]


def _row(sequence: Sequence, share: Share) -> BatchRow:
    assert sequence.slot is not None
    start = sequence.num_computed_tokens
    end = start + share.num_tokens
    return BatchRow(
        slot=sequence.slot,
        token_ids=sequence.token_ids[start:end] + share.proposed_ids,
        position=start,
        block_table=list(sequence.block_table),
        restored_blocks=share.restored_blocks,
        sampling=sequence.sampling if end == len(sequence.token_ids) else None,
        num_proposed=len(share.proposed_ids),
    )
