"""GET /metrics: Prometheus' text format, written from the engines' snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from app.api.dependencies import CurrentUser, ServicesOf
from engine.engine import RATE_WINDOW_S, EngineInfo, EngineMetrics
from engine.histogram import Histogram

router = APIRouter()


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One model in memory, as it is now."""

    info: EngineInfo
    metrics: EngineMetrics
    now_s: float


_Sample = tuple[str, Mapping[str, str], float]          # what follows the metric's name; labels; value


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: Callable[[_Loaded], Iterable[_Sample]]


def _gauge(name: str, help_text: str, value: Callable[[_Loaded], float]) -> _Metric:
    return _Metric(name, "gauge", help_text, lambda model: [("", {}, value(model))])


def _counter(name: str, help_text: str, value: Callable[[EngineMetrics], float]) -> _Metric:
    return _Metric(name, "counter", help_text, lambda model: [("", {}, value(model.metrics))])


def _histogram(name: str, help_text: str, of: Callable[[EngineMetrics], Histogram]) -> _Metric:
    def samples(model: _Loaded) -> Iterable[_Sample]:
        histogram = of(model.metrics)
        for bound_s, count in zip([*map(str, histogram.bounds_s), "+Inf"], histogram.cumulative(), strict=True):
            yield "_bucket", {"le": bound_s}, count
        yield "_sum", {}, histogram.sum_s
        yield "_count", {}, histogram.count

    return _Metric(name, "histogram", help_text, samples)


def _ended(model: _Loaded) -> Iterable[_Sample]:
    return [("", {"reason": reason}, count) for reason, count in model.metrics.requests_total.items()]


_OF_MODEL = (
    _gauge(
        "inglenook_requests_running", "Requests that share the model's steps now.", lambda m: m.metrics.num_running
    ),
    _gauge("inglenook_requests_waiting", "Requests in the queue: its length.", lambda m: m.metrics.num_waiting),
    _Metric("inglenook_requests_total", "counter", "Requests that ended, by reason.", _ended),
    _counter("inglenook_prompt_tokens_total", "Tokens of prompts.", lambda m: m.prompt_tokens_total),
    _counter(
        "inglenook_prompt_tokens_cached_total", "Tokens of prompts that were not computed again.",
        lambda m: m.cached_prompt_tokens_total,
    ),
    _counter("inglenook_output_tokens_total", "Tokens written.", lambda m: m.output_tokens_total),
    _gauge(
        "inglenook_output_tokens_per_second", f"Tokens written a second, over the last {RATE_WINDOW_S} s.",
        lambda m: m.metrics.output_tokens_per_s(m.now_s),
    ),
    _counter(
        "inglenook_proposed_tokens_total", "Tokens that speculation guessed ahead.", lambda m: m.proposed_tokens_total
    ),
    _counter(
        "inglenook_accepted_tokens_total", "Of those, the ones that the model confirmed.",
        lambda m: m.accepted_tokens_total,
    ),
    _histogram(
        "inglenook_time_to_first_token_seconds", "From a request's arrival to its first token.",
        lambda m: m.time_to_first_token,
    ),
    _histogram(
        "inglenook_inter_token_seconds", "Between two steps that brought a request tokens.", lambda m: m.inter_token
    ),
    _gauge("inglenook_kv_blocks", "Blocks of tokens that there are for KV.", lambda m: m.metrics.num_blocks),
    _gauge("inglenook_kv_blocks_held", "Blocks that running requests hold.", lambda m: m.metrics.num_held_blocks),
    _gauge(
        "inglenook_kv_blocks_free", "Blocks that can be had, idle prefixes included.",
        lambda m: m.metrics.num_free_blocks,
    ),
    _gauge(
        "inglenook_kv_blocks_cached", "Blocks that hold a prefix that can be found.",
        lambda m: m.metrics.num_cached_blocks,
    ),
    _gauge("inglenook_kv_held_bytes", "Memory of KV and idle prefixes, by now.", lambda m: m.metrics.held_bytes),
    _gauge("inglenook_kv_limit_bytes", "What that may grow to.", lambda m: m.info.kv_bytes + m.info.cache_bytes),
    _counter("inglenook_preemptions_total", "Requests put back for want of blocks.", lambda m: m.preemptions_total),
    _counter("inglenook_steps_total", "Steps of the engine.", lambda m: m.steps_total),
    _counter("inglenook_step_seconds_total", "Time spent in steps.", lambda m: m.step_seconds_total),
    _counter("inglenook_backend_seconds_total", "Of that, inside the back end.", lambda m: m.backend_seconds_total),
)


@router.get("/metrics")
async def metrics(user: CurrentUser, services: ServicesOf) -> PlainTextResponse:
    now_s = time.monotonic()
    loaded = [
        (model_id, _Loaded(engine.info, engine.metrics(), now_s))
        for model_id, engine in services.engines.loaded().items()
    ]
    lines = [
        "# HELP inglenook_generations Answers being written for the chat page.",
        "# TYPE inglenook_generations gauge",
        f"inglenook_generations {services.generations.num_running}",
    ]
    for metric in _OF_MODEL:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        for model_id, model in loaded:
            for suffix, labels, value in metric.samples(model):
                lines.append(f"{metric.name}{suffix}{{{_inside({'model': model_id, **labels})}}} {value}")
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _inside(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
