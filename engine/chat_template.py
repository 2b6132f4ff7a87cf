"""A conversation to one prompt text, by the model's own Jinja template. `LocalEngine` calls it, off the event loop: a
template is a program that strangers wrote (see `engine.template_sandbox`).

Rendering follows transformers' `apply_chat_template`, which model makers test their templates with.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2

from engine.engine import ChatMessage
from engine.errors import InvalidRequest, TemplateError
from engine.template_sandbox import TemplateSandbox, metered

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
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
    ) -> str:
        """The prompt. With `continue_final_message` it ends where the last message's text ends, for the model to go on.

        Raises TemplateError when the template refuses the messages (with its own words), is broken, or is too costly.
        """
        messages = list(messages)
        if not continue_final_message:
            return self._render(messages, add_generation_prompt=add_generation_prompt)
        if not messages or messages[-1].role != "assistant":
            raise InvalidRequest("Only an assistant message can be continued, as the last one.", param="messages")
        # A mark that no text holds, rather than a search for the text itself: that may be empty, or stand twice.
        mark = f"<|continued-{secrets.token_hex(16)}|>"
        marked = replace(messages[-1], content=messages[-1].content + mark)
        before, found, _ = self._render([*messages[:-1], marked], add_generation_prompt=False).rpartition(mark)
        if not found:
            raise TemplateError(
                "The model's chat template leaves the last message out, so it cannot be continued.", param="messages"
            )
        return before

    def _render(self, messages: list[ChatMessage], *, add_generation_prompt: bool) -> str:
        try:
            template = self._template
            with metered():
                return template.render(
                    messages=[_as_template_sees(message) for message in messages],
                    add_generation_prompt=add_generation_prompt,
                    tools=None,
                    documents=None,
                    **self._special_tokens,
                )
        except _FAULTS_OF_A_TEMPLATE as error:
            raise TemplateError(_sentence(error), param="messages") from error

    @cached_property
    def _template(self) -> jinja2.Template:
        if len(self._source) > MAX_SOURCE_CHARS:
            raise TemplateError(f"The model's chat template is longer than {MAX_SOURCE_CHARS} characters: not used.")
        with metered():                  # constants are computed already here
            return TemplateSandbox(raise_exception=_raise_exception, strftime_now=_strftime_now).template(self._source)


class _Refused(jinja2.TemplateError):
    """What a template says by calling `raise_exception`."""


def _raise_exception(message: str) -> NoReturn:
    raise _Refused(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)      # local time, as in transformers: the date where the person sits


def _as_template_sees(message: ChatMessage) -> dict[str, Any]:
    seen: dict[str, Any] = {"role": message.role, "content": message.content}
    optional = {
        "reasoning_content": message.reasoning,
        "name": message.name,
        "tool_calls": list(message.tool_calls),
        "tool_call_id": message.tool_call_id,
    }
    return seen | {key: value for key, value in optional.items() if value}


def _sentence(error: BaseException) -> str:
    if isinstance(error, _Refused):
        return f"The model's chat template refuses these messages: {error}"
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"The model's chat template is broken in line {error.lineno}: {error.message}"
    if isinstance(error, RecursionError):
        return "The model's chat template is nested too deeply."
    return f"The model's chat template failed on these messages: {str(error) or type(error).__name__}"
