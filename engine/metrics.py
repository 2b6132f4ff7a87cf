"""Counters of one engine. Owned by its thread, which publishes them as frozen `EngineMetrics`, one a step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.block_manager import BlockManager
from engine.engine import EngineMetrics
from engine.request import FinishReason


@dataclass(slots=True)
class EngineCounters:
    """They only grow."""

    prompt_tokens: int = 0                # of admitted prompts
    cached_prompt_tokens: int = 0         # of those, taken from the prefix cache
    output_tokens: int = 0
    requests: Counter[FinishReason] = field(default_factory=Counter)
    preemptions: int = 0
    proposed_tokens: int = 0              # guessed, and computed to be verified
    accepted_tokens: int = 0              # of those, right
    steps: int = 0                        # that computed something
    step_seconds: float = 0.0
    backend_seconds: float = 0.0

    def snapshot(self, *, num_running: int, num_waiting: int, blocks: BlockManager, held_bytes: int) -> EngineMetrics:
        return EngineMetrics(
            num_running=num_running,
            num_waiting=num_waiting,
            num_blocks=blocks.num_blocks,
            num_free_blocks=blocks.num_free_blocks,
            num_cached_blocks=blocks.num_cached_blocks,
            held_bytes=held_bytes,
            prompt_tokens_total=self.prompt_tokens,
            cached_prompt_tokens_total=self.cached_prompt_tokens,
            output_tokens_total=self.output_tokens,
            requests_total={reason.value: count for reason, count in self.requests.items()},
            preemptions_total=self.preemptions,
            proposed_tokens_total=self.proposed_tokens,
            accepted_tokens_total=self.accepted_tokens,
            steps_total=self.steps,
            step_seconds_total=self.step_seconds,
            backend_seconds_total=self.backend_seconds,
        )
