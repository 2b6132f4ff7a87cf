"""How full a model's window is with a chat, for the meter in its head and what it says. Event loop only.

A loaded model counts with its own tokenizer; of any other it is an estimate, and said to be one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from app.services.context import Question, fit_into_window
from app.services.engines import EngineRegistry
from engine.engine import ChatRequest
from engine.errors import EngineError
from engine.params import SamplingParams
from store.tables import Message, Model, WhenFull

NUM_KEPT = 64               # measurements, so that an open page does not count a long chat again with each look
# Of UTF-8. The starter's tokenizer, over texts of this repository: English prose 3.4 to 4.6, German 2.5, Python 3.7,
# JavaScript 3.1, CSS and JSON 2.2 to 2.3. So what is guessed is up to half too much for English, and a quarter too
# little for JSON: rather too full than too empty, and only until the model is loaded, which counts.
BYTES_A_TOKEN = 3
TOKENS_A_MESSAGE = 6        # what a template puts around each


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUse:
    """What the next answer would be made from, its own question aside."""

    num_tokens: int
    window: int
    is_estimate: bool
    num_left_out: int = 0               # of the oldest messages
    first_message_id: str | None = None
    when_full: WhenFull = WhenFull.LEAVE_OUT

    @property
    def share(self) -> float:
        return min(1.0, self.num_tokens / self.window)


class ContextMeter:
    def __init__(self, engines: EngineRegistry) -> None:
        self._engines = engines
        self._known: OrderedDict[tuple[object, ...], ContextUse] = OrderedDict()

    def window(self, model: Model) -> int:
        """Tokens that it sees at once; 0 where neither the model nor its file says."""
        engine = self._engines.loaded().get(model.id)
        return engine.info.max_model_len if engine else self._engines.last_window(model.id) or model.context_tokens

    async def measure(
        self, thread: Sequence[Message], model: Model, when_full: WhenFull, system_prompt: str = ""
    ) -> ContextUse | None:
        """`system_prompt` is the chat's own. None where neither the model nor its file says how much it holds."""
        engine = self._engines.loaded().get(model.id)
        window = self.window(model)
        if window <= 0:
            return None
        # A branch is told by its last message: what is above that never changes, but for summaries.
        last = thread[-1] if thread else None
        key = (
            model.id, engine and engine.info.version, window, when_full, last and (last.id, len(last.content)),
            sum(bool(message.summary) for message in thread), system_prompt,
        )
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        question = Question(
            thread=tuple(thread), params=SamplingParams(), user_id="", when_full=when_full, system_prompt=system_prompt
        )
        counts = engine is not None and not engine.info.is_elsewhere       # looking at a chat sends it nowhere
        is_estimate = not counts
        try:
            fitted = await fit_into_window(question, window, engine.count_tokens if engine and counts else estimate)
        except EngineError:     # a template that does not take this thread, or a model that is just being unloaded
            fitted, is_estimate = await fit_into_window(question, window, estimate), True
        use = ContextUse(
            num_tokens=fitted.num_tokens,
            window=window,
            is_estimate=is_estimate,
            num_left_out=len(fitted.left_out),
            first_message_id=fitted.first_message_id,
            when_full=when_full,
        )
        self._known[key] = use
        if len(self._known) > NUM_KEPT:
            self._known.popitem(last=False)
        return use


async def estimate(request: ChatRequest) -> int:
    return sum(len(message.content.encode()) // BYTES_A_TOKEN + TOKENS_A_MESSAGE for message in request.messages)
