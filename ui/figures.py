"""The figures of an answer as its reader sees them: a line under it, and all of them on demand. In the page's words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from store.tables import Message, Model
from ui.language import t

_FILE_VERSION = re.compile(r"(?P<name>.+), (?P<size>\d+) bytes, (?P<modified_ns>\d+)(?P<rest>; .*)?")


def answer_stats(message: Message, model: Model | None) -> list[str]:
    """Model, speed, length, time. Only what is known."""
    stats = [_model_name(message, model)] if message.model_id else []
    speed = _tokens_per_s(message)
    if speed is not None:
        stats.append(t("chat-stat-speed", speed=_two_digits(speed)))
    if message.completion_tokens:
        stats.append(t("chat-stat-tokens", count=message.completion_tokens))
    if message.duration_s:
        stats.append(_seconds(message.duration_s))
    return stats


def answer_figures(message: Message, model: Model | None) -> list[list[str]]:
    """[what, how much] of everything that is known of how an answer was made."""
    figures: list[list[str]] = []

    def say(name: str, text: str | None) -> None:
        if text:
            figures.append([t(f"chat-figure-{name}"), text])

    speed = _tokens_per_s(message)
    say("model", _model_name(message, model))
    say("version", _version(message.model_version))
    say("speed", None if speed is None else t("chat-figure-per-second", speed=_two_digits(speed)))
    say("first-token", None if message.time_to_first_token_s is None else _seconds(message.time_to_first_token_s))
    say("length", t("chat-stat-tokens", count=message.completion_tokens) if message.completion_tokens else None)
    if message.prompt_tokens:
        say("read", t("chat-figure-read-of", count=message.prompt_tokens, cached=message.cached_tokens or 0))
    say("thought", None if message.reasoning_s is None else _seconds(message.reasoning_s))
    say("duration", _seconds(message.duration_s) if message.duration_s else None)
    say("left-out", t("chat-figure-left-out-count", count=message.num_left_out) if message.num_left_out else None)
    return figures


def _model_name(message: Message, model: Model | None) -> str:
    if model is None:
        return message.model_id or ""
    return f"{model.name}, {model.quantisation}" if model.quantisation else model.name


def _tokens_per_s(message: Message) -> float | None:
    tokens = message.completion_tokens
    writing_s = (message.duration_s or 0.0) - (message.time_to_first_token_s or 0.0)
    if not tokens or tokens < 2 or writing_s <= 0:
        return None
    return (tokens - 1) / writing_s         # the first token's time is the reading of the prompt


def _version(version: str | None) -> str | None:
    """A file's name, size and time of change as people read them; anything else (a commit, say) as it is."""
    found = _FILE_VERSION.fullmatch(version or "")
    if found is None:
        return version
    changed = datetime.fromtimestamp(int(found["modified_ns"]) / 1e9, UTC)
    return t(
        "chat-figure-file", name=found["name"], size=int(found["size"]), changed=f"{changed:%Y-%m-%d %H:%M:%S} UTC"
    ) + (found["rest"] or "")


def _two_digits(value: float) -> float:
    return round(value) if value >= 10 else round(value, 1)


def _seconds(value: float) -> str:
    if value < 60:
        return t("chat-seconds", seconds=round(value, 1))
    minutes, seconds = divmod(round(value), 60)
    return t("chat-minutes", minutes=minutes, seconds=seconds)
