"""OpenAI's tools: what a request offers and asks for, checked; and calls of them, as clients read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.engine import ToolCallDelta
from engine.errors import InvalidRequest

_NO_PARAMETERS = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """As `ChatRequest` takes them."""

    tools: tuple[dict[str, Any], ...] = ()
    must_call: bool = False
    strict: frozenset[str] = frozenset()            # names of functions
    parallel_tool_calls: bool = True


def parse_tools(body: dict[str, Any]) -> OfferedTools:
    """A function that is named is called once. Raises InvalidRequest that names the place of the fault.

    Calls that must be made keep to their schemas; where the model decides, those of `strict` functions do.
    """
    _refuse_functions(body)
    choice, parallel = body.get("tool_choice"), body.get("parallel_tool_calls")
    if parallel is not None and not isinstance(parallel, bool):
        raise InvalidRequest("parallel_tool_calls must be true or false.", param="parallel_tool_calls")
    if choice == "none":
        return OfferedTools()
    if not body.get("tools"):
        if choice not in (None, "auto"):
            raise InvalidRequest("tool_choice is only allowed together with tools.", param="tool_choice")
        return OfferedTools()
    if not isinstance(body["tools"], list):
        raise InvalidRequest("tools must be a list of objects.", param="tools")
    tools = tuple(_tool(tool, f"tools[{index}]") for index, tool in enumerate(body["tools"]))
    strict = frozenset(tool["function"]["name"] for tool in body["tools"] if tool["function"].get("strict"))
    if choice in (None, "auto", "required"):
        return OfferedTools(tools, choice == "required", strict, parallel_tool_calls=parallel is not False)
    return OfferedTools(_named(choice, tools), must_call=True, strict=strict, parallel_tool_calls=False)


def _refuse_functions(body: dict[str, Any]) -> None:
    if body.get("functions") and body.get("function_call") != "none":
        raise InvalidRequest("functions were replaced by tools: send them as tools.", param="functions")
    if not body.get("functions") and body.get("function_call") not in (None, "none", "auto"):
        raise InvalidRequest("function_call was replaced by tool_choice: use that, with tools.", param="function_call")


def _tool(tool: Any, place: str) -> dict[str, Any]:
    """Whole, so that no template misses what the client has left out."""
    if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
        raise InvalidRequest(f"{place} must be an object with type \"function\" and a function.", param=place)
    function = tool["function"]
    name, description, parameters = (function.get(key) for key in ("name", "description", "parameters"))
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{place}.function.name must be a string.", param=f"{place}.function.name")
    if not isinstance(description, str | None):
        raise InvalidRequest(f"{place}.function.description must be a string.", param=f"{place}.function.description")
    if not isinstance(parameters, dict | None):
        raise InvalidRequest(f"{place}.function.parameters must be a schema.", param=f"{place}.function.parameters")
    if not isinstance(function.get("strict"), bool | None):
        raise InvalidRequest(f"{place}.function.strict must be true or false.", param=f"{place}.function.strict")
    whole = {"name": name, "description": description or "", "parameters": parameters or _NO_PARAMETERS}
    return {"type": "function", "function": whole}


def _named(choice: Any, tools: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            pass
        case _:
            message = 'tool_choice must be "none", "auto", "required", or an object that names a function.'
            raise InvalidRequest(message, param="tool_choice")
    named = tuple(tool for tool in tools if tool["function"]["name"] == name)
    if not named:
        raise InvalidRequest(f"tool_choice names {name[:80]}, which is not among tools.", param="tool_choice")
    return named


def call_body(call: ToolCallDelta) -> dict[str, Any]:
    """A whole call, for clients that do not stream."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def call_piece(piece: ToolCallDelta) -> dict[str, Any]:
    """Id, type and name come in a call's first piece only."""
    return {"index": piece.index} | (call_body(piece) if piece.id else {"function": {"arguments": piece.arguments}})
