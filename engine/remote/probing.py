"""Finds out what a server elsewhere is and can, by asking it. Nothing of anybody's chats is sent for it.

`probe` asks only for what costs nothing: its models, and the routes that tell servers apart. What only an answer can
show, whether it keeps to a form or calls tools, is tried with the first request that wants it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from engine.errors import EndpointError, EndpointRefused
from engine.remote.answering import Reader
from engine.remote.asking import Learnt, adapt
from engine.remote.endpoint import Address, Endpoint, FoundModel, Probed, ServerKind, number_in
from engine.remote.reading import UNREADABLE, leniently
from engine.remote.wire import Wire, garbage

MAX_MODELS = 500
MAX_ASKED = 40                  # of Ollama's models, each of which is asked for by itself
MAX_ID_CHARS = 200
MAX_WINDOW = 2**27
OLLAMA_CONTEXT_TOKENS = 4096    # its own default, beyond which it leaves the head of a prompt out without a word
MAX_TRIAL_TOKENS = 400          # a model that thinks first needs some

_OWNERS = {
    "vllm": ServerKind.VLLM, "sglang": ServerKind.SGLANG, "tensorrt_llm": ServerKind.TENSORRT_LLM,
    "llamacpp": ServerKind.LLAMA_CPP, "inglenook": ServerKind.INGLENOOK,
}
_LM_STUDIO_TYPES = frozenset({"llm", "vlm", "embeddings"})
_KEEPS_TOKENS = frozenset({ServerKind.VLLM, ServerKind.SGLANG, ServerKind.LLAMA_CPP})
_FORM = {
    "type": "object", "properties": {"inglenook": {"type": "string", "enum": ["7f3a"]}}, "required": ["inglenook"],
    "additionalProperties": False,
}
_TOOL = {
    "type": "function", "function": {
        "name": "note_weather", "description": "Notes the weather of a town.",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A small answer, made to see whether any comes."""

    first_token_s: float
    says_usage: bool


async def probe(wire: Wire, address: Address) -> Probed:
    """Raises EndpointError where there is no such API at this address, nor at the same with /v1."""
    began_s = time.monotonic()
    try:
        listed = await _list(wire, address)
    except EndpointError as error:
        if address.base_url.endswith("/v1") or error.status not in (None, 404, 405):
            raise
        with_version = replace(address, base_url=f"{address.base_url}/v1")
        try:
            began_s = time.monotonic()
            listed = await _list(wire, with_version)
        except EndpointError:
            raise error from None
        address = with_version
    latency_s = time.monotonic() - began_s
    rows = [each for each in listed[:MAX_MODELS] if _is_model(each)]
    kind = await _kind(wire, address, rows)
    models = {each["id"]: _found(each) for each in rows}
    match kind:
        case ServerKind.OLLAMA:
            models = await _ask_ollama(wire, address, models)
        case ServerKind.LM_STUDIO:
            models = await _ask_lm_studio(wire, address, models)
        case ServerKind.LLAMA_CPP:
            models = await _ask_llama_server(wire, address, models)
    has_tokenizer = kind in _KEEPS_TOKENS and bool(models) and await _has_tokenizer(wire, address, next(iter(models)))
    return Probed(
        base_url=address.base_url, kind=kind, models=tuple(models.values()), has_tokenizer=has_tokenizer,
        latency_s=latency_s, num_left_out=len(listed) - len(rows),
    )


async def try_out(wire: Wire, endpoint: Endpoint) -> Trial:
    """Has the model say a word. Raises EndpointError."""
    body: dict[str, Any] = {
        "model": endpoint.remote_id, "messages": [{"role": "user", "content": "Say OK."}], "max_tokens": 8,
    }
    began_s = time.monotonic()
    answer = await _whole(wire, endpoint, body, Learnt())
    reader = Reader(endpoint.address)
    reader.take(answer)
    reader.end(is_whole=True, num_prompt_tokens=0)
    return Trial(first_token_s=time.monotonic() - began_s, says_usage=reader.says_usage)


