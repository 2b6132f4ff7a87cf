"""GET /metrics: Prometheus' text format, written from the engines' snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from app.api.dependencies import CurrentUser, ServicesOf
from engine.engine import EngineMetrics

router = APIRouter()


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    kind: Literal["gauge", "counter"]
    help: str


_OF_ENGINE: Mapping[str, _Metric] = {
    # field of EngineMetrics: what it is called outside
    "num_running": _Metric("inglenook_requests_running", "gauge", "Requests that share the model's steps now."),
    "num_waiting": _Metric("inglenook_requests_waiting", "gauge", "Requests in the queue."),
    "num_blocks": _Metric("inglenook_kv_blocks", "gauge", "Blocks of 16 tokens that the KV cache holds."),
    "num_free_blocks": _Metric("inglenook_kv_blocks_free", "gauge", "Blocks that can be had, idle prefixes included."),
    "num_cached_blocks": _Metric("inglenook_kv_blocks_cached", "gauge", "Blocks that hold a prefix that can be found."),
    "prompt_tokens_total": _Metric("inglenook_prompt_tokens_total", "counter", "Tokens of prompts."),
    "cached_prompt_tokens_total": _Metric(
        "inglenook_prompt_tokens_cached_total", "counter", "Tokens of prompts that were not computed again."
    ),
    "output_tokens_total": _Metric("inglenook_output_tokens_total", "counter", "Tokens written."),
    "preemptions_total": _Metric("inglenook_preemptions_total", "counter", "Requests put back for want of blocks."),
    "steps_total": _Metric("inglenook_steps_total", "counter", "Steps of the engine."),
    "step_seconds_total": _Metric("inglenook_step_seconds_total", "counter", "Time spent in steps."),
    "backend_seconds_total": _Metric("inglenook_backend_seconds_total", "counter", "Of that, inside the back end."),
}
_REQUESTS = _Metric("inglenook_requests_total", "counter", "Requests that ended, by reason.")
_GENERATIONS = _Metric("inglenook_generations", "gauge", "Answers being written for the chat page.")

_Sample = tuple[Mapping[str, str], float]


@router.get("/metrics")
async def metrics(user: CurrentUser, services: ServicesOf) -> PlainTextResponse:
    by_model = {model_id: engine.metrics() for model_id, engine in services.engines.loaded().items()}
    lines = [
        *_lines(_GENERATIONS, [({}, services.generations.num_running)]),
        *_lines(_REQUESTS, _requests(by_model)),
        *(
            line
            for name, metric in _OF_ENGINE.items()
            for line in _lines(metric, [({"model": model_id}, getattr(m, name)) for model_id, m in by_model.items()])
        ),
    ]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _requests(by_model: Mapping[str, EngineMetrics]) -> list[_Sample]:
    return [
        ({"model": model_id, "reason": reason}, count)
        for model_id, engine in by_model.items()
        for reason, count in engine.requests_total.items()
    ]


def _lines(metric: _Metric, samples: Iterable[_Sample]) -> Iterable[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in samples:
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{metric.name}{{{inside}}} {value}" if inside else f"{metric.name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
