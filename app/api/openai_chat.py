"""POST /v1/chat/completions: OpenAI's chat, streamed or whole. A client that goes away frees its place at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from app.api.choices import Ask, Choice, Chunks, answer, collect, logprob_of, new_head, usage_body
from app.api.dependencies import json_object, services_of, user_of
from app.api.openai_formats import parse_format
from app.api.openai_messages import parse_messages
from app.api.openai_parameters import Int, Parameters, answer_length
from app.api.openai_tools import call_body, call_piece, parse_tools
from app.api.sse import Emit, EventStream, event, unless_disconnected
from app.services.engines import EngineRegistry
from engine.engine import ChatRequest, Delta, TokenLogprob, Usage
from engine.errors import InvalidRequest


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


async def create_chat_completion(request: Request) -> ASGIApp:
    body, user, services = await json_object(request), await user_of(request), await services_of(request)
    parameters = ChatParameters.parse(body)
    messages = parse_messages(body.get("messages"))
    offered = parse_tools(body)
    _refuse_what_is_not_here(body)
    sampling = parameters.sampling(
        max_tokens=parameters.length, logprobs=parameters.num_logprobs, grammar=parse_format(body)
    )
    model_id = await services.models.known_id(parameters.model)
    asks = [
        _ask(ChatRequest(
            messages=messages,
            params=params,
            user=user.id,
            session=_session(body, user.id),
            tools=offered.tools,
            must_call=offered.must_call,
            strict_tools=offered.strict,
            parallel_tool_calls=offered.parallel_tool_calls,
        ))
        for params in sampling
    ]
    if not parameters.stream:
        choices = await unless_disconnected(request.receive, collect(services.engines, model_id, asks))
        return JSONResponse(_whole(choices, new_head("chatcmpl", "chat.completion", model_id)))
    head = new_head("chatcmpl", "chat.completion.chunk", model_id)
    return _stream(services.engines, model_id, asks, head, parameters.includes_usage)


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


def _stream(
    engines: EngineRegistry, model_id: str, asks: Sequence[Ask], head: dict[str, Any], includes_usage: bool
) -> EventStream:
    """As clients expect it: the role once, the text, one last empty delta with the reason; then the usage."""
    if includes_usage:
        head = head | {"usage": None}
    chunks = Chunks(head)
    usages = [Usage()] * len(asks)

    async def write(emit: Emit) -> None:
        async def take(index: int, delta: Delta) -> None:
            events, logprobs = [], _logprobs(delta.logprobs)
            for content in _contents_of(delta):
                events.append(chunks.of(_choice(index, content, logprobs=logprobs)))
                logprobs = None
            if delta.finish_reason is not None:
                usages[index] = delta.usage or Usage()
                events.append(chunks.of(_choice(index, {}, finish_reason=delta.finish_reason)))
            await emit(b"".join(events))

        await answer(engines, model_id, asks, take)
        if includes_usage:
            usage = usage_body(usages, num_choices_a_prompt=len(asks))
            await emit(event(head | {"choices": [], "usage": usage}))

    roles = (chunks.of(_choice(index, {"role": "assistant", "content": ""})) for index in range(len(asks)))
    return EventStream(write, opening=b"".join(roles))


def _contents_of(delta: Delta) -> Iterator[dict[str, Any]]:
    """Of the chunks to send; pieces of calls one by one, for clients join two of one call wrongly."""
    content = {"reasoning_content": delta.reasoning} if delta.reasoning else {}
    if delta.text or (delta.logprobs and not content and not delta.tool_calls):
        content["content"] = delta.text
    if content:
        yield content
    for piece in delta.tool_calls:
        yield {"tool_calls": [call_piece(piece)]}


def _choice(
    index: int,
    delta: dict[str, Any],
    *,
    logprobs: dict[str, Any] | None = None,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}


def _logprobs(tokens: Sequence[TokenLogprob]) -> dict[str, Any] | None:
    if not tokens:
        return None
    content = [_logprob(token) | {"top_logprobs": [_logprob(other) for other in token.top]} for token in tokens]
    return {"content": content}


def _logprob(token: TokenLogprob) -> dict[str, Any]:
    return {"token": token.token, "logprob": logprob_of(token), "bytes": list(token.bytes)}
