"""What the registry of engines knows of a model, and what it tells. Values of the event loop; the registry alone writes
places.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from app.language import Said
from engine.engine import Engine, EngineInfo
from engine.load import ModelSpec

LEAST_SHARE_TOLD = 0.05         # of a load; and the least step from one that was told to the next


class ModelState(StrEnum):
    ON_DISK = "on_disk"
    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"


class LoadWait(StrEnum):
    """What a load waits for before it begins."""

    MEMORY = "memory"           # until a loaded model is idle and can go
    OTHER_LOAD = "other_load"


@dataclass(frozen=True, slots=True)
class Policy:
    """How long a model stays in memory."""

    keep_alive_s: float | None = None       # after its last use; None: until others need the room
    is_pinned: bool = False                 # it stays, whatever others need


@dataclass(frozen=True, slots=True)
class Wanted:
    spec: ModelSpec
    policy: Policy = Policy()
    opens: Callable[[], Engine] | None = None       # of a model elsewhere: at once, and without memory of this machine


@dataclass(frozen=True, slots=True)
class ModelStatus:
    state: ModelState
    reason: str = ""                        # why it failed, or what a load waits for: a sentence for a person
    info: EngineInfo | None = None          # while READY
    num_requests: int = 0                   # that use it now, waiting ones included
    waits_for: LoadWait | None = None       # `reason` says it in words
    about_s: float | None = None            # while LOADING: how long it may still take
    share_loaded: float = 0.0               # of the weights, while LOADING; 0: nothing is known yet


@dataclass(slots=True, eq=False)
class Place:
    """What the registry knows of one model. Made at its first load, kept until the model is forgotten."""

    state: ModelState = ModelState.ON_DISK
    reason: Said | None = None
    waits_for: LoadWait | None = None
    engine: Engine | None = None
    num_borrowers: int = 0
    num_waiting: int = 0                    # who will borrow it, or wants it loaded, as soon as it is
    last_used_s: float = 0.0
    failed_at_s: float = 0.0
    began_loading_s: float | None = None    # the file, that is: not the waiting for memory or for another load
    share_loaded: float = 0.0               # of the weights, from 0 to 1
    last_load_s: float | None = None        # how long that took
    last_window: int | None = None          # in tokens, when it was last loaded
    is_retired: bool = False                # it goes as soon as nobody uses it
    policy: Policy = field(default_factory=Policy)
    expiry: asyncio.TimerHandle | None = None       # while it is idle, and not to stay for ever
    settled: asyncio.Event = field(default_factory=asyncio.Event)       # it is not DRAINING
    loading: asyncio.Task[None] | None = None
    unloading: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return self.num_borrowers == 0 and self.num_waiting == 0
