"""Which parser reads a model's answers, and in what notation it can be made to call: a table of marks that its chat
template holds. `LocalEngine` asks when made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from engine.backends.base import Tokenizer
from engine.grammar import GrammarSpec
from engine.parsers import deepseek, hermes, llama, mistral
from engine.parsers.base import Asked, Parser, Thinking, marks_of
from engine.parsers.deepseek import DeepSeekParser
from engine.parsers.gemma import GemmaParser
from engine.parsers.harmony import HarmonyParser
from engine.parsers.hermes import HermesParser
from engine.parsers.llama import LlamaParser
from engine.parsers.mistral import MistralParser
from engine.parsers.qwen_coder import QwenCoderParser
from engine.tool_grammar import CallNotation, ToolCalls, after_thought, calls_or_form, maybe_tool_calls, tool_calls


@dataclass(frozen=True, slots=True)
class _Row:
    parser: type[Parser]
    marks: tuple[str, ...]                      # the template holds all of these
    absent: tuple[str, ...] = ()                # and none of these: they tell a family that is not read here
    notation: CallNotation | None = None        # None: arguments are no JSON, or what stands before them is no one text


# The first row that fits is taken.
_CALLS = (
    _Row(HarmonyParser, ("<|channel|>", "<|message|>", "commentary")),
    _Row(GemmaParser, ("<|tool_call>",)),
    _Row(GemmaParser, ("<start_function_call>",)),
    _Row(MistralParser, ("[TOOL_CALLS]", "[ARGS]"), notation=mistral.NAMED),
    _Row(MistralParser, ("[TOOL_CALLS] [",), notation=mistral.LISTED_APART),
    _Row(MistralParser, ("[TOOL_CALLS]",), notation=mistral.LISTED),
    _Row(DeepSeekParser, ("<｜tool▁call▁begin｜>", "```json"), notation=deepseek.FENCED),
    _Row(DeepSeekParser, ("<｜tool▁call▁begin｜>",), notation=deepseek.NAMED),
    _Row(QwenCoderParser, ("<tool_call>", "<function=")),
    _Row(HermesParser, ("<tool_call>", '"arguments"'), ("<arg_key>", "<tool_calls>["), hermes.NOTATION),
    _Row(LlamaParser, ("<|start_header_id|>", '{"name": function name, "parameters":'), notation=llama.NOTATION),
)

_THOUGHTS = (
    # what the template holds, the marks
    ("<|channel>thought", Thinking("<|channel>thought", "<channel|>")),
    ("[/THINK]", Thinking("[THINK]", "[/THINK]")),
    ("</think>", Thinking("<think>", "</think>")),
)


@dataclass(frozen=True, slots=True)
class Family:
    """How one model writes."""

    parser: type[Parser]
    thinking: Thinking | None
    notation: CallNotation | None = None

    @property
    def reads_calls(self) -> bool:
        return self.parser is not Parser

    @property
    def marks(self) -> tuple[str, ...]:
        """All that any of its parsers may want to see."""
        return (*marks_of(self.thinking), *self.parser.always, *self.parser.opens, *self.parser.inside)

    def open(self, asked: Asked) -> Parser | None:
        """A parser for one answer; None where its text is all there can be."""
        parser = self.parser(asked, self.thinking)
        return parser if parser.marks else None

    def must_call(self, asked: Asked, tokenizer: Tokenizer) -> GrammarSpec | None:
        """Nothing but calls of the tools asked with, after a thought; None where the family has no notation for it."""
        calls = self._calls(asked, tokenizer)
        return None if calls is None else tool_calls(calls)

    def may_call(self, asked: Asked, strict: Collection[str], tokenizer: Tokenizer) -> GrammarSpec | None:
        """Text, or calls of which those of `strict` functions keep to their schemas; None as for `must_call`."""
        calls = self._calls(asked, tokenizer, strict)
        if calls is None:
            return None
        begins = calls.notation.opening or calls.notation.before
        return maybe_tool_calls(calls, next((mark for mark in self.parser.opens if begins.startswith(mark)), ""))

    def keeps_to(
        self, spec: GrammarSpec, asked: Asked, strict: Collection[str], tokenizer: Tokenizer
    ) -> GrammarSpec:
        """The form of an answer, which begins where a thought has ended; or calls, where there is what to call."""
        calls = self._calls(asked, tokenizer, strict) if asked.tools else None
        if calls is not None:
            return calls_or_form(calls, spec)
        if self.thinking is None or not self._is_thinking(asked):
            return spec
        return after_thought(spec, self.thinking, tokenizer)

    def _calls(
        self, asked: Asked, tokenizer: Tokenizer, strict: Collection[str] | None = None
    ) -> ToolCalls | None:
        return None if self.notation is None else ToolCalls(
            functions=[tool["function"] for tool in asked.tools],
            notation=self.notation,
            tokenizer=tokenizer,
            strict=strict,
            parallel=asked.parallel_tool_calls,
            thinking=self.thinking,
            is_thinking=self._is_thinking(asked),
        )

    def _is_thinking(self, asked: Asked) -> bool:
        """The prompt has begun a thought already."""
        return self.thinking is not None and self.thinking.is_begun_in(asked.prompt)


def choose(template: str) -> Family | None:
    """None: answers of this model are plain text."""
    row = next((row for row in _CALLS if _fits(row, template)), _Row(Parser, ()))
    is_apart = row.parser is HarmonyParser       # thoughts are messages of their own there
    thinking = None if is_apart else next((thinking for mark, thinking in _THOUGHTS if mark in template), None)
    return None if row.parser is Parser and thinking is None else Family(row.parser, thinking, row.notation)


def _fits(row: _Row, template: str) -> bool:
    return all(mark in template for mark in row.marks) and not any(mark in template for mark in row.absent)
