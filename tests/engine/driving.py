"""Scheduler and back end without a thread: tests take the steps themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.backends.base import Backend
from engine.batch import Batch, SampledToken
from engine.params import SamplingParams
from engine.progress import Progress
from engine.proposer import Proposer
from engine.request import FinishReason, Request
from engine.scheduler import Scheduler

GREEDY = SamplingParams(temperature=0.0)


def request(
    request_id: str,
    prompt: str | Sequence[int],
    *,
    max_tokens: int = 4,
    params: SamplingParams = GREEDY,
    arrival_s: float = 0.0,
    user: str = "",
    priority: int = 0,
    cache_key: str = "",
    num_shared_tokens: int = 0,
    is_private: bool = False,
) -> Request:
    """A prompt in text stands for its bytes, which are the first 256 ids of `ByteTokenizer`."""
    return Request(
        request_id=request_id,
        prompt_token_ids=tuple(prompt.encode() if isinstance(prompt, str) else prompt),
        params=params,
        seed=0 if params.seed is None else params.seed,
        max_tokens=max_tokens,
        arrival_s=arrival_s,
        user=user,
        priority=priority,
        cache_key=cache_key,
        num_shared_tokens=num_shared_tokens,
        is_private=is_private,
    )


class Driver:
    """Takes steps, and gathers what each request was given."""

    def __init__(
        self, backend: Backend, *, proposer: Proposer | None = None, clock_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.backend = backend
        proposers = None if proposer is None else [proposer]
        self.scheduler = Scheduler(
            backend.info, backend.tokenizer.eog_token_ids, disk=backend.disk, proposers=proposers, clock_s=clock_s
        )
        self.tokens: dict[str, list[SampledToken]] = {}
        self.ended: dict[str, FinishReason] = {}
        self.cached: dict[str, int] = {}
        self.steps: list[tuple[int, ...]] = []   # of each that computed something, how many tokens each row had

    def submit(self, *requests: Request) -> None:
        for each in requests:
            self.tokens[each.request_id] = []
            self.scheduler.add(each)

    def abort(self, request_id: str) -> None:
        progress = self.scheduler.abort(request_id)
        if progress is not None:
            self._note([progress])

    def step(self) -> Batch:
        batch = self.scheduler.schedule()
        output = self.backend.execute(batch)
        progress = self.scheduler.update(batch, output)
        if batch.rows:
            num_steps = 1 if batch.num_steps == 1 else max(map(len, output.tokens), default=1)
            self.steps += [tuple(len(row.token_ids) for row in batch.rows)] * num_steps
        self._note(progress)
        return batch

    def run(self, *requests: Request, max_steps: int = 2000) -> dict[str, list[int]]:
        """Submit, and step until nothing is left; then nothing may be held by anybody."""
        self.submit(*requests)
        num_steps = num_idle_steps = 0                 # an idle one waits for another thread: a disk's, say
        while self.scheduler.has_work:
            if self.step().rows:
                num_steps += 1
            else:
                num_idle_steps += 1
            if num_steps > max_steps or num_idle_steps > 500 * max_steps:
                raise AssertionError(f"Still not at rest after {num_steps} steps, and {num_idle_steps} idle ones.")
        self.check_rest()
        return {each.request_id: self.output_ids(each.request_id) for each in requests}

    def output_ids(self, request_id: str) -> list[int]:
        return [token.token_id for token in self.tokens[request_id]]

    def check_rest(self) -> None:
        assert not self.scheduler.has_work
        self.scheduler.check_integrity()
        self.backend.check_integrity()
        assert self.scheduler.blocks.num_free_blocks == self.backend.info.num_blocks

    def _note(self, progress: Iterable[Progress]) -> None:
        for each in progress:
            request_id = each.sequence.request.request_id
            self.tokens[request_id] += each.tokens
            self.cached[request_id] = each.sequence.num_cached_tokens
            if each.finish_reason is not None:
                assert request_id not in self.ended
                self.ended[request_id] = each.finish_reason
