"""A conversation to one prompt text, by the model's own Jinja template. `LocalEngine` calls it, off the event loop: a
template is a program that strangers wrote (see `engine.template_sandbox`).

Rendering follows transformers' `apply_chat_template`, which model makers test their templates with.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2
from jinja2 import meta

from engine.engine import ChatMessage
from engine.errors import InvalidRequest, TemplateError
from engine.template_sandbox import TemplateSandbox, metered
from engine.told import Told

_REASONING_SWITCH = re.compile(r"\benable_thinking\b|\bif (?:not )?thinking\b|\bthinking is (?:not )?defined\b")
_OFF_BY_DEFAULT = re.compile(r"enable_thinking is defined and enable_thinking\b(?! *(?:is\b|[=!]=|not\b))")
MAX_SOURCE_CHARS = 65_536        # the longest seen has 40,000; compiling takes some 10 ms per 1,000

_FAULTS_OF_A_TEMPLATE = (
    jinja2.TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,                # RecursionError among them
    SyntaxError,                 # more nested blocks than Python has
    TypeError,
    ValueError,
)


class ChatTemplate:
    """One model's template: compiled at the first use, so that a broken one does not stop the model from loading."""

    def __init__(self, source: str, *, bos_token: str = "", eos_token: str = "") -> None:
        self._source = source
        self._special_tokens = {"bos_token": bos_token, "eos_token": eos_token}

    def render(
        self,
        messages: Iterable[ChatMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        reasoning: bool | None = None,
    ) -> str:
        """The prompt. With `continue_final_message` it ends where the last message's text ends, for the model to go on.
        `reasoning` says whether to think first, to a template that knows of it.

        Raises TemplateError when the template refuses the messages (with its own words), is broken, or is too costly.
        """
        messages = list(messages)
        # Qwen's and most others' word for it, and DeepSeek's and Granite's
        switch = {} if reasoning is None else {"enable_thinking": reasoning, "thinking": reasoning}
        if not continue_final_message:
            return self._render(messages, tools, add_generation_prompt=add_generation_prompt, **switch)
        if not messages or messages[-1].role != "assistant":
            raise InvalidRequest(Told("continues-nothing"), param="messages")
        # A mark that no text holds, rather than a search for the text itself: that may be empty, or stand twice.
        mark = f"<|continued-{secrets.token_hex(16)}|>"
        marked = replace(messages[-1], content=messages[-1].content + mark)
        text = self._render([*messages[:-1], marked], tools, add_generation_prompt=False, **switch)
        before, found, _ = text.rpartition(mark)
        if not found:
            raise TemplateError(Told("template-drops-last"), param="messages")
        return before

    def render_as_given(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] = (),
        add_generation_prompt: bool = True,
    ) -> str:
        """Of messages that need not be plain: null content, parts, images. Raises as `render`."""
        return self._fill(list(messages), tools, add_generation_prompt=add_generation_prompt)

    @property
    def reasoning_default(self) -> bool | None:
        """Whether it lets the model think first where nothing is said; None: it cannot be told to, or not to.

        By its words alone: it is not compiled for that.
        """
        source = self._source[:MAX_SOURCE_CHARS]
        if _REASONING_SWITCH.search(source) is None:
            return None
        return "enable_thinking" in source and _OFF_BY_DEFAULT.search(source) is None

    @cached_property
    def reads_tools(self) -> bool:
        """Whether tools that are offered reach the model at all."""
        try:
            with metered():
                return "tools" in meta.find_undeclared_variables(TemplateSandbox().parse(self._bounded_source()))
        except _FAULTS_OF_A_TEMPLATE as error:
            raise TemplateError(_sentence(error), param="messages") from error

    @cached_property
    def takes_system(self) -> bool:
        """Whether there may be a system message; Gemma 2's refuses a conversation that has one."""
        asks = ChatMessage(role="user", content="Hello")
        try:
            self.render([ChatMessage(role="system", content="Be brief."), asks])
        except TemplateError:
            return not self._renders([asks])            # what is broken altogether shall say so when it is used
        return True

    def _renders(self, messages: list[ChatMessage]) -> bool:
        try:
            self.render(messages)
        except TemplateError:
            return False
        return True

    def _render(self, messages: list[ChatMessage], tools: Sequence[dict[str, Any]], **options: bool) -> str:
        try:
            return self._render_once(messages, tools, **options)
        except TemplateError:
            if not any(message.tool_calls for message in messages):
                raise
            return self._render_once(messages, tools, parses_arguments=False, **options)

    def _render_once(
        self,
        messages: list[ChatMessage],
        tools: Sequence[dict[str, Any]],
        *,
        add_generation_prompt: bool,
        parses_arguments: bool = True,
        **switch: bool,
    ) -> str:
        seen = [_as_template_sees(message, parses_arguments) for message in messages]
        return self._fill(seen, tools, add_generation_prompt=add_generation_prompt, **switch)

    def _fill(
        self, messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]], *, add_generation_prompt: bool,
        **switch: bool,
    ) -> str:
        try:
            template = self._template
            with metered():
                return template.render(
                    messages=messages,
                    add_generation_prompt=add_generation_prompt,
                    tools=list(tools) or None,
                    documents=None,
                    **switch,
                    **self._special_tokens,
                )
        except _FAULTS_OF_A_TEMPLATE as error:
            raise TemplateError(_sentence(error), param="messages") from error

    @cached_property
    def _template(self) -> jinja2.Template:
        source = self._bounded_source()
        with metered():                  # constants are computed already here
            return TemplateSandbox(raise_exception=_raise_exception, strftime_now=_strftime_now).template(source)

    def _bounded_source(self) -> str:
        if len(self._source) > MAX_SOURCE_CHARS:
            raise TemplateError(Told("template-long", count=MAX_SOURCE_CHARS))
        return self._source


