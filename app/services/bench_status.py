"""What is to be measured, and how far that is, as pages, the API and the command line are told. Values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar, get_args

from app.errors import InvalidInput
from app.language import Said
from app.services.bench_prompts import Prompts, Source, is_whole
from store.tables import Benchmark

T = TypeVar("T")

MOST_LEVELS, MOST_CLIENTS = 12, 512
MOST_PROMPTS, MOST_PROMPT_CHARS = 64, 200_000
MAX_TOKENS, NUM_REPETITIONS = 128, 3         # where nobody says how many
TOKENS, REPETITIONS = range(8, 4097), range(1, 21)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWish:
    """What is to be measured."""

    model_ids: tuple[str, ...]              # one, or two side by side
    prompts: Prompts
    levels: tuple[int, ...] = ()            # clients at once; (): 1, 2, 4, … as many as the model answers at once
    max_tokens: int = MAX_TOKENS            # of each answer
    repetitions: int = NUM_REPETITIONS

    def check(self) -> None:
        """Raises InvalidInput, which names the field."""
        if len(set(self.model_ids)) != len(self.model_ids) or len(self.model_ids) not in (1, 2):
            raise InvalidInput(Said("bench-models-wrong"), field="models")
        if len(self.levels) > MOST_LEVELS or any(not 1 <= each <= MOST_CLIENTS for each in self.levels):
            raise InvalidInput(Said("bench-levels-wrong", count=MOST_LEVELS, most=MOST_CLIENTS), field="levels")
        for name, value, allowed in (
            ("max_tokens", self.max_tokens, TOKENS), ("repetitions", self.repetitions, REPETITIONS)
        ):
            if type(value) is not int or value not in allowed:
                raise InvalidInput(Said("bench-number-wrong", least=allowed[0], most=allowed[-1]), field=name)
        texts = self.prompts.texts
        if not all(map(is_whole, texts)):
            raise InvalidInput(Said("error-message-broken"), field="prompts")
        if not 0 < len(texts) <= MOST_PROMPTS or sum(map(len, texts)) > MOST_PROMPT_CHARS:
            raise InvalidInput(
                Said("bench-prompts-wrong", count=MOST_PROMPTS, chars=MOST_PROMPT_CHARS), field="prompts"
            )

    @classmethod
    def from_json(cls, body: dict[str, Any], own: Prompts) -> BenchWish:
        """`own`: the prompts, where the body has none. Raises InvalidInput, which names the field."""
        texts = body.get("prompts")
        source = body.get("source", "given")
        if texts is not None and source not in get_args(Source):
            raise InvalidInput(Said("error-must-be-text", name="source"), field="source")
        return cls(
            model_ids=_listed(body, "models", str),
            prompts=own if texts is None else Prompts(_listed(body, "prompts", str), source),
            levels=_listed(body, "levels", int),
            max_tokens=body.get("max_tokens", MAX_TOKENS),
            repetitions=body.get("repetitions", NUM_REPETITIONS),
        )


def _listed(body: dict[str, Any], name: str, kind: type[T]) -> tuple[T, ...]:
    values = body.get(name, [])
    if not isinstance(values, list) or not all(type(each) is kind for each in values):
        raise InvalidInput(Said("bench-list-wrong", name=name), field=name)
    return tuple(values)


class BenchState(StrEnum):
    LOADING = "loading"             # models, and counting prompts
    MEASURING = "measuring"
    DONE = "done"                   # and kept
    STOPPED = "stopped"             # by a person, or as the server ends
    FAILED = "failed"               # `reason` says why


@dataclass(frozen=True, slots=True)
class BenchStatus:
    id: str
    state: BenchState
    model_ids: tuple[str, ...]
    model_names: tuple[str, ...]
    repetitions: int
    model_name: str = ""            # which is measured now
    concurrency: int = 0            # at how many at once; 0 while it warms up
    repetition: int = 0             # from 1
    num_done: int = 0               # answers
    num_all: int = 0                # 0 while that is not known yet
    num_slots: int = 0              # that the models answer at once, the fewest of them; 0: not known, or elsewhere
    prompts_source: Source = "given"
    most_clients: int = 0           # of the levels; where it is more than that, the others wait in line
    tokens_per_s: float | None = None           # of the last round
    about_s: float | None = None                # that it still takes
    reason: str = ""
    rows: tuple[Benchmark, ...] = ()            # as far as measured; kept once it is DONE

    @property
    def is_running(self) -> bool:
        return self.state in (BenchState.LOADING, BenchState.MEASURING)

    @property
    def waits_in_line(self) -> bool:
        return 0 < self.num_slots < self.most_clients

    @property
    def fraction(self) -> float:
        return self.num_done / self.num_all if self.num_all else 0.0

    def as_json(self) -> dict[str, Any]:
        """Without its rows, which are told by `bench_history.body_of`."""
        told = asdict(self)
        del told["rows"]
        return told | {
            "state": self.state.value, "is_running": self.is_running, "fraction": self.fraction,
            "waits_in_line": self.waits_in_line,
        }
