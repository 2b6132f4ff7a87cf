"""A model in this process, as an `Engine`: messages to a prompt, a prompt to the engine's thread, its tokens to deltas.

Made by `engine.load`; called on the event loop. Templates and tokenizers run in the loop's executor: a template may
take a second, and so may a long text.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import NoReturn

from engine.chat_template import ChatTemplate, with_system_in_question
from engine.core import EngineCore
from engine.engine import ChatMessage, ChatRequest, Delta, EngineInfo, EngineMetrics
from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec
from engine.grammar_compiler import GrammarCompiler
from engine.grammar_matcher import Grammar
from engine.markers import MarkerSeal, control_markers
from engine.output_processor import OutputProcessor
from engine.params import MAX_SEED, SamplingParams
from engine.parsers.base import Asked, Parser
from engine.parsers.choose import choose
from engine.prefix_index import num_in_common
from engine.reading_pace import ReadingPace
from engine.request import FinishReason, Request
from engine.told import Told


class LocalEngine:
    """`default_system_prompt` is put before conversations that have no system message; `chat_template` is used in place
    of the tokenizer's own.
    """

    def __init__(
        self, core: EngineCore, info: EngineInfo, *,
        default_system_prompt: str | None = None, chat_template: str | None = None,
    ) -> None:
        self._core = core
        self._tokenizer = core.tokenizer
        self._default_system_prompt = default_system_prompt
        self._grammars = GrammarCompiler(self._tokenizer)
        self._pace = ReadingPace()
        source = chat_template or self._tokenizer.chat_template
        self._template = None if source is None else ChatTemplate(
            source, bos_token=self._tokenizer.bos_token, eos_token=self._tokenizer.eos_token
        )
        reasoning_default = None if self._template is None else self._template.reasoning_default
        self._info = replace(info, reasoning_default=reasoning_default)
        self._markers = control_markers(self._tokenizer)
        self._seal = MarkerSeal(self._markers.values())
        self._family = None if source is None else choose(source)

    @property
    def info(self) -> EngineInfo:
        return self._info

    async def chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        prompt = await asyncio.to_thread(self._encode_chat, request)
        asked = Asked(prompt=prompt.text, tools=request.tools, parallel_tool_calls=request.parallel_tool_calls)
        spec = request.params.grammar
        if self._family is not None and request.must_call and request.tools:      # no answer then, and no form of one
            spec = await asyncio.to_thread(self._family.must_call, asked, self._tokenizer)
        elif self._family is not None and spec is not None:
            spec = await asyncio.to_thread(self._family.keeps_to, spec, asked, request.strict_tools, self._tokenizer)
        elif self._family is not None and request.strict_tools and request.tools:
            spec = await asyncio.to_thread(self._family.may_call, asked, request.strict_tools, self._tokenizer)
        core_request = self._request(
            prompt.token_ids,
            request.params,
            await self._grammar(spec),
            user=request.user,
            priority=request.priority,
            cache_key=request.cache_key or request.user,
            num_shared_tokens=0 if request.is_private else prompt.num_shared_tokens,
            is_private=request.is_private,
            param="messages",
        )
        async with aclosing(self._answer(core_request, self._parser(asked))) as deltas:
            async for delta in deltas:
                yield delta

    async def complete(
        self, prompt: str | list[int], params: SamplingParams, *, user: str = ""
    ) -> AsyncGenerator[Delta, None]:
        if isinstance(prompt, str):
            prompt = await asyncio.to_thread(self._encode, prompt, add_special=True, param="prompt")
        core_request = self._request(prompt, params, await self._grammar(params.grammar), user=user, cache_key=user)
        async with aclosing(self._answer(core_request)) as deltas:
            async for delta in deltas:
                yield delta

    async def count_tokens(self, request: ChatRequest) -> int:
        return len((await asyncio.to_thread(self._encode_chat, request)).token_ids)

    async def embed(
        self, inputs: Sequence[str | list[int]], *, dimensions: int | None = None, user: str = ""
    ) -> NoReturn:
        raise InvalidRequest(
            f"{self._info.name} writes text and makes no embeddings. Choose a model made for embeddings, "
            "or ask this one at /v1/chat/completions.",
            param="model",
        )

    def metrics(self) -> EngineMetrics:
        return self._core.snapshot()

    async def close(self) -> None:
        await self._core.close()

    async def _answer(self, request: Request, parser: Parser | None = None) -> AsyncGenerator[Delta, None]:
        def end(reason: FinishReason) -> None:
            self._core.abort(request.request_id, reason)

        wanted = () if parser is None else parser.marks
        marks = {token_id: spelling for token_id, spelling in self._markers.items() if spelling in wanted}
        processor = OutputProcessor(request, self._tokenizer, end, parser, marks, self._pace)
        self._core.submit(request, processor.process)
        try:
            async with aclosing(processor.deltas()) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            end(FinishReason.ABORT)      # for a reader that left early; nothing happens to a request that has ended

    async def _grammar(self, spec: GrammarSpec | None) -> Grammar | None:
        return None if spec is None else await self._grammars.compile(spec)

    def _request(
        self,
        prompt_token_ids: list[int],
        params: SamplingParams,
        grammar: Grammar | None,
        *,
        user: str,
        priority: int = 0,
        cache_key: str = "",
        num_shared_tokens: int = 0,
        is_private: bool = False,
        param: str = "prompt",
    ) -> Request:
        vocab_size = self._core.info.vocab_size
        unknown = next((token_id for token_id in params.logit_bias if token_id >= vocab_size), None)
        if unknown is not None:
            raise InvalidRequest(
                f"logit_bias names token {unknown}; token ids of this model are 0 to {vocab_size - 1}.",
                param="logit_bias",
            )
        room = self._core.info.max_sequence_tokens - len(prompt_token_ids)
        return Request(
            request_id=f"{random.getrandbits(128):032x}",
            prompt_token_ids=tuple(prompt_token_ids),
            params=params,
            seed=random.getrandbits(64) if params.seed is None else params.seed & MAX_SEED,
            max_tokens=room if params.max_tokens is None else min(params.max_tokens, room),
            arrival_s=time.monotonic(),
            user=user,
            priority=priority,
            cache_key=cache_key,
            num_shared_tokens=num_shared_tokens,
            is_private=is_private,
            grammar=grammar,
            param=param,
        )

    def _parser(self, asked: Asked) -> Parser | None:
        return None if self._family is None else self._family.open(asked)

    def _encode_chat(self, request: ChatRequest) -> _Prompt:
        if self._template is None:
            raise InvalidRequest(Told("template-none", model=self._info.name), param="model")
        if not request.messages:
            raise InvalidRequest("There are no messages. Send at least one.", param="messages")
        if request.tools:
            self._check_tools(request, self._template)
        said = self._with_default_system_prompt(request.messages, self._template)
        text = self._template.render(
            map(self._seal.sealed, said if self._template.takes_system else with_system_in_question(said)),
            tools=self._seal.sealed_all(request.tools),
            add_generation_prompt=request.add_generation_prompt,
            continue_final_message=request.continue_final_message,
            reasoning=request.reasoning,
        )
        token_ids = self._encode_sealed(text)
        begin = self._encode_sealed(text[: self._begin_of_own_words(text, said)])
        return _Prompt("".join(self._seal.pieces(text)), token_ids, num_in_common(begin, token_ids))

    def _encode_sealed(self, text: str) -> list[int]:
        token_ids: list[int] = []
        for piece in self._seal.pieces(text):
            token_ids += self._encode(piece, add_special=False, param="messages")      # templates write BOS themselves
        return token_ids

    def _begin_of_own_words(self, text: str, messages: Sequence[ChatMessage]) -> int:
        """Where in a prompt the system prompt, which many chats have in common, is over. 0 where that is unknown."""
        at = 0
        for message in messages:
            words = self._seal.sealed_all(message.content).strip()
            found = text.find(words, at)
            if message.role != "system":
                return max(found, 0)
            at = found + len(words) if found >= 0 else at
        return at

    def _check_tools(self, request: ChatRequest, template: ChatTemplate) -> None:
        """Tools that nobody reads are refused, not dropped: an agent would wait for calls that cannot come. Clients
        that can do without look for the words "does not support tools", which are Ollama's, and ask again.
        """
        if not template.reads_tools:
            raise InvalidRequest(
                f"{self._info.name} does not support tools: its chat template has no place for them. "
                "Leave them out, or choose a model that is made for tools.",
                param="tools",
            )
        if self._family is None or not self._family.reads_calls:
            raise InvalidRequest(
                f"{self._info.name} does not support tools here: it writes calls in a form that this version does not "
                "read. Leave the tools out, or choose another model.",
                param="tools",
            )
        if request.must_call and self._family.notation is None:
            raise InvalidRequest(
                f"{self._info.name} decides for itself whether it calls a tool: this version reads its calls, but "
                'cannot make it write one. Use tool_choice "auto" or "none".',
                param="tool_choice",
            )
        if request.strict_tools and self._family.notation is None:
            raise InvalidRequest(
                f"{self._info.name} cannot be held to the schema of a strict function: this version reads its calls, "
                "but cannot steer them. Leave strict out.",
                param="tools",
            )
        if request.params.grammar is not None and self._family.notation is None:
            raise InvalidRequest(
                f"{self._info.name} cannot keep its answer to {request.params.grammar.param} and call tools: this "
                "version reads its calls, but cannot steer them. Leave one of them out.",
                param="tools",
            )

    def _with_default_system_prompt(
        self, messages: tuple[ChatMessage, ...], template: ChatTemplate
    ) -> tuple[ChatMessage, ...]:
        default = self._default_system_prompt if template.takes_system else None
        if default is None or any(message.role == "system" for message in messages):
            return messages
        return (ChatMessage(role="system", content=default), *messages)

    def _encode(self, text: str, *, add_special: bool, param: str) -> list[int]:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                f"The text holds half a character (the lone surrogate U+{ord(text[error.start]):04X}). Send it whole.",
                param=param,
            ) from error
        return self._tokenizer.encode(text, add_special=add_special, parse_special=True)


@dataclass(frozen=True, slots=True)
class _Prompt:
    text: str
    token_ids: list[int]
    num_shared_tokens: int          # at its beginning, before somebody's own words: other people's chats have them too
