"""What columns hold, beside plain values, and what new rows begin with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final
from uuid import uuid4

import structlog
from sqlalchemy import JSON, Column, DateTime, Enum, TypeDecorator
from sqlalchemy.engine import Dialect

log = structlog.get_logger(__name__)

UNREADABLE: Final = object()


class UtcDateTime(TypeDecorator[datetime]):
    """SQLite keeps no time zone: refuse naive times on the way in, give UTC on the way out."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("naive datetime: use datetime.now(UTC)")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class StoredJson(TypeDecorator[Any]):
    """JSON of one kind: a dict, a list of dicts with certain keys at least, or (None) of any.

    The file may have been edited, or be of another version: what is no JSON, or of another kind, counts as empty, and
    as UNREADABLE where any kind would do. The log says so once; whatever is stored next mends it.
    """

    impl = JSON
    cache_ok = True
    should_evaluate_none = True         # None is JSON's null, as without this around it

    def __init__(self, kind: type[dict[str, Any]] | type[list[Any]] | None, what: str, keys: tuple[str, ...]) -> None:
        super().__init__()
        self.kind = kind
        self.what = what
        self.keys = keys

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        process = super().result_processor(dialect, coltype)
        if process is None:
            return None
        read = process

        def readable(stored: Any) -> Any:
            try:
                value = read(stored)
            except (ValueError, RecursionError):        # bytes that are no UTF-8 are a ValueError too
                value = UNREADABLE
            if self.kind is None or (isinstance(value, self.kind) and _are_dicts(value, self.keys)):
                return value
            warn_of_unreadable(self.what)
            return self.kind()

        return readable


def _are_dicts(value: dict[str, Any] | list[Any], keys: tuple[str, ...]) -> bool:
    """What a list holds."""
    return isinstance(value, dict) or all(isinstance(each, dict) and each.keys() >= set(keys) for each in value)


def json_column(
    kind: type[dict[str, Any]] | type[list[Any]] | None, what: str, *, keys: tuple[str, ...] = ()
) -> Column[Any]:
    """`keys`: what each dict of a list has at least."""
    return Column(StoredJson(kind, what, keys), nullable=False)


@cache
def warn_of_unreadable(what: str) -> None:
    log.warning("what is stored cannot be read, and counts as not set", what=what)


def stored_as_value(kind: type[StrEnum]) -> Any:
    """A text column that keeps "streaming", not the member's name: triggers, and people with `sqlite3`, read it."""
    return Enum(kind, native_enum=False, length=16, values_callable=lambda kinds: [member.value for member in kinds])


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return uuid4().hex
