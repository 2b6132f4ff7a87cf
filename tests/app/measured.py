"""Runs whose figures are known, for what follows from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from app.services.bench_figures import AnswerTimes, Level, Round
from store.tables import Benchmark

LEVELS = (1, 4)
WAIT_S = 0.5


def run_of(model_id: str, levels: tuple[int, ...] = LEVELS, **changed: Any) -> Benchmark:
    """100 tokens/s a client, the first after half a second; no spread."""
    values: dict[str, Any] = {
        "id": f"{model_id} first", "run_id": "first", "created_at": datetime(2026, 3, 3, tzinfo=UTC),
        "app_version": "0.6", "machine": "Abacus, 2 cores", "model_id": model_id, "model_name": model_id.title(),
        "model_version": f"{model_id}.gguf, 1 bytes, 1", "quantisation": "Q4_1", "backend": "scripted",
        "device": "cpu", "gpu_layers": 0, "num_threads": 2, "context_tokens": 4096, "max_num_seqs": 8,
        "kv_type": "f16", "prompts_hash": "0123", "prompts_source": "own", "num_prompts": 2, "max_tokens": 8,
        "repetitions": 2, "levels": [_level(each) for each in levels],
    }
    return Benchmark(**values | changed)


def again(
    row: Benchmark, speed: float, *, days: int = 0, wait: float = 1.0, run_id: str = "", **changed: Any
) -> Benchmark:
    """The run again, some days later: so many times as fast, and its first tokens so many times as late."""
    levels = []
    for values in row.levels:
        level = Level.from_values(values).to_values()
        for name, factor in (("tokens_per_s", speed), ("first_token_p50_s", wait)):
            level[name] = {kind: value * factor for kind, value in level[name].items()}
        levels.append(level)
    kept = row.model_dump() | {"id": f"{row.model_id} {days} {speed} {wait}", "run_id": run_id or f"{days} {speed}"}
    return Benchmark(**kept | {"levels": levels, "created_at": row.created_at + timedelta(days=days)} | changed)


def _level(concurrency: int) -> dict[str, Any]:
    times_s = tuple(WAIT_S + index / 100 for index in range(8))
    answers = [AnswerTimes(0.0, times_s, 8, num_prompt_tokens=34, num_cached_tokens=0)] * concurrency
    return Level.of(concurrency, [Round.of(answers, took_s=0.08)] * 2).to_values()