async def keeps_forms(wire: Wire, endpoint: Endpoint, learnt: Learnt) -> bool:
    """Whether a JSON schema binds its answers: one that no model would come upon by itself. Raises EndpointError."""
    form = {"name": "trial", "schema": _FORM, "strict": True}
    body = {
        "model": endpoint.remote_id, "messages": [{"role": "user", "content": "Greet me, in JSON."}],
        "max_tokens": MAX_TRIAL_TOKENS, "temperature": 0.0,
        "response_format": {"type": "json_schema", "json_schema": form},
    }
    text = _message(await _whole(wire, endpoint, body, learnt)).get("content")
    try:
        return isinstance(text, str) and bool(from_json(text) == {"inglenook": "7f3a"})
    except ValueError:
        return False


async def calls_tools(wire: Wire, endpoint: Endpoint, learnt: Learnt) -> bool:
    """Whether it calls one where it is told to. Raises EndpointError."""
    body = {
        "model": endpoint.remote_id,
        "messages": [{"role": "user", "content": "Note the weather of Oslo, by calling the tool."}],
        "max_tokens": MAX_TRIAL_TOKENS, "temperature": 0.0, "tools": [_TOOL], "tool_choice": "auto",
    }
    match _message(await _whole(wire, endpoint, body, learnt)).get("tool_calls"):
        case [{"function": {"name": "note_weather"}}, *_]:
            return True
    return False


async def _whole(wire: Wire, endpoint: Endpoint, body: dict[str, Any], learnt: Learnt) -> Any:
    """{} where it refuses what is tried."""
    url, asked = f"{endpoint.address.base_url}/chat/completions", dict(body)
    for _ in range(3):
        try:
            return await wire.json(endpoint.address, "POST", url, asked)
        except EndpointRefused as error:
            adapted = adapt(asked, error, learnt)
            if adapted is None:
                if "tools" in asked or "response_format" in asked:
                    return {}
                raise
            asked = adapted
    return {}


def _message(answer: Any) -> Mapping[str, Any]:
    match answer:
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
    return {}


async def _list(wire: Wire, address: Address) -> list[Any]:
    short_s = wire.patience.short_s
    match await wire.json(address, "GET", f"{address.base_url}/models", within_s=short_s, read=leniently):
        case {"data": list(rows)}:
            return rows
    raise garbage(address, "it lists no models")


def _is_model(row: Any) -> bool:
    model_id = row.get("id") if isinstance(row, dict) else None
    return (
        isinstance(model_id, str) and 0 < len(model_id) <= MAX_ID_CHARS and model_id.isprintable()
        and UNREADABLE not in model_id
    )


def _found(row: Mapping[str, Any]) -> FoundModel:
    meta = row.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    window = _window(row.get("max_model_len")) or _window(row.get("context_length")) or _window(meta.get("n_ctx_train"))
    return FoundModel(remote_id=row["id"], window=window, embeds=row.get("embeds") is True)


def _window(value: Any) -> int:
    return value if type(value) is int and 0 < value <= MAX_WINDOW else 0


async def _kind(wire: Wire, address: Address, rows: list[Any]) -> ServerKind:
    """By whom its models say that they belong to, where that is a server's name; else by routes of its own, and by what
    only it has there. Some servers answer any path with their list of models.
    """
    kinds = {_OWNERS.get(owner) for each in rows if isinstance(owner := each.get("owned_by"), str)}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        return kind
    match await _may_get(wire, address, f"{address.root}/api/version"):
        case {"version": str()} if await _lists_as_ollama(wire, address):
            return ServerKind.OLLAMA
    match await _may_get(wire, address, f"{address.root}/api/v0/models"):
        case {"data": [_, *_] as listed} if any(map(_is_of_lm_studio, listed)):
            return ServerKind.LM_STUDIO
    return ServerKind.ANY


async def _lists_as_ollama(wire: Wire, address: Address) -> bool:
    match await _may_get(wire, address, f"{address.root}/api/tags"):
        case {"models": list()}:
            return True
    return False


