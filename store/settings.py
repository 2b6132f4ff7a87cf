"""Small JSON values: a person's ("theme") and the installation's. Called by services, on a store thread.

One that cannot be read counts as not set, with a word in the log. So does one of the installation's that does not fit
its reader any more (`fitting`). Setting it again mends either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlmodel import Session, select

from store.tables import SystemSetting, UserSetting
from store.tables.columns import UNREADABLE, warn_of_unreadable

T = TypeVar("T")


def get_of_user(session: Session, user_id: str, key: str, default: Any = None) -> Any:
    return _value(session.get(UserSetting, (user_id, key)), default)


def all_of_user(session: Session, user_id: str) -> dict[str, Any]:
    rows = session.exec(select(UserSetting).where(UserSetting.user_id == user_id))
    return {row.key: value for row in rows if (value := _value(row, UNREADABLE)) is not UNREADABLE}


def set_of_user(session: Session, user_id: str, key: str, value: Any) -> None:
    session.merge(UserSetting(user_id=user_id, key=key, value=value))


def get_of_system(session: Session, key: str, default: Any = None) -> Any:
    return _value(session.get(SystemSetting, key), default)


def fitting(session: Session, key: str, read: Callable[[Any], T], default: T) -> T:
    """The installation's, as `read` makes it of the stored value, where there is one that it can make it of."""
    value = get_of_system(session, key)
    if value is None:
        return default
    try:
        return read(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        warn_of_unreadable(f"setting {key}")
        return default


def set_of_system(session: Session, key: str, value: Any) -> None:
    session.merge(SystemSetting(key=key, value=value))


def _value(row: UserSetting | SystemSetting | None, default: Any) -> Any:
    if row is None:
        return default
    if row.value is UNREADABLE:
        warn_of_unreadable(f"setting {row.key}")
        return default
    return row.value
