"""Which models elsewhere may be used now. Called by services and `store.models`, on a store thread.

Whether any may be used is a setting of the installation: off, as long as no admin has said otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sqlmodel import Session, col, select

from store import settings
from store.tables import Connection, ConnectionModel

SETTING = "elsewhere"       # of the system's settings


def is_allowed(session: Session) -> bool:
    return settings.get_of_system(session, SETTING, False) is True


def usable(session: Session) -> dict[str, list[tuple[Connection, ConnectionModel]]]:
    """By model: the connections that lead there and are on, the oldest first. Empty, where none may be used."""
    if not is_allowed(session):
        return {}
    led: defaultdict[str, list[tuple[Connection, ConnectionModel]]] = defaultdict(list)
    for connection, model in _leading(session):
        if connection.is_on:
            led[model.model_id].append((connection, model))
    return dict(led)


def unusable(session: Session) -> dict[str, list[Connection]]:
    """By model: the connections that would lead there, if they or all were not off."""
    led: defaultdict[str, list[Connection]] = defaultdict(list)
    for connection, model in _leading(session):
        led[model.model_id].append(connection)
    for model_id in usable(session):
        del led[model_id]
    return dict(led)


def _leading(session: Session) -> Iterable[tuple[Connection, ConnectionModel]]:
    return session.exec(
        select(Connection, ConnectionModel)
        .join(ConnectionModel, col(ConnectionModel.connection_id) == col(Connection.id))
        .order_by(col(Connection.created_at), col(Connection.id))
    )
