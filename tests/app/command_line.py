"""What a command says and how it ends. The fixture `inglenook` of conftest gives it, from within this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    out: str
    err: str


Inglenook = Callable[..., Outcome]
