"""What a model is asked while it is measured: a person's own questions, or some of ours where there are none. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

BETWEEN = "---"                 # a line of it parts prompts that have several lines
NUM_PROMPTS = 4                 # of what nobody chose: each level asks all of them
BUILT_IN = (
    "Explain to a friend who is no engineer how a heat pump warms a house when it is cold outside.",
    "Write an e-mail to our landlord. The kitchen tap has dripped for two weeks, the plumber came once and found "
    "nothing, and we would like to have it mended before the holidays. Be friendly, but ask for a date.",
    "Write a Python function that takes a list of (start, end) times and returns the free gaps between them that are "
    "at least 30 minutes long. Explain each step.",
    "Sum up what follows in three sentences.\n\nThe town library opened its new reading room on Saturday. About two "
    "hundred people came, many with children, and stayed until the evening. The room has forty seats, daylight from "
    "three sides and a quiet corner for those who want to work. It was paid for by the town and by readers, who "
    "gave a third of the sum. The old room will be used by schools. Some regretted that the large oak table did not "
    "find a place; the director said that it would come back once the floor had been strengthened in spring.",
)

Source = Literal["own", "given", "built-in"]


@dataclass(frozen=True, slots=True)
class Prompts:
    texts: tuple[str, ...]
    source: Source              # "own": of the person's chats; "given": typed, or of a file

    @property
    def hash(self) -> str:
        return hash_of(self.texts)


def of_person(questions: Sequence[str]) -> Prompts:
    """Their own, where they have asked anything yet."""
    return Prompts(tuple(questions), "own") if questions else of_ours()


def of_ours() -> Prompts:
    return Prompts(BUILT_IN, "built-in")


def prompts_in(text: str) -> tuple[str, ...]:
    """One a line, or with several lines each where lines of `---` stand between them."""
    lines = text.splitlines()
    if any(line.strip() == BETWEEN for line in lines):
        parts = "\n".join("\0" if line.strip() == BETWEEN else line for line in lines).split("\0")
    else:
        parts = lines
    return tuple(part.strip() for part in parts if part.strip())


def is_whole(text: str) -> bool:
    """No half of a surrogate pair, which a browser can send and nobody can encode."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def hash_of(texts: Sequence[str]) -> str:
    """Tells whether two runs had the same prompts, and nothing else of them."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()[:16]
