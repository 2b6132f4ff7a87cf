"""Grammars for tests: matchers without the trial in a child process, and texts walked through them."""

from __future__ import annotations

from typing import Any

from engine import grammar
from engine.backends.base import Tokenizer
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.grammar import GrammarSpec
from engine.grammar_compiler import GrammarCompiler
from engine.grammar_matcher import Grammar, GrammarMatcher

PARAM = "response_format"
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"enum": ["Anna", "Ben"]}, "age": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def compiled(spec: GrammarSpec, tokenizer: Tokenizer | None = None) -> Grammar:
    return GrammarCompiler(tokenizer or ByteTokenizer()).compile_untried(spec)


def matcher_of(spec: GrammarSpec, tokenizer: Tokenizer | None = None) -> GrammarMatcher:
    return compiled(spec, tokenizer).matcher()


def takes(matcher: GrammarMatcher, text: str) -> bool:
    """Whether each byte of a text is allowed; the matcher has then moved on."""
    for byte in text.encode():
        if not matcher.allows(byte):
            return False
        matcher.accept(byte)
    return True


def regex(pattern: str) -> GrammarSpec:
    return grammar.regex(pattern, PARAM)
