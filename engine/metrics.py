"""Counters of one engine. Owned by its thread, which publishes them as frozen `EngineMetrics`, one a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.block_manager import BlockManager
from engine.engine import RATE_WINDOW_S, EngineMetrics
from engine.histogram import FIRST_TOKEN_BOUNDS_S, INTER_TOKEN_BOUNDS_S, HistogramCounter
from engine.progress import Progress
from engine.request import FinishReason, Sequence


@dataclass(slots=True)
class EngineCounters:
    """They only grow."""

    prompt_tokens: int = 0                # of admitted prompts
    cached_prompt_tokens: int = 0         # of those, taken from the prefix cache
    output_tokens: int = 0
    proposed_tokens: int = 0              # guessed ahead, and computed to be tried
    accepted_tokens: int = 0              # of those, the ones that the model would have written
    requests: Counter[FinishReason] = field(default_factory=Counter)
    preemptions: int = 0
    steps: int = 0                        # that computed something
    step_seconds: float = 0.0
    backend_seconds: float = 0.0
    time_to_first_token: HistogramCounter = field(default_factory=lambda: HistogramCounter(FIRST_TOKEN_BOUNDS_S))
    inter_token: HistogramCounter = field(default_factory=lambda: HistogramCounter(INTER_TOKEN_BOUNDS_S))
    _second: int = 0                      # the last in which tokens came, by the clock of `Request.arrival_s`
    _second_tokens: int = 0
    _seconds_before: tuple[tuple[int, int], ...] = ()

    def observe_prompt(self, sequence: Sequence) -> None:
        """It was admitted, for the first time."""
        self.prompt_tokens += sequence.num_prompt_tokens
        self.cached_prompt_tokens += sequence.num_cached_tokens

    def observe_proposed(self, num_proposed: int, *, num_accepted: int) -> None:
        self.proposed_tokens += num_proposed
        self.accepted_tokens += num_accepted

    def observe_tokens(self, progress: Iterable[Progress], now_s: float) -> None:
        """A step brought these, some of them tokens. `now_s` is of the clock of `Request.arrival_s`."""
        num_tokens = 0
        num_since: Counter[float] = Counter()       # most had their last in the same step
        for news in progress:
            if not news.tokens:
                continue
            sequence = news.sequence
            num_tokens += len(news.tokens)
            if sequence.last_token_s is None:
                self.time_to_first_token.observe(now_s - sequence.request.arrival_s)
            else:
                num_since[sequence.last_token_s] += 1
            sequence.last_token_s = now_s
        if not num_tokens:
            return
        for last_token_s, num_sequences in num_since.items():
            self.inter_token.observe(now_s - last_token_s, num_sequences)
        self.output_tokens += num_tokens
        second = int(now_s)
        if second != self._second:
            self._seconds_before = (*self._seconds_before[-RATE_WINDOW_S:], (self._second, self._second_tokens))
            self._second, self._second_tokens = second, 0
        self._second_tokens += num_tokens

    def snapshot(self, *, num_running: int, num_waiting: int, blocks: BlockManager, held_bytes: int) -> EngineMetrics:
        return EngineMetrics(
            num_running=num_running,
            num_waiting=num_waiting,
            num_blocks=blocks.num_blocks,
            block_size=blocks.block_size,
            num_free_blocks=blocks.num_free_blocks,
            num_cached_blocks=blocks.num_cached_blocks,
            held_bytes=held_bytes,
            prompt_tokens_total=self.prompt_tokens,
            cached_prompt_tokens_total=self.cached_prompt_tokens,
            output_tokens_total=self.output_tokens,
            proposed_tokens_total=self.proposed_tokens,
            accepted_tokens_total=self.accepted_tokens,
            requests_total={reason.value: count for reason, count in self.requests.items()},
            preemptions_total=self.preemptions,
            steps_total=self.steps,
            step_seconds_total=self.step_seconds,
            backend_seconds_total=self.backend_seconds,
            time_to_first_token=self.time_to_first_token.snapshot(),
            inter_token=self.inter_token.snapshot(),
            output_tokens_by_second=(*self._seconds_before, (self._second, self._second_tokens)),
        )
