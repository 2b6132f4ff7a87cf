"""What the clients ask, and what each must be answered: the very text that its prompt gets when nobody else is there.

Prompts share long beginnings and carry a mark of their own, and the model is a random one. Of prompts with like answers
one stays in the pool, so an answer that went to the wrong client is seen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

from tests.benchmarks.soak.server import MODEL_ID

CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
WORDS = ("ash", "beam", "coal", "door", "ember", "fire", "glow", "hearth", "iron", "kettle", "lamp", "oak", "soot")
NUM_SYSTEM_PROMPTS = 4
MAX_TOKENS = (8, 40, 160)
QUESTION_WORDS = (4, 12, 40)
NEW_WORDS = 130            # of a prompt that takes a while to read
CLEAR_MARGIN = 0.005       # between the logs of the two likeliest: kernels round differently in steps of another shape
STOP_CHARS = 3
REFERENCE_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    kind: str                            # for the report
    path: str
    body: dict[str, Any]
    expected: tuple[Said, ...]           # one a choice


@dataclass(slots=True)
class Prompt:
    system: str
    question: str
    max_tokens: int
    ignores_end: bool = True                                         # of turn, which a random model says early
    reply: Said = field(default_factory=lambda: Said("", None))      # alone

    @property
    def messages(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.question}]

    @property
    def as_text(self) -> str:
        """What the template makes of the messages: asked as a raw text, it must be continued alike."""
        turns = "".join(f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in self.messages)
        return f"{turns}<|im_start|>assistant\n"

    def body(self, **more: Any) -> dict[str, Any]:
        return {
            "model": MODEL_ID, "max_tokens": self.max_tokens, "temperature": 0, "ignore_eos": self.ignores_end, **more,
        }


def never_asked_before(generator: random.Random) -> Ask:
    """A long prompt of which nothing is in the cache. Nobody waits for its answer."""
    prompt = Prompt(_some_words(generator, NEW_WORDS), "Well?", max(MAX_TOKENS))
    if generator.random() < 0.5:
        return Ask("new prompt", CHAT, prompt.body(messages=prompt.messages, n=generator.choice((1, 2))), ())
    return Ask("new prompt", COMPLETION, prompt.body(prompt=prompt.as_text), ())


async def make_pool(url: str, key: str, num_prompts: int, seed: int) -> list[Ask]:
    """Asks every prompt alone, one after the other. One whose answer hangs by a thread or is another's is left out."""
    generator = random.Random(seed)
    pool: list[Ask] = []
    replies: set[str] = set()
    async with httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=REFERENCE_TIMEOUT_S
    ) as client:
        for prompt in _prompts(generator):
            if len(replies) == num_prompts:
                return pool
            body = prompt.body(messages=prompt.messages, logprobs=True, top_logprobs=2)
            choice = await _only_choice(client, body)
            prompt.reply = Said(choice["message"]["content"], choice["finish_reason"])
            if prompt.reply.text in replies or _margin(choice) < CLEAR_MARGIN:
                continue
            replies.add(prompt.reply.text)
            pool += _asks(prompt)
            if len(replies) % 4 == 0:
                pool.append(await _json_ask(client, prompt))
    raise AssertionError("the generator of prompts never ends")


def _prompts(generator: random.Random) -> Iterator[Prompt]:
    systems = [_some_words(generator, 40) for _ in range(NUM_SYSTEM_PROMPTS)]
    while True:
        question = f"{generator.randbytes(4).hex()}: {_some_words(generator, generator.choice(QUESTION_WORDS))}?"
        ignores_end = generator.random() < 0.7
        yield Prompt(generator.choice(systems), question, generator.choice(MAX_TOKENS), ignores_end)


def _some_words(generator: random.Random, num_words: int) -> str:
    return " ".join(generator.choices(WORDS, k=num_words))


def _asks(prompt: Prompt) -> Iterator[Ask]:
    """The same question in every way that has the same answer, or a part of it."""
    reply = prompt.reply
    yield Ask("chat", CHAT, prompt.body(messages=prompt.messages), (reply,))
    yield Ask("completion", COMPLETION, prompt.body(prompt=prompt.as_text), (reply,))
    yield Ask("two choices", CHAT, prompt.body(messages=prompt.messages, n=2), (reply, reply))
    yield Ask("two choices", COMPLETION, prompt.body(prompt=prompt.as_text, n=2), (reply, reply))
    if stop := _stop_string(reply.text):
        expected = Said(reply.text[: reply.text.index(stop)], "stop")
        yield Ask("stop string", CHAT, prompt.body(messages=prompt.messages, stop=[stop, "never said"]), (expected,))


def _stop_string(text: str) -> str | None:
    """From the middle of the answer, of whole characters."""
    pieces = [text[start : start + STOP_CHARS] for start in range(len(text) // 3, len(text) - STOP_CHARS)]
    return next((piece for piece in pieces if piece.isascii() and piece.isprintable()), None)


async def _json_ask(client: httpx.AsyncClient, prompt: Prompt) -> Ask:
    body = prompt.body(messages=prompt.messages, response_format={"type": "json_object"})
    choice = await _only_choice(client, body)
    return Ask("json object", CHAT, body, (Said(choice["message"]["content"], choice["finish_reason"]),))


async def _only_choice(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(CHAT, json=body)
    response.raise_for_status()
    (choice,) = response.json()["choices"]
    return dict(choice)


def _margin(choice: dict[str, Any]) -> float:
    """The smallest difference between a token and its nearest rival, in natural log."""
    tokens = choice["logprobs"]["content"] if choice["logprobs"] else []
    tops = [[top["logprob"] for top in token["top_logprobs"]] for token in tokens]
    return min((first - second for top in tops for first, second in pairwise(top)), default=0.0)
