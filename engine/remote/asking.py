"""What is asked of a server elsewhere: a request of ours in the words that it knows. Pure, but for what was learnt.

Parameters that every server takes are sent as they are. Of the others, those that a server is known or found not to
take are left out; what an answer must look like is never left out: where it cannot be had, the request is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from engine.engine import ChatMessage, ChatRequest
from engine.errors import EndpointRefused, InvalidRequest
from engine.grammar import GrammarKind, GrammarSpec
from engine.params import SamplingParams
from engine.remote.endpoint import Endpoint, ServerKind
from engine.told import Told

_AS_VLLM = MappingProxyType({name: name for name in ("top_k", "min_p", "repetition_penalty", "ignore_eos")})
_AS_LLAMA = MappingProxyType({
    "top_k": "top_k", "min_p": "min_p", "repetition_penalty": "repeat_penalty", "ignore_eos": "ignore_eos",
})
_EXTRAS: Mapping[ServerKind, Mapping[str, str]] = MappingProxyType({
    ServerKind.LLAMA_CPP: _AS_LLAMA,
    ServerKind.LM_STUDIO: MappingProxyType({name: _AS_LLAMA[name] for name in ("top_k", "repetition_penalty")}),
    ServerKind.OLLAMA: MappingProxyType({}),        # its OpenAI route passes over them without a word
})
_LEFT_OUT = frozenset({         # where a server refuses them: they shape how words are chosen, and nothing else
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "repeat_penalty", "presence_penalty",
    "frequency_penalty", "seed", "ignore_eos", "stream_options",
})
_CONTINUES = MappingProxyType({
    ServerKind.VLLM: {"add_generation_prompt": False, "continue_final_message": True},
    ServerKind.SGLANG: {"continue_final_message": True},
    ServerKind.LLAMA_CPP: {},       # an answer at the end is gone on with
})
_TAKES_PATTERNS = frozenset({ServerKind.VLLM, ServerKind.INGLENOOK})


@dataclass(slots=True)
class Learnt:
    """What use has taught of one endpoint. `RemoteEngine` keeps one for each."""

    refused: set[str] = field(default_factory=set)      # parameters that it does not take
    calls_tools: bool | None = None                     # None: not tried yet
    keeps_forms: bool | None = None
    bytes_a_token: float = 3.0                          # of UTF-8; see `app.services.meter`


def chat_body(endpoint: Endpoint, request: ChatRequest, learnt: Learnt) -> dict[str, Any]:
    """Raises InvalidRequest for what this server cannot do."""
    body = _common(endpoint, request.params, learnt)
    body["messages"] = [_message(each) for each in request.messages]
    if request.continue_final_message:
        if endpoint.kind not in _CONTINUES:
            raise InvalidRequest(Told("elsewhere-no-continue", connection=endpoint.address.name), param="messages")
        body |= _CONTINUES[endpoint.kind]
    if request.tools:
        body["tools"] = [_tool(each, request.strict_tools) for each in request.tools]
        body["tool_choice"] = _tool_choice(request)
        if not request.parallel_tool_calls:
            body["parallel_tool_calls"] = False
    if request.params.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": request.params.logprobs}
    return body


def completion_body(
    endpoint: Endpoint, prompt: str | list[int], params: SamplingParams, learnt: Learnt
) -> dict[str, Any]:
    body = _common(endpoint, params, learnt) | {"prompt": prompt}
    if params.logprobs is not None:
        body["logprobs"] = params.logprobs
    if "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")
    return body


def session_headers(endpoint: Endpoint, session: str) -> dict[str, str]:
    """The same value for the same conversation, which tells neither who speaks nor which conversation it is here."""
    if not session or not endpoint.address.session_header:
        return {}
    opaque = sha256(f"{endpoint.connection_id}\n{session}".encode()).hexdigest()[:32]
    return {endpoint.address.session_header: opaque}


def adapt(body: dict[str, Any], error: EndpointRefused, learnt: Learnt) -> dict[str, Any] | None:
    """The request without the parameter that a server refuses; None where it means something else.

    OpenAI's newer models, for one, want `max_completion_tokens` in place of `max_tokens`, and one temperature only.
    """
    named = set(re.findall(r"[a-z_]{4,}", error.detail))
    if "max_completion_tokens" in named and "max_tokens" in body:
        learnt.refused.add("max_tokens")
        return _renamed(body)
    found = sorted(name for name in _LEFT_OUT & body.keys() if name in named)
    if not found:
        return None
    learnt.refused.update(found)
    return {name: value for name, value in body.items() if name not in found}


def too_long(error: EndpointRefused, num_tokens: int) -> tuple[int, int] | None:
    """Tokens of the prompt, and of the window, where that is what a server means; in the words of several."""
    detail = error.detail.lower()
    if "context" not in detail or not any(each in detail for each in ("length", "size", "window", "exceed")):
        return None
    if limit := re.search(r"(?:maximum context length is|available context size \(|context window of) *(\d+)", detail):
        window = int(limit[1])
        others = [int(each) for each in re.findall(r"\d+", detail)]
        return next((each for each in others if each > window), max(num_tokens, window + 1)), window
    return None


def _common(endpoint: Endpoint, params: SamplingParams, learnt: Learnt) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.remote_id, "stream": True, "stream_options": {"include_usage": True},
        "temperature": params.temperature,
    }
    plain: tuple[tuple[str, Any, Any], ...] = (
        ("max_tokens", params.max_tokens, None), ("top_p", params.top_p, 1.0), ("seed", params.seed, None),
        ("presence_penalty", params.presence_penalty, 0.0), ("frequency_penalty", params.frequency_penalty, 0.0),
        ("stop", list(params.stop), []),
        ("logit_bias", {str(token): bias for token, bias in params.logit_bias.items()}, {}),
    )
    body |= {name: value for name, value, without in plain if value != without}
    extras: tuple[tuple[str, Any, Any], ...] = (
        ("top_k", params.top_k, 0), ("min_p", params.min_p, 0.0),
        ("repetition_penalty", params.repetition_penalty, 1.0), ("ignore_eos", params.ignore_eos, False),
    )
    names = _EXTRAS.get(endpoint.kind, _AS_VLLM)
    body |= {names[name]: value for name, value, without in extras if value != without and name in names}
    if params.grammar is not None:
        body |= _form(endpoint, params.grammar)
    body = {name: value for name, value in body.items() if name not in learnt.refused - {"max_tokens"}}
    return _renamed(body) if "max_tokens" in learnt.refused else body


def _renamed(body: dict[str, Any]) -> dict[str, Any]:
    return {"max_completion_tokens" if name == "max_tokens" else name: value for name, value in body.items()}


def _form(endpoint: Endpoint, spec: GrammarSpec) -> dict[str, Any]:
    if spec.schema:
        form = {"name": "answer", "schema": from_json(spec.schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if spec.kind is GrammarKind.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    if spec.kind is GrammarKind.REGEX and endpoint.kind in _TAKES_PATTERNS:
        return {"structured_outputs": {"regex": spec.source}}
    raise InvalidRequest(
        Told("elsewhere-no-grammar", connection=endpoint.address.name, param=spec.param), param=spec.param
    )


def _message(message: ChatMessage) -> dict[str, Any]:
    """What was thought before is not said again: few servers take it, and templates leave it out."""
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name:
        body["name"] = message.name
    if message.tool_calls:
        body["tool_calls"] = list(message.tool_calls)
        body["content"] = message.content or None
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool(tool: dict[str, Any], strict: frozenset[str]) -> dict[str, Any]:
    function = tool.get("function", {})
    return tool | {"function": function | {"strict": True}} if function.get("name") in strict else tool


def _tool_choice(request: ChatRequest) -> Any:
    if not request.must_call:
        return "auto"
    if len(request.tools) == 1:
        return {"type": "function", "function": {"name": request.tools[0]["function"]["name"]}}
    return "required"
