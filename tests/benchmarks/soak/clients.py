"""The clients: each asks, waits, leaves early or hangs up at random until time is over, and checks what it hears."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.soak.asks import Ask, Said, never_asked_before
from tests.benchmarks.soak.wire import Exchange

PATIENCE_S = 60.0              # for one answer, however full the house is
PHASE_S = 3.0                  # by turns a rush, in which requests queue, and a calm, in which they run at once
MEAN_PAUSES_S = (0.05, 4.0)    # between two questions of one client, in either
CUT_AFTER_S = (0.003, 2.0)     # in the prompt: in the calm, a socket is cut while its prompt is being read
MAX_FAULTS = 20                # that the clients find, told in full; then they stop


@dataclass(slots=True)
class Tally:
    """What came of all requests together."""

    asked: Counter[str] = field(default_factory=Counter)           # by way
    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    num_compared: int = 0                                          # whole answers
    faults: list[str] = field(default_factory=list)

    def fault(self, ask: Ask, way: str, what: str) -> None:
        self.faults.append(f"{ask.kind} ({way}): {what}")


@dataclass(slots=True)
class Client:
    port: int
    keys: Sequence[str]
    pool: Sequence[Ask]
    tally: Tally
    generator: random.Random

    async def run(self, until_s: float) -> None:
        clock = asyncio.get_running_loop().time
        while clock() < until_s and len(self.tally.faults) < MAX_FAULTS:
            await self._ask_once()
            mean_pause_s = MEAN_PAUSES_S[int(clock() / PHASE_S) % len(MEAN_PAUSES_S)]
            await asyncio.sleep(min(self.generator.expovariate(1 / mean_pause_s), max(0.0, until_s - clock())))

    async def _ask_once(self) -> None:
        way = self.generator.choices(list(WAYS), [each.weight for each in WAYS.values()])[0]
        is_new = WAYS[way].go is Client.cut_in_the_prompt
        ask = never_asked_before(self.generator) if is_new else self.generator.choice(self.pool)
        self.tally.asked[way] += 1
        self.tally.kinds[ask.kind] += 1
        try:
            async with asyncio.timeout(PATIENCE_S):
                exchange = await Exchange.open(self.port)
                try:
                    await WAYS[way].go(self, exchange, ask, way)
                finally:
                    exchange.cut()
        except TimeoutError:
            self.tally.fault(ask, way, f"no end within {PATIENCE_S:.0f} s")
        except (OSError, EOFError, ValueError) as error:
            self.tally.fault(ask, way, f"{type(error).__name__}: {error}")

    async def _send(self, exchange: Exchange, ask: Ask, *, stream: bool, share: float = 1.0) -> None:
        body = ask.body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})
        await exchange.send(self.generator.choice(self.keys), ask.path, body, share=share)

    async def _is_well(self, exchange: Exchange, ask: Ask, way: str) -> bool:
        status = await exchange.status()
        self.tally.statuses[status] += 1
        if status != 200:
            self.tally.fault(ask, way, f"status {status}: {await exchange.rest()}")
        return status == 200

    def _compare(self, ask: Ask, way: str, said: Sequence[Said]) -> None:
        self.tally.num_compared += 1
        if tuple(said) != ask.expected:
            self.tally.fault(ask, way, f"said {said!r} instead of {ask.expected!r}, asked {json.dumps(ask.body)}")

    # -- the ways of asking --------------------------------------------------------------------------------------------

    async def whole(self, exchange: Exchange, ask: Ask, way: str) -> None:
        await self._send(exchange, ask, stream=False)
        if await self._is_well(exchange, ask, way):
            choices = json.loads(await exchange.rest())["choices"]
            self._compare(ask, way, [Said(_text_of(choice), choice["finish_reason"]) for choice in choices])

    async def stream(self, exchange: Exchange, ask: Ask, way: str, *, pause_s: float = 0.0) -> None:
        await self._send(exchange, ask, stream=True)
        if not await self._is_well(exchange, ask, way):
            return
        heard = _Heard()
        async for event in exchange.events():
            heard.take(event)
            if pause_s:
                await asyncio.sleep(self.generator.uniform(0, 2 * pause_s))
        if heard.error is not None:
            self.tally.fault(ask, way, f"an error in the stream: {heard.error}")
            return
        self._compare(ask, way, heard.said(len(ask.expected)))

    async def slow(self, exchange: Exchange, ask: Ask, way: str) -> None:
        await self.stream(exchange, ask, way, pause_s=0.03)

    async def cut_in_the_prompt(self, exchange: Exchange, ask: Ask, way: str) -> None:
        """Or in the queue, or late: waits of all lengths, so that every moment is met."""
        await self._send(exchange, ask, stream=self.generator.random() < 0.5)
        least_s, most_s = CUT_AFTER_S
        await asyncio.sleep(least_s * (most_s / least_s) ** self.generator.random())

    async def cut_in_the_answer(self, exchange: Exchange, ask: Ask, way: str) -> None:
        """What was heard so far must be the beginning of the right answer."""
        await self._send(exchange, ask, stream=True)
        if not await self._is_well(exchange, ask, way):
            return
        heard, num_events = _Heard(), self.generator.randint(1, 30)
        async for event in exchange.events():
            heard.take(event)
            num_events -= 1
            if num_events == 0:
                break
        for so_far, right in zip(heard.said(len(ask.expected)), ask.expected, strict=True):
            if not right.text.startswith(so_far.text):
                self.tally.fault(ask, way, f"said {so_far.text!r} so far instead of {right.text!r}")
        if self.generator.random() < 0.5:
            await exchange.close()

    async def half_a_request(self, exchange: Exchange, ask: Ask, way: str) -> None:
        await self._send(exchange, ask, stream=False, share=self.generator.random())
        await asyncio.sleep(self.generator.uniform(0, 0.02))


@dataclass(frozen=True, slots=True)
class Way:
    weight: int
    go: Callable[[Client, Exchange, Ask, str], Awaitable[None]]


WAYS = {
    "whole": Way(4, Client.whole),
    "stream": Way(5, Client.stream),
    "slow": Way(2, Client.slow),
    "cut in the prompt": Way(3, Client.cut_in_the_prompt),
    "cut in the answer": Way(3, Client.cut_in_the_answer),
    "half a request": Way(1, Client.half_a_request),
}


@dataclass(slots=True)
class _Heard:
    """Of a stream, so far."""

    texts: defaultdict[int, str] = field(default_factory=lambda: defaultdict(str))
    reasons: dict[int, str] = field(default_factory=dict)
    error: Any = None

    def take(self, event: dict[str, Any]) -> None:
        self.error = self.error or event.get("error")
        for choice in event.get("choices", ()):
            self.texts[choice["index"]] += _text_of(choice)
            if choice["finish_reason"] is not None:
                self.reasons[choice["index"]] = choice["finish_reason"]

    def said(self, num_choices: int) -> list[Said]:
        return [Said(self.texts[index], self.reasons.get(index)) for index in range(num_choices)]


def _text_of(choice: dict[str, Any]) -> str:
    """Of a completion, a chat's whole answer, or a piece of one."""
    if "text" in choice:
        return str(choice["text"])
    return (choice.get("message") or choice.get("delta") or {}).get("content") or ""
