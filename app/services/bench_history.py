"""What a run says beside an earlier one of the same model, prompts and shape; two models beside each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, get_args

from app.language import Said
from app.services.bench_figures import Level
from app.services.bench_prompts import Source
from store.tables import Benchmark
from store.tables.models import ELSEWHERE

APART: Final = {                    # what must be the same in two runs of a model, and the message where it is not
    "prompts_hash": "bench-apart-prompts", "max_tokens": "bench-apart-tokens", "machine": "bench-apart-machine",
    "quantisation": "bench-apart-quantisation",
}
SAME: Final = ("model_id", *APART)
TOLD: Final = {                     # what may have changed in between: column, and the message that names it
    "app_version": "bench-part-app", "context_tokens": "bench-part-context", "max_num_seqs": "bench-part-at-once",
    "kv_type": "bench-part-kv", "num_threads": "bench-part-threads", "device": "bench-part-device",
    "gpu_layers": "bench-part-layers",
}
COMPARED: Final = {"tokens_per_s": 1, "first_token_p50_s": -1}       # figure, and whether more of it is better


@dataclass(frozen=True, slots=True)
class Change:
    """Of one figure at one level."""

    figure: str
    concurrency: int
    ratio: float            # now over before
    noise: float            # what it may differ from 1 by, and mean nothing

    @property
    def is_beyond_noise(self) -> bool:
        return abs(self.ratio - 1) > self.noise

    @property
    def is_worse(self) -> bool:
        return (self.ratio - 1) * COMPARED[self.figure] < 0

    @property
    def percent(self) -> int:
        """Of what it was before: how much less, or more."""
        return round(100 * abs(self.ratio - 1))


@dataclass(frozen=True, slots=True)
class Since:
    """A run beside the one before it."""

    before: Benchmark
    now: Benchmark
    changes: tuple[Change, ...]

    @property
    def foremost(self) -> Change | None:
        """The largest of those that mean something, and something worse goes first; None: it is as it was."""
        beyond = [each for each in self.changes if each.is_beyond_noise]
        worse = [each for each in beyond if each.is_worse]
        return max(worse or beyond, key=lambda each: abs(each.ratio - 1), default=None)

    @property
    def is_worse(self) -> bool:
        return self.foremost is not None and self.foremost.is_worse

    def told(self, date: str) -> Said:
        """In a sentence. `date`: of the one before, as its reader writes it."""
        change, parts = self.foremost, differences(self.before, self.now)
        if change is None:
            sentence = Said("bench-as-before", date=date)
        else:
            sentence = Said(
                _SENTENCES[change.figure, change.is_worse], percent=change.percent, clients=change.concurrency,
                date=date,
            )
        return Said("bench-since", sentence=sentence, parts=_joined(parts)) if parts else sentence


_SENTENCES: Final = {
    ("tokens_per_s", True): "bench-slower", ("tokens_per_s", False): "bench-faster",
    ("first_token_p50_s", True): "bench-later", ("first_token_p50_s", False): "bench-sooner",
}


@dataclass(frozen=True, slots=True)
class Apart:
    """A run with others of its model before it, none of which it can be held against; `before` is the newest."""

    before: Benchmark
    now: Benchmark

    @property
    def reasons(self) -> list[Said]:
        found = [
            Said(message, before=str(getattr(self.before, name)), now=str(getattr(self.now, name)))
            for name, message in APART.items()
            if getattr(self.before, name) != getattr(self.now, name)
        ]
        levels = (", ".join(str(level["concurrency"]) for level in each.levels) for each in (self.before, self.now))
        return found or [Said("bench-apart-levels", before=next(levels), now=next(levels))]

    def told(self, date: str) -> Said:
        """As `Since.told`."""
        return Said("bench-apart", date=date, reasons=_joined(self.reasons))


def beside_earlier(rows: Sequence[Benchmark], now: Benchmark) -> Since | Apart | None:
    """What is said of a run beside those before it; None where it is the first of its model."""
    earlier = [each for each in rows if each.created_at < now.created_at and each.model_id == now.model_id]
    if (found := since(earlier, now)) is not None or not earlier:
        return found
    return Apart(max(earlier, key=lambda each: each.created_at), now)


def since(rows: Sequence[Benchmark], now: Benchmark) -> Since | None:
    """Beside the newest of `rows` that is older and can be compared; None where there is none."""
    earlier = [each for each in rows if each.created_at < now.created_at and is_comparable(each, now)]
    if not earlier:
        return None
    before = max(earlier, key=lambda each: each.created_at)
    return Since(before, now, changes(before, now))


def is_comparable(one: Benchmark, other: Benchmark) -> bool:
    at_once = {level["concurrency"] for level in one.levels} & {level["concurrency"] for level in other.levels}
    return bool(at_once) and all(getattr(one, name) == getattr(other, name) for name in SAME)


def changes(before: Benchmark, now: Benchmark) -> tuple[Change, ...]:
    """Of each level that both have. One during which somebody was answered says nothing."""
    earlier = {each.concurrency: each for each in levels_of(before) if not each.is_disturbed}
    return tuple(
        Change(
            name, level.concurrency, getattr(level, name).median / was,
            max(level.noise(name), earlier[level.concurrency].noise(name)),
        )
        for level in levels_of(now)
        if level.concurrency in earlier and not level.is_disturbed
        for name in COMPARED
        if (was := getattr(earlier[level.concurrency], name).median) > 0
    )


def is_readable(row: Benchmark) -> bool:
    """Not one that another version of Inglenook, older or newer, has kept in another shape."""
    try:
        levels = levels_of(row)
    except (KeyError, TypeError):
        return False
    figures = (getattr(level, name).median for level in levels for name in COMPARED)
    return bool(levels) and row.prompts_source in get_args(Source) and all(
        isinstance(each, int | float) and isfinite(each) and each > 0 for each in figures
    )


def levels_of(row: Benchmark) -> list[Level]:
    return [Level.from_values(each) for each in row.levels]


def differences(before: Benchmark, now: Benchmark) -> list[Said]:
    """What else is not as it was: "llama.cpp 0.3.36 → 0.3.40"."""
    found = []
    if before.backend != now.backend:
        name = now.backend.rpartition(" ")[0]
        version = now.backend.rpartition(" ")[2] if before.backend.rpartition(" ")[0] == name else now.backend
        found.append(Said("bench-part-engine", before=before.backend, now=version))
    for name, message in TOLD.items():
        was, is_now = getattr(before, name), getattr(now, name)
        if was != is_now:
            found.append(Said(message, before=str(was), now=str(is_now)))
    if before.model_version != now.model_version:
        found.append(Said("bench-part-version"))
    return found


def _joined(parts: Sequence[Said]) -> Said:
    joined = parts[0]
    for each in parts[1:]:
        joined = Said("bench-parts", one=joined, other=each)
    return joined


@dataclass(frozen=True, slots=True)
class Beside:
    """Of two models at one level: the second's figures over the first's."""

    concurrency: int
    tokens_per_s: float
    first_token: float
    is_beyond_noise: bool       # of tokens/s


def beside(first: Benchmark, second: Benchmark) -> list[Beside]:
    firsts = {each.concurrency: each for each in levels_of(first)}
    found = []
    for level in levels_of(second):
        other = firsts.get(level.concurrency)
        if other is None or not other.tokens_per_s.median or not other.first_token_p50_s.median:
            continue
        ratio = level.tokens_per_s.median / other.tokens_per_s.median
        noise = max(level.noise("tokens_per_s"), other.noise("tokens_per_s"))
        found.append(Beside(
            level.concurrency, ratio, level.first_token_p50_s.median / other.first_token_p50_s.median,
            abs(ratio - 1) > noise,
        ))
    return found


def slots_of(row: Benchmark) -> int:
    """How many the model answers at once; the others wait in line. 0: a server elsewhere does not say."""
    return 0 if row.device == ELSEWHERE else row.max_num_seqs


def _in_english(found: Since | Apart) -> str:
    """"3 March 2026", for who has no page; of the same day with the hour."""
    at = found.before.created_at
    return f"{at.day} {at:%B %Y}" + (f" at {at:%H:%M} UTC" if at.date() == found.now.created_at.date() else "")


def body_of(row: Benchmark, earlier: Since | Apart | None) -> dict[str, Any]:
    """As JSON, for the API and the command line."""
    body: dict[str, Any] = row.model_dump(mode="json") | {"since": None, "not_compared": None}
    if earlier is not None:
        told = {
            "id": earlier.before.id, "at": earlier.before.created_at.isoformat(),
            "told": str(earlier.told(_in_english(earlier))),
        }
        if isinstance(earlier, Since):
            body["since"] = told | {"is_worse": earlier.is_worse}
        else:
            body["not_compared"] = told
    return body
