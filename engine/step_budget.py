"""How many tokens the next step may have, so that nobody waits long for it. The scheduler asks; the engine's thread.

A step is bounded by time where the back end says how fast it is, by `max_num_batched_tokens` alone where it does not.
What a token costs grows with its depth, the tokens before it, for attention reads them all. So the cost is a line,
seconds = a + b * depth, which follows what the last steps took.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.backends.base import BackendInfo
from engine.batch import Batch, BatchRow
from engine.request import Sequence

# (target, longest) seconds of a step with a prompt in it; the longest only to keep a tile of it whole.
BESIDE_OTHERS_S = (0.15, 0.36)     # who write: they get a token that often, and never wait for half a second
ALONE_S = (0.5, 1.0)               # nobody writes: newcomers alone wait for it, and Stop is heard in its midst

ATTENTION_TILE_TOKENS = 64         # GGML_FA_TILE_Q: attention over fewer tokens of one sequence
LAST_PART_TOKENS = ATTENTION_TILE_TOKENS // 2
PART_TILE_COST = 2.0               # costs so much more (measured from 2,000 tokens on)
LEAST_CHUNK_TOKENS = 8             # fewer waste the reading of the weights, and tell little of what a token costs

APART_S = 0.05                     # of prompts in a step: below it, reading the weights once is what pays
GROWTH_TOKENS = 1024               # beside others: 4 x 1024 to 4 x 8192 of the starter model takes 0.4 s

DEEP_TOKENS = 2000                 # where a token is taken to cost twice as much, until it has been measured
_LEARNING_RATE = 0.5               # of a step's surprise, what is believed
_LEAST_SHARE = 1e-3                # of the first guess: no cost is ever nothing


class StepBudget:
    """Told each step's rows and time by `learn`; gives the next one's tokens by `num_tokens`."""

    def __init__(self, info: BackendInfo) -> None:
        self._max_tokens = info.max_num_batched_tokens
        self._is_timed = info.prefill_tokens_per_s > 0
        self._token_s = 1 / info.prefill_tokens_per_s if self._is_timed else 0.0      # a
        self._deep_s = self._token_s                                                  # b * DEEP_TOKENS
        self._least_s = self._token_s * _LEAST_SHARE
        self._writing_s = 0.0              # of the step being planned, what those take that lack one token

    def num_tokens(self, running: Iterable[Sequence]) -> int:
        """Of the next step: one for each that writes, and as much of a prompt as its depth allows."""
        if not self._is_timed:
            return self._max_tokens
        running = list(running)
        writing = [sequence for sequence in running if sequence.num_lacking_tokens == 1]
        reading = [sequence for sequence in running if sequence.num_lacking_tokens > 1]
        self._writing_s = sum(self._cost_s(PART_TILE_COST * sequence.num_computed_tokens) for sequence in writing)
        if reading:
            deepest = max(reading, key=lambda sequence: sequence.num_computed_tokens)
            num_prompt_tokens = self.num_prompt_tokens(deepest.num_computed_tokens, deepest.num_lacking_tokens)
        else:                                                           # `num_first_tokens` bounds those who enter
            num_prompt_tokens = self.num_prompt_tokens(0) + LAST_PART_TOKENS
        return min(self._max_tokens, len(writing) + num_prompt_tokens)

    def num_first_tokens(self, depth: int, num_lacking: int) -> int:
        """As `num_prompt_tokens`, of one that enters. For a long one the context may have to grow: a step's time."""
        num_tokens = self.num_prompt_tokens(depth, num_lacking)
        if self._is_timed and self._writing_s and num_lacking > GROWTH_TOKENS:
            return min(num_tokens, LEAST_CHUNK_TOKENS)
        return num_tokens

    def is_enough(self, num_prompt_tokens: int) -> bool:
        """Whether a step that ends a prompt, with so many tokens of prompts in all, should have no other prompt.

        Of two prompts in one step the first ends later, by what the second costs; apart, the second ends later, by
        what all others cost. So apart is better where prompts are the larger part of the step.
        """
        return self._is_timed and num_prompt_tokens * self._token_s >= max(APART_S, self._writing_s)

    def num_prompt_tokens(self, depth: int, num_lacking: int = 0) -> int:
        """Of a prompt, in the step being planned, after `depth` tokens: whole tiles, or what there is time for.

        One more than the tiles hold: the library takes one token of everybody, the prompt's first among them, in a
        run of its own, and what is left must fill the tiles. A last part of a tile is not left to a step of its own.
        """
        if not self._is_timed:
            return self._max_tokens
        target_s, longest_s = BESIDE_OTHERS_S if self._writing_s else ALONE_S
        longest_s -= self._writing_s
        tile_s = ATTENTION_TILE_TOKENS * self._cost_s(depth + ATTENTION_TILE_TOKENS / 2)
        if num_tiles := round(target_s / tile_s) or int(tile_s <= longest_s):
            num_tokens = num_tiles * ATTENTION_TILE_TOKENS + 1
            is_last_part = num_tokens < num_lacking <= num_tokens + LAST_PART_TOKENS
            if is_last_part and num_lacking * self._cost_s(depth + num_lacking / 2) <= longest_s:
                num_tokens = num_lacking
            return min(self._max_tokens, num_tokens)
        num_tokens = int(longest_s / self._cost_s(PART_TILE_COST * depth))
        return max(LEAST_CHUNK_TOKENS, min(num_tokens, ATTENTION_TILE_TOKENS - 1))

    def learn(self, batch: Batch, took_s: float) -> None:
        """Move the line towards what a step took: along its own depth alone, so that what is known of others stays.

        A surprise counts no more than once over, for a step may also copy KV, or wait for another program.
        """
        if not self._is_timed or max((len(row.token_ids) for row in batch.rows), default=0) < LEAST_CHUNK_TOKENS:
            return
        if any(row.num_proposed for row in batch.rows):
            return                         # each of those needs logits: what they cost tells nothing of a prompt
        depth = sum(map(_depth_tokens, batch.rows)) / batch.num_tokens / DEEP_TOKENS
        expected_s = self._token_s + self._deep_s * depth
        surprise_s = min(took_s / batch.num_tokens - expected_s, expected_s)
        step_s = _LEARNING_RATE * surprise_s / (1 + depth * depth)
        self._token_s = max(self._token_s + step_s, self._least_s)
        self._deep_s = max(self._deep_s + step_s * depth, self._least_s)

    def _cost_s(self, depth: float) -> float:
        return self._token_s + self._deep_s * depth / DEEP_TOKENS


def _depth_tokens(row: BatchRow) -> float:
    """Depths of its tokens, added up; more where they fill no tile."""
    num_tokens = len(row.token_ids)
    loss = 1.0 if num_tokens >= ATTENTION_TILE_TOKENS else PART_TILE_COST
    return num_tokens * (row.position + num_tokens / 2) * loss
