"""Small JSON values: a person's ("theme") and the installation's. Called by services, on a store thread."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, select

from store.tables import SystemSetting, UserSetting


def get_of_user(session: Session, user_id: str, key: str, default: Any = None) -> Any:
    row = session.get(UserSetting, (user_id, key))
    return default if row is None else row.value


def all_of_user(session: Session, user_id: str) -> dict[str, Any]:
    rows = session.exec(select(UserSetting).where(UserSetting.user_id == user_id))
    return {row.key: row.value for row in rows}


def set_of_user(session: Session, user_id: str, key: str, value: Any) -> None:
    session.merge(UserSetting(user_id=user_id, key=key, value=value))


def get_of_system(session: Session, key: str, default: Any = None) -> Any:
    row = session.get(SystemSetting, key)
    return default if row is None else row.value


def set_of_system(session: Session, key: str, value: Any) -> None:
    session.merge(SystemSetting(key=key, value=value))
