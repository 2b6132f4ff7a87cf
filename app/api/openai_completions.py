"""POST /v1/completions: raw text continued, without a chat template; for tools and older clients."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from app.api.choices import Ask, Choice, Chunks, answer, collect, logprob_of, new_head, usage_body
from app.api.dependencies import json_object, services_of, user_of
from app.api.openai_formats import parse_format
from app.api.openai_parameters import Int, Parameters, answer_length
from app.api.sse import Emit, EventStream, event, unless_disconnected
from app.services.engines import EngineRegistry
from engine.engine import Delta, TokenLogprob, Usage
from engine.errors import InvalidRequest
from engine.params import MAX_LOGPROBS, SamplingParams

DEFAULT_MAX_TOKENS = 16     # as OpenAI documents this route
MAX_ANSWERS = 64            # prompts times n

Prompt: TypeAlias = str | list[int]

class CompletionParameters(Parameters):
    logprobs: Int | None = None
    best_of: Int | None = None
    echo: bool | None = None
    suffix: str | None = None


async def create_completion(request: Request) -> ASGIApp:
    body, user, services = await json_object(request), await user_of(request), await services_of(request)
    parameters = CompletionParameters.parse(body)
    _refuse_what_is_not_here(parameters)
    prompts = _prompts(body.get("prompt"))
    num_choices = parameters.num_choices
    if len(prompts) * num_choices > MAX_ANSWERS:
        raise InvalidRequest(f"At most {MAX_ANSWERS} answers (prompts times n) in one request.", param="prompt")
    length = DEFAULT_MAX_TOKENS if parameters.max_tokens is None else parameters.max_tokens
    sampling = parameters.sampling(
        max_tokens=answer_length("max_tokens", length), logprobs=parameters.logprobs, grammar=parse_format(body)
    )
    model_id = await services.models.known_id(parameters.model)
    asks = [_ask(prompt, params, user.id) for prompt in prompts for params in sampling]
    head = new_head("cmpl", "text_completion", model_id)
    if not parameters.stream:
        choices = await unless_disconnected(request.receive, collect(services.engines, model_id, asks))
        return JSONResponse(_whole(choices, head, num_choices))
    return _stream(services.engines, model_id, asks, head, num_choices, parameters.includes_usage)


def _ask(prompt: Prompt, params: SamplingParams, user_id: str) -> Ask:
    return lambda engine: engine.complete(prompt, params, user=user_id)


def _refuse_what_is_not_here(parameters: CompletionParameters) -> None:
    if parameters.echo:
        raise InvalidRequest("echo: this version does not repeat the prompt.", param="echo")
    if parameters.suffix:
        raise InvalidRequest("suffix: this version does not fill in the middle.", param="suffix")
    if parameters.best_of is not None and parameters.best_of != parameters.num_choices:
        raise InvalidRequest("best_of: this version gives every answer that it makes; ask with n.", param="best_of")
    if parameters.logprobs is not None and not 0 <= parameters.logprobs <= MAX_LOGPROBS:
        wrong = f"logprobs is {parameters.logprobs}; it must be at least 0 and at most {MAX_LOGPROBS}."
        raise InvalidRequest(wrong, param="logprobs")


def _prompts(prompt: Any) -> list[Prompt]:
    """A text, a list of texts, the tokens of a text, or a list of those."""
    if isinstance(prompt, str) or _is_tokens(prompt):
        return [prompt]
    if isinstance(prompt, list) and prompt and all(isinstance(each, str) or _is_tokens(each) for each in prompt):
        return prompt
    raise InvalidRequest("prompt must be a string, a list of strings, or token ids.", param="prompt")


def _is_tokens(prompt: Any) -> bool:
    return isinstance(prompt, list) and set(map(type, prompt)) == {int} and min(prompt) >= 0


def _whole(choices: Sequence[Choice], head: dict[str, Any], num_choices_a_prompt: int) -> dict[str, Any]:
    return head | {
        "choices": [
            {
                "index": index,
                "text": choice.text,
                "logprobs": _logprobs(choice.logprobs, Places()),
                "finish_reason": choice.finish_reason,
            }
            for index, choice in enumerate(choices)
        ],
        "usage": usage_body([choice.usage for choice in choices], num_choices_a_prompt=num_choices_a_prompt),
    }


def _stream(
    engines: EngineRegistry,
    model_id: str,
    asks: Sequence[Ask],
    head: dict[str, Any],
    num_choices_a_prompt: int,
    includes_usage: bool,
) -> EventStream:
    if includes_usage:
        head = head | {"usage": None}
    chunks = Chunks(head)
    usages = [Usage()] * len(asks)
    places = [Places() for _ in asks]

    async def write(emit: Emit) -> None:
        async def take(index: int, delta: Delta) -> None:
            usages[index] = delta.usage or usages[index]
            if not (delta.text or delta.logprobs or delta.finish_reason):
                await emit(b"")
                return
            choice = {
                "index": index,
                "text": delta.text,
                "logprobs": _logprobs(delta.logprobs, places[index]),
                "finish_reason": delta.finish_reason,
            }
            await emit(chunks.of(choice))

        await answer(engines, model_id, asks, take)
        if includes_usage:
            usage = usage_body(usages, num_choices_a_prompt=num_choices_a_prompt)
            await emit(event(head | {"choices": [], "usage": usage}))

    return EventStream(write)


class Places:
    """Where each token of an answer begins in its text, in characters: a character may be spread over several tokens,
    and counts once.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._num_chars = 0

    def next(self, token: TokenLogprob) -> int:
        place = self._num_chars
        self._num_chars += len(self._decoder.decode(token.bytes))
        return place


def _logprobs(tokens: Sequence[TokenLogprob], places: Places) -> dict[str, Any] | None:
    """OpenAI's older form: lists side by side, and each token's place in the text, in characters."""
    if not tokens:
        return None
    return {
        "tokens": [token.token for token in tokens],
        "token_logprobs": [logprob_of(token) for token in tokens],
        "top_logprobs": [{other.token: logprob_of(other) for other in token.top} for token in tokens],
        "text_offset": [places.next(token) for token in tokens],
    }
