"""The one module that knows llguidance: sources to its Lark dialect, and Lark to a matcher over a vocabulary.

Imported when the first grammar comes, never at start. Runs on threads of the event loop's executor, and in the child
process of a trial. Nothing here is bounded in time but by the library's own limits: try a source in a child first.
"""

from __future__ import annotations

from collections.abc import Sequence

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper, regex_to_lark
from llguidance.gbnf_to_lark import any_to_lark

from engine.grammar import GrammarKind, json_schema

MAX_QUOTED_CHARS = 300

# The library would otherwise take the only way on, where there is but one, in tokens of its own choice; the model's
# stand as they are here. So a token is allowed exactly if its bytes are.
_OPTIONS = '%llguidance {"no_forcing": true}\n'

_LIMITS = LLParserLimits(max_lexer_states=20_000, verbose_errors=False)      # states: 1 to 2 kB each, a sequence

_ASCII_CLASSES = "d"         # a digit is 0 to 9, not one of seven hundred; a letter may be any


class GrammarRefused(Exception):
    """`str` says why, in the library's words."""


def to_lark(kind: GrammarKind, source: str, before: str = "") -> str:
    """`before` is that of a GrammarSpec. Raises GrammarRefused."""
    match kind:
        case GrammarKind.JSON_OBJECT:
            lark = json_schema({"type": "object"}).source
        case GrammarKind.LARK:
            lark = source
        case GrammarKind.REGEX:
            lark = f"start: /{regex_to_lark(source, _ASCII_CLASSES)}/"
        case GrammarKind.GRAMMAR:
            lark = _from_lark_or_gbnf(source)
    if before:      # a grammar inside it: its rules have names of their own
        lark = f"{before}\nanswer: %lark {{\n{lark}\n}}"
    return _OPTIONS + lark


def new_tokenizer(vocabulary: Sequence[bytes], special_ids: Sequence[int], eog_ids: Sequence[int]) -> LLTokenizer:
    """Takes half a second for 49,152 tokens, and 2.7 s for 262,144."""
    wrapped = TokenizerWrapper(_Vocabulary(vocabulary, special_ids, eog_ids))
    return LLTokenizer(wrapped, eos_token=list(eog_ids) or None)


def byte_tokenizer(marker_ids: Sequence[int]) -> LLTokenizer:
    """Of these special tokens and the 256 bytes behind them: enough to find out whether a grammar can be had."""
    num_markers = max(marker_ids, default=-1) + 1
    eog_id = num_markers + 256
    vocabulary = [b""] * num_markers + [bytes([value]) for value in range(256)] + [b""]
    return new_tokenizer(vocabulary, [*marker_ids, eog_id], [eog_id])


def new_matcher(lark: str, tokenizer: LLTokenizer) -> LLMatcher:
    """At the grammar's beginning; `deep_copy` makes the others. Raises GrammarRefused."""
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_lark(lark), limits=_LIMITS, log_level=0)
    if matcher.is_error():
        raise GrammarRefused(_plainly(matcher.get_error()))
    first = matcher.deep_copy()
    first.compute_bitmask()
    if first.is_error():
        raise GrammarRefused("no text fits it, or it refers to itself without end")
    return matcher


class _Vocabulary:
    """The shape in which the library wants one. It never asks to encode a text: nothing is forced."""

    bos_token_id = None

    def __init__(self, vocabulary: Sequence[bytes], special_ids: Sequence[int], eog_ids: Sequence[int]) -> None:
        self.tokens = list(vocabulary)
        self.special_token_ids = list(special_ids)
        self.eos_token_id = eog_ids[0] if eog_ids else None
        for token_id in special_ids:
            self.tokens[token_id] = b"<%d>" % token_id      # its text is not to be matched

    def __call__(self, text: str | bytes) -> list[int]:
        raise NotImplementedError


def _from_lark_or_gbnf(source: str) -> str:
    try:
        return str(any_to_lark(source))
    except Exception as error:      # the converter raises bare ones, and RecursionError
        raise GrammarRefused(str(error)) from error


def _plainly(message: str) -> str:
    """Without the places, state and source that the library quotes around its sentence."""
    sentence = message.partition("\n   1 |")[0].partition("<non-verbose/>")[0].partition("error: ")
    words = " ".join((sentence[2] or sentence[0]).split())
    return words.rpartition("failed to compile JSON schema: ")[2][:MAX_QUOTED_CHARS]
