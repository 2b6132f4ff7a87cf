"""From a branch of a conversation to what the model reads: a system prompt, and as many last turns as its window holds.

Called by `GenerationService`, on the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.engine import ChatMessage, ChatRequest, Engine
from engine.load import DEFAULT_SYSTEM_PROMPT
from engine.params import SamplingParams
from store.tables import Message, MessageRole

ANSWER_ROOM_TOKENS = 1024       # kept free for the answer, or a quarter of a small window
TURNS_DROPPED_AT_ONCE = 4       # one at a time would change the prompt's beginning, and lose the cache, with every turn


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


@dataclass(frozen=True, slots=True)
class FittedQuestion:
    request: ChatRequest
    left_out: tuple[Message, ...]
    first_message_id: str | None        # of those that are in; None: all are


async def fit_into_window(engine: Engine, question: Question) -> FittedQuestion:
    """Leaves out the oldest turns where they do not all fit; never the system prompt, never the person's last message.

    Where even that is too long the engine says so, with the numbers, when it is asked.
    """
    system, turns = _split(question.thread)
    window = engine.info.max_model_len
    budget = window - min(ANSWER_ROOM_TOKENS, window // 4)

    async def fits(num_dropped: int) -> bool:
        return await engine.count_tokens(_request(question, system, turns[num_dropped:])) <= budget

    drops = [0, *range(TURNS_DROPPED_AT_ONCE, len(turns) - 1, TURNS_DROPPED_AT_ONCE)]
    low, high = 0, len(drops)           # searching the smallest index that fits; len(drops): all but the last turn
    while low < high:
        middle = 0 if (low, high) == (0, len(drops)) else (low + high) // 2     # most threads fit whole: try that first
        if await fits(drops[middle]):
            high = middle
        else:
            low = middle + 1
    num_dropped = drops[low] if low < len(drops) else max(len(turns) - 1, 0)
    left_out = tuple(message for turn in turns[:num_dropped] for message in turn)
    first_message_id = turns[num_dropped][0].id if num_dropped else None
    return FittedQuestion(_request(question, system, turns[num_dropped:]), left_out, first_message_id)


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


def _request(question: Question, system: Sequence[Message], turns: Sequence[Sequence[Message]]) -> ChatRequest:
    prompts = filter(None, (question.system_prompt, *(m.content for m in system)))
    messages = [ChatMessage(role="system", content="\n\n".join(prompts) or DEFAULT_SYSTEM_PROMPT)]
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
        is_private=question.private_to is not None,
        reasoning=question.reasoning,
        add_generation_prompt=not question.text_so_far,
        continue_final_message=bool(question.text_so_far),
    )