def _is_of_lm_studio(row: Any) -> bool:
    """Of its own list, which tells more of a model than OpenAI's does."""
    match row:
        case {"type": str(kind), "max_context_length": int()}:
            return kind in _LM_STUDIO_TYPES
    return False


async def _may_get(wire: Wire, address: Address, url: str) -> Any:
    """None where there is no such route, or no JSON at it."""
    try:
        return await wire.json(address, "GET", url, within_s=wire.patience.short_s, read=leniently)
    except EndpointError:
        return None


async def _may_post(wire: Wire, address: Address, url: str, body: Mapping[str, Any]) -> Any:
    try:
        return await wire.json(address, "POST", url, body, within_s=wire.patience.short_s, read=leniently)
    except EndpointError:
        return None


async def _has_tokenizer(wire: Wire, address: Address, model_id: str) -> bool:
    """In the words of both: vLLM reads `prompt`, llama-server `content`."""
    body = {"model": model_id, "prompt": "a", "content": "a"}
    match await _may_post(wire, address, f"{address.root}/tokenize", body):
        case {"tokens": list()}:
            return True
    return False


async def _ask_ollama(wire: Wire, address: Address, models: dict[str, FoundModel]) -> dict[str, FoundModel]:
    """What each can, and how much of a prompt it really reads: what it is loaded with, or set to, or the default."""
    loaded: dict[str, int] = {}
    match await _may_get(wire, address, f"{address.root}/api/ps"):
        case {"models": list(rows)}:
            loaded = {
                each["model"]: _window(each.get("context_length"))
                for each in rows if isinstance(each, dict) and isinstance(each.get("model"), str)
            }
    for model_id in list(models)[:MAX_ASKED]:
        match await _may_post(wire, address, f"{address.root}/api/show", {"model": model_id}):
            case dict(shown):
                models[model_id] = _of_ollama(models[model_id], shown, loaded.get(model_id, 0))
    return models


def _of_ollama(model: FoundModel, shown: Mapping[str, Any], loaded: int) -> FoundModel:
    can, about, details = shown.get("capabilities"), shown.get("model_info"), shown.get("details")
    can = can if isinstance(can, list) else []
    trained = next((
        _window(value) for name, value in about.items() if name.endswith(".context_length")
    ), 0) if isinstance(about, dict) else 0
    set_to = 0
    for line in str(shown.get("parameters", "")).splitlines()[:200]:
        match line.split():
            case ["num_ctx", number]:
                set_to = _window(number_in(number))
    level = details.get("quantization_level") if isinstance(details, dict) else ""
    return replace(
        model,
        window=loaded or set_to or min(trained or OLLAMA_CONTEXT_TOKENS, OLLAMA_CONTEXT_TOKENS),
        embeds="embedding" in can,
        quantisation=level[:20] if isinstance(level, str) else "",
        calls_tools="tools" in can if can else None,
    )


async def _ask_lm_studio(wire: Wire, address: Address, models: dict[str, FoundModel]) -> dict[str, FoundModel]:
    match await _may_get(wire, address, f"{address.root}/api/v0/models"):
        case {"data": list(rows)}:
            for each in rows:
                if isinstance(each, dict) and isinstance(model_id := each.get("id"), str) and model_id in models:
                    level = each.get("quantization")
                    models[model_id] = replace(
                        models[model_id],
                        window=_window(each.get("loaded_context_length")) or _window(each.get("max_context_length")),
                        embeds=each.get("type") == "embeddings",
                        quantisation=level[:20] if isinstance(level, str) else "",
                    )
    return models


async def _ask_llama_server(wire: Wire, address: Address, models: dict[str, FoundModel]) -> dict[str, FoundModel]:
    """How much one conversation may hold, which is less than what the model was trained for."""
    match await _may_get(wire, address, f"{address.root}/props"):
        case {"default_generation_settings": {"n_ctx": int(window)}} if _window(window):
            return {model_id: replace(each, window=window) for model_id, each in models.items()}
    return models
