"""POST /v1/chat/completions: OpenAI's chat, streamed or whole. A client that goes away frees its place at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app.api.choices import Ask, Choice, Piece, answer, collect, from_first, logprob_of, new_head, usage_body
from app.api.dependencies import CurrentUser, JsonObject, ServicesOf
from app.api.openai_formats import parse_format
from app.api.openai_messages import parse_messages
from app.api.openai_parameters import Int, Parameters, answer_length
from app.api.openai_tools import call_body, call_piece, parse_tools
from app.api.sse import PING, EventStream, event, unless_disconnected
from engine.engine import ChatRequest, Delta, TokenLogprob, Usage
from engine.errors import InvalidRequest

router = APIRouter()


class ChatParameters(Parameters):
    max_completion_tokens: Int | None = None        # the newer name, which wins
    logprobs: bool | None = None
    top_logprobs: Int | None = None

    @property
    def length(self) -> int | None:
        """Of an answer, in tokens; None: as many as fit. Raises InvalidRequest."""
        if self.max_completion_tokens is None:
            return answer_length("max_tokens", self.max_tokens)
        return answer_length("max_completion_tokens", self.max_completion_tokens)

    @property
    def num_logprobs(self) -> int | None:
        if self.logprobs:
            return self.top_logprobs or 0
        if self.top_logprobs is not None:
            raise InvalidRequest("top_logprobs needs logprobs: true.", param="top_logprobs")
        return None


@router.post("/chat/completions")
async def create_chat_completion(
    request: Request, body: JsonObject, user: CurrentUser, services: ServicesOf
) -> Response:
    parameters = ChatParameters.parse(body)
    messages = parse_messages(body.get("messages"))
    offered = parse_tools(body)
    _refuse_what_is_not_here(body)
    sampling = parameters.sampling(
        max_tokens=parameters.length, logprobs=parameters.num_logprobs, grammar=parse_format(body)
    )
    model_id = await services.models.known_id(parameters.model)
    requests = [
        ChatRequest(
            messages=messages,
            params=params,
            user=user.id,
            session=_session(body, user.id),
            tools=offered.tools,
            must_call=offered.must_call,
            strict_tools=offered.strict,
            parallel_tool_calls=offered.parallel_tool_calls,
        )
        for params in sampling
    ]
    pieces = answer(services.engines, model_id, [_ask(asked) for asked in requests])
    if not parameters.stream:
        choices = await unless_disconnected(request, collect(pieces, len(requests)))
        return JSONResponse(_whole(choices, new_head("chatcmpl", "chat.completion", model_id)))
    first = await unless_disconnected(request, anext(pieces))       # what is wrong from the start still gets its status
    head = new_head("chatcmpl", "chat.completion.chunk", model_id)
    return EventStream(_chunks(first, pieces, head, len(requests), parameters.includes_usage))


def _ask(request: ChatRequest) -> Ask:
    return lambda engine: engine.chat(request)


def _session(body: dict[str, Any], user_id: str) -> str:
    """What a client calls one conversation, which OpenAI has as a hint for caches: one of this person's."""
    key = body.get("prompt_cache_key")
    return f"{user_id}/{key}" if isinstance(key, str) and key else ""


def _refuse_what_is_not_here(body: dict[str, Any]) -> None:
    """Refused rather than ignored: the client would take unconstrained text for what it asked for."""
    if body.get("modalities") not in (None, ["text"]):
        raise InvalidRequest("modalities: this version answers with text only.", param="modalities")


def _whole(choices: Sequence[Choice], head: dict[str, Any]) -> dict[str, Any]:
    return head | {
        "choices": [
            {
                "index": index,
                "message": _message(choice),
                "logprobs": _logprobs(choice.logprobs),
                "finish_reason": choice.finish_reason,
            }
            for index, choice in enumerate(choices)
        ],
        "usage": usage_body([choice.usage for choice in choices], num_choices_a_prompt=len(choices)),
    }


def _message(choice: Choice) -> dict[str, Any]:
    content = None if choice.tool_calls and not choice.text else choice.text
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if choice.reasoning:
        message["reasoning_content"] = choice.reasoning
    if choice.tool_calls:
        message["tool_calls"] = [call_body(call) for call in choice.tool_calls]
    return message


async def _chunks(
    first: Piece, pieces: AsyncGenerator[Piece, None], head: dict[str, Any], num_choices: int, includes_usage: bool
) -> AsyncGenerator[bytes, None]:
    """As clients expect it: the role once, the text, one last empty delta with the reason; then the usage."""
    if includes_usage:
        head = head | {"usage": None}
    usages = [Usage()] * num_choices
    async with aclosing(pieces):
        for index in range(num_choices):
            yield event(_chunk(head, index, {"role": "assistant", "content": ""}))
        async for piece in from_first(first, pieces):
            if piece is None:
                yield PING
                continue
            index, delta = piece
            logprobs = _logprobs(delta.logprobs)
            for content in _contents_of(delta):
                yield event(_chunk(head, index, content, logprobs=logprobs))
                logprobs = None
            if delta.finish_reason is not None:
                usages[index] = delta.usage or Usage()
                yield event(_chunk(head, index, {}, finish_reason=delta.finish_reason))
    if includes_usage:
        yield event(head | {"choices": [], "usage": usage_body(usages, num_choices_a_prompt=num_choices)})


def _contents_of(delta: Delta) -> Iterator[dict[str, Any]]:
    """Of the chunks to send; pieces of calls one by one, for clients join two of one call wrongly."""
    content = {"reasoning_content": delta.reasoning} if delta.reasoning else {}
    if delta.text or (delta.logprobs and not content and not delta.tool_calls):
        content["content"] = delta.text
    if content:
        yield content
    for piece in delta.tool_calls:
        yield {"tool_calls": [call_piece(piece)]}


def _chunk(
    head: dict[str, Any],
    index: int,
    delta: dict[str, Any],
    *,
    logprobs: dict[str, Any] | None = None,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    return head | {"choices": [{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}]}


def _logprobs(tokens: Sequence[TokenLogprob]) -> dict[str, Any] | None:
    if not tokens:
        return None
    content = [_logprob(token) | {"top_logprobs": [_logprob(other) for other in token.top]} for token in tokens]
    return {"content": content}


def _logprob(token: TokenLogprob) -> dict[str, Any]:
    return {"token": token.token, "logprob": logprob_of(token), "bytes": list(token.bytes)}
