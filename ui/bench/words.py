"""What every figure of a measurement depends on, and figures themselves, as people read them. For the Measure page."""

from __future__ import annotations

from datetime import datetime

from app.services.bench_history import Apart, Since, levels_of
from app.services.prices import digits_of
from store.tables import Benchmark
from ui.language import in_words, t
from ui.words import brief, context, date, moment, number


def name_of(row: Benchmark) -> str:
    return f"{row.model_name}, {row.quantisation}" if row.quantisation else row.model_name


def moment_of(at: datetime) -> str:
    return moment(at.astimezone())


def told_since(since: Since | Apart) -> str:
    return in_words(since.told(before_of(since)))


def before_of(since: Since | Apart) -> str:
    """When it was: with the hour where that was today's as well."""
    before, now = since.before.created_at.astimezone(), since.now.created_at.astimezone()
    return moment(before) if before.date() == now.date() else date(before)


def with_what(row: Benchmark) -> str:
    """Engine, device, context and the rest, without the model's name."""
    if row.kv_type:
        parts = [
            t("bench-engine", engine=row.backend, device=row.device.upper()),
            *([t("bench-threads", count=row.num_threads)] if row.num_threads else []),
            *([t("plan-layers", count=row.gpu_layers)] if row.gpu_layers else []),
            t("bench-room", context=context(row.context_tokens), clients=row.max_num_seqs, kv=row.kv_type),
        ]
    else:           # how a server elsewhere goes about it, nobody is told
        parts = [t("bench-elsewhere", engine=row.backend), t("bench-window", context=context(row.context_tokens))]
    return ", ".join([*parts, t("bench-app", version=row.app_version, machine=row.machine)])


def asked_what(row: Benchmark) -> str:
    levels = levels_of(row)
    length = round(sum(each.prompt_tokens for each in levels) / len(levels))
    num_cached = sum(each.num_cached_tokens for each in levels)
    return t(
        "bench-asked",
        prompts=t(f"bench-prompts-{row.prompts_source}", count=row.num_prompts),
        length=length, tokens=row.max_tokens,
        heat=t("bench-warm", count=num_cached) if num_cached else t("bench-cold"),
        repetitions=t("bench-repetitions", count=row.repetitions),
    )


def speed_of(tokens_per_s: float) -> str:
    """Three digits."""
    return number(tokens_per_s, 0 if tokens_per_s >= 100 else 1)


def time_of(value_s: float) -> str:
    return brief(value_s) if value_s > 0 else "–"


def money(amount: float) -> str:
    return number(amount, digits_of(amount))


def change_of(ratio: float) -> str:
    """"1.24 ×"."""
    return t("bench-times", ratio=number(ratio, 2))
