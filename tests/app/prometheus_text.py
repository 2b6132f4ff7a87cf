"""Reads Prometheus' text format, version 0.0.4, and takes nothing that its specification does not allow."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]Inf|NaN", re.IGNORECASE)
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Labels = frozenset[tuple[str, str]]


@dataclass
class Family:
    """One metric: its kind, and its samples by what follows its name (`_bucket`, say) and labels."""

    kind: str
    help: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        return self.samples[suffix, frozenset(labels.items())]

    def of(self, model_id: str, **labels: str) -> float:
        return self.value("", model=model_id, **labels)


def read_prometheus(text: str) -> dict[str, Family]:
    """By name. Raises ValueError with the line that is wrong."""
    families: dict[str, Family] = {}
    helps: dict[str, str] = {}
    name = ""
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text.removesuffix("\n").split("\n"):
        if found := re.fullmatch(rf"# HELP ({NAME}) (.+)", line):
            _require(found[1] not in helps and found[1] not in families, line)
            helps[found[1]] = found[2]
        elif found := re.fullmatch(rf"# TYPE ({NAME}) (gauge|counter|histogram)", line):
            name = found[1]
            _require(name not in families and name in helps, line)
            families[name] = Family(found[2], helps[name])
        else:
            found = SAMPLE.fullmatch(line)
            _require(found is not None and name != "" and found[1].startswith(name), line)
            assert found is not None
            family, suffix = families[name], found[1].removeprefix(name)
            _require(suffix in (("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)), line)
            key = (suffix, _labels(found[2] or "", line))
            _require(key not in family.samples and NUMBER.fullmatch(found[3]) is not None, line)
            family.samples[key] = float(found[3])
    for name, family in families.items():
        _check(name, family)
    return families


def _labels(text: str, line: str) -> Labels:
    labels: dict[str, str] = {}
    end = 0
    while end < len(text):
        found = LABEL.match(text, end)
        _require(found is not None and found[1] not in labels, line)
        assert found is not None
        labels[found[1]] = re.sub(r'\\[\\"n]', lambda escape: UNESCAPED[escape[0]], found[2])
        end = found.end()
    return frozenset(labels.items())


def _check(name: str, family: Family) -> None:
    if family.kind == "counter":
        _require(name.endswith("_total"), name)
        _require(all(value >= 0 for value in family.samples.values()), name)
    if family.kind == "histogram":
        _check_histogram(name, family)


def _check_histogram(name: str, family: Family) -> None:
    """Buckets stand in order of their bounds, never fall, and end with +Inf, which is the count."""
    buckets: dict[Labels, list[tuple[float, float]]] = defaultdict(list)
    for (suffix, labels), value in family.samples.items():
        if suffix == "_bucket":
            bound = dict(labels)["le"]
            buckets[labels - {("le", bound)}].append((float(bound), value))
    others = {labels for (suffix, labels) in family.samples if suffix != "_bucket"}
    _require(others == buckets.keys(), f"{name}: sums or counts without buckets, or the other way round")
    for labels, pairs in buckets.items():
        _require(pairs == sorted(pairs) and len({bound for bound, _ in pairs}) == len(pairs), f"{name}: {pairs}")
        _require([count for _, count in pairs] == sorted(count for _, count in pairs), f"{name}: {pairs}")
        _require(pairs[-1] == (math.inf, family.samples["_count", labels]), f"{name}: {pairs[-1]} is not all")
        _require(("_sum", labels) in family.samples, f"{name} has no sum")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"Prometheus would not take this: {what}")
