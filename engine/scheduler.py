"""What the next step computes: `schedule`, then the back end executes, then `update` takes in the tokens. Called by
`EngineWorker`, on the engine's thread.

There are no phases (the rule is vLLM v1's): a sequence has a count of computed tokens that catches up with its tokens.
Running sequences get what they lack within a budget of tokens, then waiting ones are admitted, their cached prefix
first. That alone gives continuous batching, chunked prefill, prefix caching and preemption. Speculation too: proposed
tokens are only more tokens, computed where budget and blocks are left over, and of them only the right ones count.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

from engine.backends.base import BackendInfo
from engine.batch import Batch, BatchRow, StepOutput
from engine.block_manager import BlockManager, Prefix
from engine.disk_cache.blocks import DiskBlocks
from engine.errors import EngineFailed
from engine.lookahead import Lookahead
from engine.metrics import EngineCounters
from engine.progress import Progress, accept
from engine.proposer import Proposer
from engine.request import FinishReason, Request, Sequence
from engine.slots import Slots
from engine.step import Step, StepInHand
from engine.step_budget import StepBudget
from engine.waiting import Consumption, WaitingQueue


class Scheduler:
    """Owns the sequences, the slots and the blocks of one engine."""

    def __init__(
        self,
        info: BackendInfo,
        eog_token_ids: frozenset[int],
        *,
        proposers: Iterable[Proposer] | None = None,
        disk: DiskBlocks | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._info = info
        self._window = info.max_sequence_tokens
        self._num_ahead = info.num_tokens_ahead
        self._eog_token_ids = eog_token_ids
        self.blocks = BlockManager(
            num_blocks=info.num_blocks, block_size=info.block_size, prefix_cache=info.prefix_cache, disk=disk
        )
        self._clock_s = clock_s                                # of `Request.arrival_s`
        self.counters = EngineCounters()
        self.step_budget = StepBudget(info)
        self._lookahead = Lookahead(info, proposers, clock_s)
        self._sequences: dict[str, Sequence] = {}              # all, by request id
        self._running = Slots(info.max_num_seqs)
        self._consumption = Consumption(clock_s)
        self._waiting = WaitingQueue(self._consumption)
        self._queue_changed = False

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def has_work(self) -> bool:
        """Something to compute, or to tell the back end."""
        return bool(self._sequences or self._running.has_released) or self.work_due_in_s == 0.0

    @property
    def work_due_in_s(self) -> float | None:
        """When there will be something to save, if nobody asks for anything; None: never."""
        return self.blocks.save_due_in_s()

    def add(self, request: Request) -> None:
        sequence = Sequence.of(request)
        self._sequences[request.request_id] = sequence
        self._waiting.add(sequence)
        self._queue_changed = True

    def abort(self, request_id: str, reason: FinishReason = FinishReason.ABORT) -> Progress | None:
        """End a sequence wherever it is: its slot and blocks are free for the next step. None if there is none."""
        sequence = self._sequences.get(request_id)
        if sequence is None:
            return None
        self._end(sequence, reason)
        return Progress(sequence=sequence, finish_reason=reason)

    def schedule(self) -> Batch:
        self._make_way()
        step = Step(self.step_budget.num_tokens(self._running), self._info.block_size)
        self._continue_running(step)
        self._admit_waiting(step)
        step.give_back_spare()
        self._propose(step)
        if self._sequences and not step.shares and not self.blocks.wait_for_disk():
            raise EngineFailed("The scheduler has sequences but can give none of them a token.")
        return self._batch(step.rows(), num_steps=self._lookahead.num_steps(step))

    def drain(self) -> Batch:
        """The last batch: everybody leaves, and what is not yet on disk is saved."""
        for sequence in list(self._running):
            self._leave_slot(sequence)
        return self._batch([], is_last=True)

    def moves(self) -> list[Progress]:
        """Places in the queue that changed since the last call."""
        if not self._queue_changed:
            return []
        self._queue_changed = False
        return [
            Progress(sequence=sequence, queue_position=position)
            for sequence, position in self._waiting.moves(self._running)
        ]

    def update(self, batch: Batch, output: StepOutput) -> list[Progress]:
        """Take in what the back end computed for `batch`, the last one scheduled."""
        if output.was_interrupted:
            return []
        now_s = self._clock_s()
        self._lookahead.learn(batch, output, now_s)
        progress: list[Progress] = []
        num_consumed: Counter[str] = Counter()
        for row, sampled in zip(batch.rows, output.tokens, strict=True):
            sequence = self._running[row.slot]
            num_consumed[sequence.request.user] += len(row.token_ids)
            news = accept(sequence, sampled, eog_token_ids=self._eog_token_ids, window=self._window)
            sequence.num_computed_tokens = min(row.num_tokens_after(len(sampled)), len(sequence.token_ids))
            self.blocks.publish(sequence, row.position)
            if row.num_proposed:
                self.blocks.trim(sequence)
                self.counters.observe_proposed(row.num_proposed, num_accepted=len(sampled) - 1)
            if news.finish_reason is not None:
                self._end(sequence, news.finish_reason)
            if news.tokens or news.finish_reason is not None:
                progress.append(news)
        self.counters.observe_tokens(progress, now_s)
        for user, num_tokens in num_consumed.items():
            self._consumption.charge(user, num_tokens)
        return progress

    def in_hand(self, batch: Batch) -> StepInHand:
        """Of a step that is about to be computed."""
        if batch.num_tokens == len(batch.rows):
            return StepInHand()
        return StepInHand({self._running[row.slot].request.request_id: len(row.token_ids) for row in batch.rows})

    def check_integrity(self) -> None:
        """Recount blocks and slots; raise EngineFailed where something is held that nobody owns."""
        self.blocks.check_integrity(self._running)
        self._running.check_integrity()
        if len(self._sequences) != self.num_running + self.num_waiting:
            raise EngineFailed("The scheduler lost a sequence.")
        self._consumption.forget_faded()

    # -- one step ------------------------------------------------------------------------------------------------------

    def _continue_running(self, step: Step) -> None:
        """Those that lack one token go first: a long prompt must not hold back anybody's next token."""
        reading: list[Sequence] = []
        for sequence in list(self._running):                   # of whom some may be sent away
            if sequence.num_lacking_tokens > 1:
                reading.append(sequence)
            elif step.budget and sequence.is_running and self._make_room(sequence):
                step.give_one(sequence)
        for sequence in reading:
            if self._has_enough(step):
                break
            if step.budget and sequence.is_running and self._make_room(sequence):
                step.share_out(sequence)

    def _has_enough(self, step: Step) -> bool:
        return step.ends_prompt and self.step_budget.is_enough(step.num_prompt_tokens)

    def _make_room(self, sequence: Sequence) -> bool:
        """Blocks for all of its tokens, at the cost of the newest; and, as far as there are any, for those still to be
        chosen, where the back end begins with them.

        A sequence holds blocks for its whole prompt from the start, so those that need more lack one token and come
        oldest first: the newest has no share in this step yet, and can be sent away.
        """
        num_tokens = len(sequence.token_ids)
        num_wanted = min(num_tokens + self._num_ahead, self._window)
        if self.blocks.reach(sequence) >= num_wanted:          # as in 15 of 16 steps of one that writes
            return True
        while not self.blocks.take(sequence, num_tokens):
            newest = next(reversed(self._running))
            self._preempt(newest)
            if newest is sequence:
                return False
        self.blocks.take(sequence, num_wanted, spare=len(self._running))
        return True

    def _make_way(self) -> None:
        """Where all slots are taken, the newest sequence of whom has most of them goes for one who has none.

        What it computed stays in the cache, so it comes back almost for free, and nobody waits for another's long
        answers to end.
        """
        if self._running.has_free or not self._info.prefix_cache:
            return
        users = self._running.num_by_user()
        user, num_slots = users.most_common(1)[0]
        if num_slots < 2 or self._waiting.users <= users.keys():
            return
        waiting = self._waiting.in_order(self._running)
        newcomer = next(sequence for sequence in waiting if sequence.request.user not in users)
        newest = next(each for each in reversed(self._running) if each.request.user == user)
        if newest.request.priority >= newcomer.request.priority:
            self._preempt(newest)

    def _admit_waiting(self, step: Step) -> None:
        if not (self._waiting and self._running.has_free and step.budget):
            return
        coming = {name for sequence in self._running for name in self.blocks.coming_names(sequence)}
        for sequence in self._waiting.in_order(self._running):
            if not (self._running.has_free and step.budget) or self._has_enough(step):
                break
            prefix = self.blocks.match(sequence)
            if prefix.is_coming or self.blocks.next_name(sequence, prefix) in coming:
                continue                        # somebody computes or reads it now: wait, rather than do it twice
            taken = self._take_with(prefix, sequence)
            if taken is None:
                break                                      # nobody passes it, or a large prompt would never start
            self._admit(sequence, num_cached_tokens=taken.num_tokens)
            num_first = self.step_budget.num_first_tokens(taken.num_tokens, sequence.num_lacking_tokens)
            step.budget = min(step.budget, num_first)
            coming.update(self.blocks.coming_names(sequence))
            step.share_out(sequence, restored_blocks=self.blocks.restored_blocks(sequence, taken))

    def _take_with(self, prefix: Prefix, sequence: Sequence) -> Prefix | None:
        """Blocks for a newcomer, one left for each of those that run: or it would be preempted at once.

        Where they are few, a block that it would only read from may be one of those that it needs.
        """
        for each in (prefix, prefix.whole(self._info.block_size)):
            if self.blocks.take(sequence, len(sequence.token_ids), each, spare=len(self._running)):
                return each
        return None

    def _propose(self, step: Step) -> None:
        """Guesses, as far as budget and blocks are left over."""
        for sequence, token_ids in self._lookahead.guesses(step).items():
            proposed_ids = token_ids[: step.budget]
            num_tokens = len(sequence.token_ids) + len(proposed_ids)
            if self.blocks.take(sequence, num_tokens, spare=len(self._running)):     # nobody is sent away for a guess
                step.add_proposed(sequence, proposed_ids)

    def _batch(self, rows: list[BatchRow], *, num_steps: int = 1, is_last: bool = False) -> Batch:
        return Batch(
            released=self._running.collect_released(),
            evicted=self.blocks.collect_evicted(),
            saved=self.blocks.collect_saved(everything=is_last),
            loaded=self.blocks.collect_loaded(),
            rows=rows,
            num_steps=num_steps,
        )

    # -- the ways in and out of a slot ---------------------------------------------------------------------------------

    def _admit(self, sequence: Sequence, *, num_cached_tokens: int) -> None:
        self._waiting.remove(sequence)
        self._queue_changed = True
        self._running.enter(sequence)
        sequence.num_computed_tokens = num_cached_tokens
        if sequence.num_preemptions == 0:
            sequence.num_cached_tokens = num_cached_tokens
            self.counters.observe_prompt(sequence)

    def _preempt(self, sequence: Sequence) -> None:
        """Back to the front of the queue. Its full blocks stay findable, so it comes back almost for free."""
        self._leave_slot(sequence)
        sequence.num_preemptions += 1
        self.counters.preemptions += 1
        self._waiting.add(sequence)

    def _end(self, sequence: Sequence, finish_reason: FinishReason) -> None:
        if sequence.is_running:
            self._leave_slot(sequence)
        else:
            self._waiting.remove(sequence)
            self._queue_changed = True
        del self._sequences[sequence.request.request_id]
        self.counters.requests[finish_reason] += 1

    def _leave_slot(self, sequence: Sequence) -> None:
        self._running.leave(sequence, self.blocks.release(sequence))
        self._lookahead.forget(sequence)
        self._queue_changed = True