def with_system_in_question(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """For a template that takes no system message: what it says stands at the head of the first question."""
    said = "\n\n".join(message.content for message in messages if message.role == "system" and message.content)
    others = [message for message in messages if message.role != "system"]
    at = next((at for at, message in enumerate(others) if message.role == "user"), None)
    if said and at is not None:
        others[at] = replace(others[at], content=f"{said}\n\n{others[at].content}")
    return others


class _Refused(jinja2.TemplateError):
    """What a template says by calling `raise_exception`."""


def _raise_exception(message: str) -> NoReturn:
    raise _Refused(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)      # local time, as in transformers: the date where the person sits


def _as_template_sees(message: ChatMessage, parses_arguments: bool) -> dict[str, Any]:
    """Most templates write the arguments of calls by `tojson` or go through them: they want the object, not its text.
    A few put the text between others with `+`, and fail on the object.
    """
    seen: dict[str, Any] = {"role": message.role, "content": message.content}
    takes_thought = not (message.tool_calls and message.content)      # gpt-oss refuses both beside a call
    optional = {
        "reasoning_content": message.reasoning,
        "thinking": message.reasoning if takes_thought else "",       # as gpt-oss calls it
        "name": message.name,
        "tool_calls": [_with_parsed_arguments(call) if parses_arguments else call for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
    }
    return seen | {key: value for key, value in optional.items() if value}


def _with_parsed_arguments(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["function"].get("arguments")
    if not isinstance(arguments, str):
        return call
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return call
    if not isinstance(parsed, dict):
        return call
    return call | {"function": call["function"] | {"arguments": parsed}}


def _sentence(error: BaseException) -> Told:
    if isinstance(error, _Refused):
        return Told("template-refuses", detail=str(error))
    if isinstance(error, jinja2.TemplateSyntaxError):
        return Told("template-broken", line=error.lineno, detail=str(error.message))
    if isinstance(error, RecursionError):
        return Told("template-deep")
    return Told("template-failed", detail=str(error) or type(error).__name__)
