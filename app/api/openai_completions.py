"""POST /v1/completions: raw text continued, without a chat template; for tools and older clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app.api.choices import Ask, Choice, Piece, answer, collect, from_first, logprob_of, new_head, usage_body
from app.api.dependencies import CurrentUser, JsonObject, ServicesOf
from app.api.openai_formats import parse_format
from app.api.openai_parameters import Int, Parameters, answer_length
from app.api.sse import PING, EventStream, event, unless_disconnected
from engine.engine import TokenLogprob, Usage
from engine.errors import InvalidRequest
from engine.params import MAX_LOGPROBS, SamplingParams

DEFAULT_MAX_TOKENS = 16     # as OpenAI documents this route
MAX_ANSWERS = 64            # prompts times n

Prompt: TypeAlias = str | list[int]

router = APIRouter()


class CompletionParameters(Parameters):
    logprobs: Int | None = None
    best_of: Int | None = None
    echo: bool | None = None
    suffix: str | None = None


@router.post("/completions")
async def create_completion(request: Request, body: JsonObject, user: CurrentUser, services: ServicesOf) -> Response:
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
    pieces = answer(services.engines, model_id, asks)
    head = new_head("cmpl", "text_completion", model_id)
    if not parameters.stream:
        choices = await unless_disconnected(request, collect(pieces, len(asks)))
        return JSONResponse(_whole(choices, head, num_choices))
    first = await unless_disconnected(request, anext(pieces))
    return EventStream(_chunks(first, pieces, head, len(asks), num_choices, parameters.includes_usage))


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
    return isinstance(prompt, list) and bool(prompt) and all(type(token) is int and token >= 0 for token in prompt)


def _whole(choices: Sequence[Choice], head: dict[str, Any], num_choices_a_prompt: int) -> dict[str, Any]:
    return head | {
        "choices": [
            {
                "index": index,
                "text": choice.text,
                "logprobs": _logprobs(choice.logprobs, 0),
                "finish_reason": choice.finish_reason,
            }
            for index, choice in enumerate(choices)
        ],
        "usage": usage_body([choice.usage for choice in choices], num_choices_a_prompt=num_choices_a_prompt),
    }


async def _chunks(
    first: Piece,
    pieces: AsyncGenerator[Piece, None],
    head: dict[str, Any],
    num_answers: int,
    num_choices_a_prompt: int,
    includes_usage: bool,
) -> AsyncGenerator[bytes, None]:
    if includes_usage:
        head = head | {"usage": None}
    usages = [Usage()] * num_answers
    num_chars = [0] * num_answers
    async with aclosing(pieces):
        async for piece in from_first(first, pieces):
            if piece is None:
                yield PING
                continue
            index, delta = piece
            if delta.text or delta.logprobs or delta.finish_reason:
                choice = {
                    "index": index,
                    "text": delta.text,
                    "logprobs": _logprobs(delta.logprobs, num_chars[index]),
                    "finish_reason": delta.finish_reason,
                }
                num_chars[index] += len(delta.text)
                yield event(head | {"choices": [choice]})
            usages[index] = delta.usage or usages[index]
    if includes_usage:
        yield event(head | {"choices": [], "usage": usage_body(usages, num_choices_a_prompt=num_choices_a_prompt)})


def _logprobs(tokens: Sequence[TokenLogprob], offset: int) -> dict[str, Any] | None:
    """OpenAI's older form: lists side by side, and each token's place in the text, in characters."""
    if not tokens:
        return None
    offsets = []
    for token in tokens:
        offsets.append(offset)
        offset += len(token.token)
    return {
        "tokens": [token.token for token in tokens],
        "token_logprobs": [logprob_of(token) for token in tokens],
        "top_logprobs": [{other.token: logprob_of(other) for other in token.top} for token in tokens],
        "text_offset": offsets,
    }
