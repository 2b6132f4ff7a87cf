"""What the scheduler hands to a back end, and what comes back: one `Batch` in, one `StepOutput` out, a step.

A back end applies a batch in this order, so that a slot or a block freed in a step can be used again in the same step:
`released`, then `evicted`, then `saved`, then `loaded`, then `rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.grammar_matcher import GrammarMatcher
from engine.params import SamplingParams


@dataclass(slots=True, kw_only=True)
class SamplingInput:
    """All that choosing a row's next token needs. `token_ids` is the sequence's own list: read it, never keep it."""

    params: SamplingParams
    seed: int
    token_ids: list[int]              # prompt and output so far, this step's tokens included, proposals not
    num_prompt_tokens: int
    grammar: GrammarMatcher | None = None   # what may come next: ask it, never move it on

    def copy(self) -> SamplingInput:
        """One that may be moved on."""
        grammar = None if self.grammar is None else self.grammar.copy()
        return replace(self, token_ids=list(self.token_ids), grammar=grammar)


@dataclass(slots=True, kw_only=True)
class BatchRow:
    """One sequence's share of a step.

    `restored_blocks` stand on an admission's first row only. All but the last are the first of `block_table`. The last
    may be another's, if only the first of its tokens are wanted: they are copied, and it is left as it is.
    """

    slot: int                         # 0 .. max_num_seqs-1, the sequence's own while it runs
    token_ids: list[int]              # to be computed in this step, at least one
    position: int                     # of the first of them in the sequence
    block_table: list[int]            # block ids covering position + len(token_ids) tokens
    restored_blocks: list[int] = field(default_factory=list)   # cached: the tokens before `position`
    sampling: SamplingInput | None = None   # None: a prompt not yet whole, no token wanted
    num_proposed: int = 0             # of token_ids, the last so many are guesses: KV of wrong ones is dropped

    @property
    def num_sampled_from(self) -> int:
        """After so many of its last tokens a next one is to be chosen."""
        return 0 if self.sampling is None else 1 + self.num_proposed

    @property
    def proposed_ids(self) -> list[int]:
        return self.token_ids[len(self.token_ids) - self.num_proposed :]

    def num_tokens_after(self, num_sampled: int) -> int:
        """Of the sequence, that have KV for good once so many were chosen: the last of these has none yet."""
        return self.position + len(self.token_ids) - self.num_proposed + max(num_sampled - 1, 0)


@dataclass(slots=True, kw_only=True)
class Release:
    """A sequence left its slot: finished, aborted or preempted. What it computed stays findable until evicted."""

    slot: int
    kept_blocks: list[tuple[int, int]]      # (index in the sequence, block id) whose KV must outlive the slot


@dataclass(frozen=True, slots=True)
class SavedBlock:
    """A block that can be found in memory, to be put on disk."""

    block: int
    num_tokens: int                         # that it holds


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """A block of a sequence admitted in this step, to be filled with KV that was read from disk, and verified."""

    block: int
    data: memoryview                        # as the back end once gave it to `DiskBlocks.write`
    num_tokens: int                         # that it holds


@dataclass(slots=True, kw_only=True)
class Batch:
    released: list[Release] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)      # block ids whose cached content nobody can find any more
    saved: list[SavedBlock] = field(default_factory=list)        # where that holds up nobody
    loaded: list[LoadedBlock] = field(default_factory=list)
    rows: list[BatchRow] = field(default_factory=list)
    num_steps: int = 1          # so many tokens are wanted of each row at most, one after another; fewer are right, too

    @property
    def num_tokens(self) -> int:
        return sum(len(row.token_ids) for row in self.rows)


@dataclass(slots=True)
class SampledToken:
    """Never changed; but one is made for each token, and to make a frozen one takes five times as long."""

    token_id: int
    logprob: float | None = None                                # natural log, of the distribution before temperature
    top_logprobs: tuple[tuple[int, float], ...] = ()            # likeliest first


@dataclass(frozen=True, slots=True)
class StepOutput:
    """`tokens[i]` is `batch.rows[i]`'s: empty where none was wanted, else the right proposals and one token more, or
    as many as `batch.num_steps` allows.
    """

    tokens: list[tuple[SampledToken, ...]]
    was_interrupted: bool = False     # nothing was computed: each row is to be asked for again
