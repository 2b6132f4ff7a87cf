"""What the loaded models take of this machine's memory, as a bar with its numbers. Used by the models page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from app.services.models import ModelEntry
from engine.sizes import GIB
from ui.components.elements import tag
from ui.language import t
from ui.words import number, size

NUM_COLOURS = 4
HOLLOW = "background:var(--sunken);box-shadow:inset 0 0 0 1px var(--line-strong)"
HATCHED = "background:repeating-linear-gradient(135deg,var(--line-strong) 0 1.5px,transparent 1.5px 4px)"


@dataclass(frozen=True, slots=True)
class Share:
    name: str
    weight_bytes: int
    room_bytes: int         # for conversations: running ones, and what is kept of idle ones

    @property
    def total_bytes(self) -> int:
        return self.weight_bytes + self.room_bytes


@dataclass(frozen=True, slots=True)
class Memory:
    total_bytes: int
    others_bytes: int       # of other programs, and of this one beside its models
    shares: tuple[Share, ...]

    @property
    def free_bytes(self) -> int:
        return max(0, self.total_bytes - self.others_bytes - sum(share.total_bytes for share in self.shares))

    @classmethod
    def now(cls, entries: Sequence[ModelEntry]) -> Memory:
        machine = psutil.virtual_memory()
        own_bytes = psutil.Process().memory_info().rss
        infos = [entry.status.info for entry in entries if entry.status.info]
        shares = tuple(Share(info.name, info.weight_bytes, info.kv_bytes + info.cache_bytes) for info in infos)
        return cls(machine.total, max(0, machine.total - machine.available - own_bytes), shares)


def memory_card(entries: Sequence[ModelEntry]) -> None:
    memory = Memory.now(entries)
    used_bytes = memory.total_bytes - memory.free_bytes
    with tag("div", "nk-card"):
        with tag("div", "nk-card-h"):
            tag("h2", "", t("memory"))
            in_use = t("memory-in-use", used=number(used_bytes / GIB, 1), total=number(memory.total_bytes / GIB, 1))
            tag("span", "nk-end nk-num", in_use)
        with tag("div", "nk-card-b"):
            _bar(memory)
            _legend(memory)


def _bar(memory: Memory) -> None:
    told = [f"{share.name} {size(share.total_bytes)}" for share in memory.shares]
    told.append(t("memory-free-told", size=size(memory.free_bytes)))
    told.append(t("memory-others-told", size=size(memory.others_bytes)))
    with tag("div", "nk-mem", role="img", aria_label=t("memory-told", parts=", ".join(told))):
        for index, share in enumerate(memory.shares):
            _segment(memory, share.weight_bytes, _colour(index))
            if share.room_bytes:
                _segment(memory, share.room_bytes, _colour(index), "nk-ctx")
        tag("i", "nk-free")
        tag("i", "nk-resv", style=f"width:{_percent(memory, memory.others_bytes)}")


def _segment(memory: Memory, num_bytes: int, colour: str, classes: str = "") -> None:
    tag("i", classes, style=f"width:{_percent(memory, num_bytes)};background:{colour}")


def _legend(memory: Memory) -> None:
    with tag("div", "nk-legend", style="margin-top:13px"):
        for index, share in enumerate(memory.shares):
            _entry(share.name, share.total_bytes, f"background:{_colour(index)}")
        _entry(t("memory-free"), memory.free_bytes, HOLLOW, "nk-faint")
        _entry(t("memory-others"), memory.others_bytes, HATCHED, "nk-faint")
        if memory.shares:
            tag("span", "nk-faint nk-legend-note", t("memory-faded"))


def _entry(name: str, num_bytes: int, style: str, classes: str = "") -> None:
    with tag("span", classes):
        tag("i", style=style)
        tag("span", text=name)
        tag("b", "nk-num", size(num_bytes))


def _colour(index: int) -> str:
    return f"var(--data-{index % NUM_COLOURS + 1})"


def _percent(memory: Memory, num_bytes: int) -> str:
    return f"{100 * num_bytes / memory.total_bytes:.2f}%"
