"""From a branch of a conversation to what the model reads: a system prompt, and as many last turns as its window holds.

Called by `GenerationService` and `ContextMeter`, on the event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.engine import ChatMessage, ChatRequest
from engine.load import DEFAULT_SYSTEM_PROMPT
from engine.params import SamplingParams
from store.tables import Message, MessageRole, WhenFull

ANSWER_ROOM_TOKENS = 1024       # kept free for the answer, or a quarter of a small window
TURNS_DROPPED_AT_ONCE = 4       # one at a time would change the prompt's beginning, and lose the cache, with every turn
SUMMARY_TOKENS = 512            # at most, or an eighth of a small window
KEPT_BY_SUMMARY = 0.6           # of the room: a summary costs time, so that it is made for many turns at once
SUMMARY_INTRO = "What was said earlier in this conversation, in short:"

CountTokens = Callable[[ChatRequest], Awaitable[int]]
Turns = Sequence[Sequence[Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What one answer is to be made from. `thread` ends with the person's message."""

    thread: tuple[Message, ...]
    params: SamplingParams
    user_id: str
    text_so_far: str = ""       # of the answer, where it is to be continued
    system_prompt: str = ""     # of the chat; before what its thread holds of the kind
    reasoning: bool | None = None       # whether to think first; None: as the model does by itself
    private_to: str | None = None       # a temporary chat: what it computes is shared with none, and kept on no disk
    when_full: WhenFull = WhenFull.LEAVE_OUT
    new_summaries: Mapping[str, str] = field(default_factory=dict)      # by the message that they reach down to

    def summary_at(self, message: Message) -> str:
        return self.new_summaries.get(message.id, message.summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedQuestion:
    request: ChatRequest
    num_tokens: int
    left_out: tuple[Message, ...]
    first_message_id: str | None = None     # of those that are in; None: all are
    summary: str = ""                       # of what is left out, and in the request
    unsummarised: tuple[Message, ...] = ()  # of what is left out, what the summary does not tell, where it should


async def fit_into_window(question: Question, window: int, count_tokens: CountTokens) -> FittedQuestion:
    """Leaves out the oldest turns where they do not all fit; never the system prompt, never the person's last message.

    A summary that there is of what is left out stands in its place; one that should be made is told as `unsummarised`.
    Where even the last message is too long the engine says so, with the numbers, when it is asked.
    """
    budget = window - min(ANSWER_ROOM_TOKENS, window // 4)
    fitting = _Fitting(question, count_tokens)
    if await fitting.size(0) <= budget:
        return fitting.fitted(0)
    num_told = fitting.num_told
    if num_told and await fitting.size(num_told) <= budget:
        return fitting.fitted(num_told)
    if question.when_full is WhenFull.SUMMARISE:
        budget = int(KEPT_BY_SUMMARY * budget) - summary_room(window)
    drops = [*range(num_told + TURNS_DROPPED_AT_ONCE, len(fitting.turns) - 1, TURNS_DROPPED_AT_ONCE)]
    low, high = 0, len(drops)           # searching the smallest index that fits; len(drops): all but the last turn
    while low < high:
        middle = (low + high) // 2
        if await fitting.size(drops[middle]) <= budget:
            high = middle
        else:
            low = middle + 1
    num_dropped = drops[low] if low < len(drops) else max(len(fitting.turns) - 1, 0)
    await fitting.size(num_dropped)
    return fitting.fitted(num_dropped)


def summary_room(window: int) -> int:
    return min(SUMMARY_TOKENS, window // 8)


class _Fitting:
    """One question's turns, and how many tokens it takes without the oldest of them."""

    def __init__(self, question: Question, count_tokens: CountTokens) -> None:
        self.system, self.turns = _split(question.thread)
        self._question = question
        self._count_tokens = count_tokens
        self._sizes: dict[int, int] = {}
        self.num_told, self._summary = 0, ""            # turns that the newest summary tells of
        if question.when_full is WhenFull.SUMMARISE:
            for index, turn in enumerate(self.turns[:-1], start=1):
                if summary := question.summary_at(turn[-1]):
                    self.num_told, self._summary = index, summary

    async def size(self, num_dropped: int) -> int:
        if num_dropped not in self._sizes:
            self._sizes[num_dropped] = await self._count_tokens(self._request(num_dropped))
        return self._sizes[num_dropped]

    def fitted(self, num_dropped: int) -> FittedQuestion:
        should_tell = self._question.when_full is WhenFull.SUMMARISE
        return FittedQuestion(
            request=self._request(num_dropped),
            num_tokens=self._sizes[num_dropped],
            left_out=_flat(self.turns[:num_dropped]),
            first_message_id=self.turns[num_dropped][0].id if num_dropped else None,
            summary=self._summary if num_dropped else "",
            unsummarised=_flat(self.turns[self.num_told:num_dropped]) if should_tell else (),
        )

    def _request(self, num_dropped: int) -> ChatRequest:
        summary = self._summary if num_dropped else ""
        return _request(self._question, self.system, self.turns[num_dropped:], summary)


def _flat(turns: Turns) -> tuple[Message, ...]:
    return tuple(message for turn in turns for message in turn)


def _split(thread: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """System messages, and turns: a person's message with its answer. Answers without a word are as if never made."""
    system: list[Message] = []
    turns: list[list[Message]] = []
    for message in thread:
        if message.role is MessageRole.SYSTEM:
            system.append(message)
        elif message.role is MessageRole.USER or not turns:
            turns.append([message])
        elif message.content:
            turns[-1].append(message)
    return system, turns


def _request(question: Question, system: Sequence[Message], turns: Turns, summary: str) -> ChatRequest:
    prompts = filter(None, (question.system_prompt, *(m.content for m in system)))
    prompt = "\n\n".join(prompts) or DEFAULT_SYSTEM_PROMPT
    if summary:
        prompt = f"{prompt}\n\n{SUMMARY_INTRO}\n{summary}"      # behind: the cache stays good for what is before
    messages = [ChatMessage(role="system", content=prompt)]
    messages += [
        ChatMessage(role=m.role.value, content=m.content, reasoning=m.reasoning) for turn in turns for m in turn
    ]
    if question.text_so_far:
        messages.append(ChatMessage(role="assistant", content=question.text_so_far))
    return ChatRequest(
        messages=tuple(messages),
        params=question.params,
        user=question.user_id,
        cache_key=question.private_to or "",
        session=question.thread[-1].conversation_id if question.thread else "",
        is_private=question.private_to is not None,
        reasoning=question.reasoning,
        add_generation_prompt=not question.text_so_far,
        continue_final_message=bool(question.text_so_far),
    )
