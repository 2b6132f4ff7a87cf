"""What columns hold, beside plain values, and what new rows begin with."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import DateTime, Enum, TypeDecorator
from sqlalchemy.engine import Dialect


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


def stored_as_value(kind: type[StrEnum]) -> Any:
    """A text column that keeps "streaming", not the member's name: triggers, and people with `sqlite3`, read it."""
    return Enum(kind, native_enum=False, length=16, values_callable=lambda kinds: [member.value for member in kinds])


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return uuid4().hex
