"""What a step of next tokens computes beyond them: guesses to be tried, or further steps at once. Both are for steps in
which nobody has a prompt, and depend on what such steps took. The scheduler asks; the engine's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.backends.base import BackendInfo
from engine.batch import Batch, StepOutput
from engine.progress import num_more_tokens
from engine.proposer import Proposer
from engine.request import Sequence
from engine.speculation import Speculation
from engine.step import Step
from engine.steps_at_once import StepsAtOnce


class Lookahead:
    def __init__(
        self, info: BackendInfo, proposers: Iterable[Proposer] | None, clock_s: Callable[[], float]
    ) -> None:
        self._can_speculate = info.can_speculate
        self._window = info.max_sequence_tokens
        self._clock_s = clock_s
        self._speculation = Speculation(proposers)
        self._steps_at_once = StepsAtOnce(info.max_steps)
        self._begun_s = 0.0                     # when the last step had been planned, but for this
        self._only_writes = False               # nobody has a prompt in that

    def guesses(self, step: Step) -> dict[Sequence, list[int]]:
        """For those that lack one token, where all do: nobody's prompt waits for a guess. Asked once a step."""
        self._begun_s, self._only_writes = self._clock_s(), step.only_writes
        if not self._can_speculate or not step.only_writes:
            return {}
        limits: dict[Sequence, int] = {}
        if self._speculation.can_pay(len(step.shares)):
            limits = {sequence: num_more_tokens(sequence, self._window) - 1 for sequence in step.shares}
        return self._speculation.propose(limits)

    def num_steps(self, step: Step) -> int:
        """Several only where no guess is there to be tried, now or soon; and no more than anybody still wants."""
        num_steps = self._steps_at_once.num_steps(len(step.shares))
        if num_steps == 1 or not step.only_writes or (self._can_speculate and self._speculation.has_guess):
            return 1
        return min(num_steps, max((num_more_tokens(each, self._window) for each in step.shares), default=1))

    def learn(self, batch: Batch, output: StepOutput, now_s: float) -> None:
        """From the step that was planned last."""
        if not self._only_writes or not batch.rows:
            return
        num_proposed = [row.num_proposed for row in batch.rows]
        num_steps = 1 if any(num_proposed) else max(map(len, output.tokens))
        step_s = (now_s - self._begun_s) / num_steps
        if not any(num_proposed):
            self._steps_at_once.learn(step_s)
        if self._can_speculate:
            self._speculation.note_step(num_proposed, step_s)

    def forget(self, sequence: Sequence) -> None:
        self._speculation.forget(sequence)
