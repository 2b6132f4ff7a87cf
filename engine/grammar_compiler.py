"""Grammars of one model: compiled before a request enters the engine, kept for the next. `LocalEngine` has one, on the
event loop; what takes time runs in the executor, after a trial in a child process.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.backends.base import Tokenizer
from engine.grammar import GrammarKind, GrammarSpec
from engine.grammar_matcher import Grammar
from engine.grammar_trial import refusal, try_grammar

if TYPE_CHECKING:
    from llguidance import LLTokenizer

MAX_KEPT = 64
MAX_AT_ONCE = 2              # one that takes long must not hold up all others, nor many the whole machine


@dataclass(slots=True)
class _UnderWay:
    compiling: asyncio.Task[Grammar]
    num_waiting: int = 0


class GrammarCompiler:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: OrderedDict[GrammarSpec, Grammar] = OrderedDict()      # the last used last
        self._under_way: dict[GrammarSpec, _UnderWay] = {}
        self._turns = asyncio.Semaphore(MAX_AT_ONCE)
        self._vocabulary: LLTokenizer | None = None
        self._vocabulary_lock = threading.Lock()

    async def compile(self, spec: GrammarSpec) -> Grammar:
        """Raises InvalidRequest for what cannot be compiled, in bounded time and memory."""
        grammar = self._kept.get(spec) or await self._compile_once(spec)
        self._kept[spec] = grammar
        self._kept.move_to_end(spec)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return grammar

    async def _compile_once(self, spec: GrammarSpec) -> Grammar:
        """For all who ask for it meanwhile. Given up when the last of them has gone."""
        under_way = self._under_way.get(spec)
        if under_way is None:
            under_way = self._under_way[spec] = _UnderWay(asyncio.create_task(self._compile_in_turn(spec)))
        under_way.num_waiting += 1
        try:
            return await asyncio.shield(under_way.compiling)
        finally:
            under_way.num_waiting -= 1
            if not under_way.num_waiting:
                under_way.compiling.cancel()
                del self._under_way[spec]

    async def _compile_in_turn(self, spec: GrammarSpec) -> Grammar:
        async with self._turns:
            return await self._compile(spec)

    async def _compile(self, spec: GrammarSpec) -> Grammar:
        if spec.kind is not GrammarKind.JSON_OBJECT:       # that one is our own words
            await try_grammar(spec)
        return await asyncio.to_thread(self.compile_untried, spec)

    def compile_untried(self, spec: GrammarSpec) -> Grammar:
        """On any thread. Not for a source that a stranger sent: it may take minutes, or end the process."""
        from engine.grammar_library import GrammarRefused, new_matcher, to_lark  # noqa: PLC0415 - not at start-up

        try:
            start = new_matcher(to_lark(spec.kind, spec.source, spec.before), self._vocabulary_of_model())
        except GrammarRefused as error:
            raise refusal(spec, str(error)) from error
        forbidden = self._tokenizer.special_tokens.keys() - self._tokenizer.eog_token_ids - spec.marker_ids
        grammar = Grammar(start, forbidden_ids=frozenset(forbidden), param=spec.param)
        first = grammar.matcher()
        first.mask(self._tokenizer.vocab_size)
        if first.failure is not None:                      # it begins with a marker, say
            raise refusal(spec, "the model has no token to begin with")
        return grammar

    def _vocabulary_of_model(self) -> LLTokenizer:
        from engine.grammar_library import new_tokenizer  # noqa: PLC0415 - not at start-up

        with self._vocabulary_lock:
            if self._vocabulary is None:
                tokenizer = self._tokenizer
                special_ids = tokenizer.special_tokens.keys() | tokenizer.eog_token_ids
                self._vocabulary = new_tokenizer(
                    tokenizer.vocabulary(), sorted(special_ids), sorted(tokenizer.eog_token_ids)
                )
            return self._vocabulary
