"""Which models elsewhere may be used now. Called by services and `store.models`, on a store thread.

Whether any may be used is a setting of the installation: off, as long as no admin has said otherwise.
"""

from __future__ import annotations

from collections import defaultdict

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
    rows = session.exec(
        select(Connection, ConnectionModel)
        .join(ConnectionModel, col(ConnectionModel.connection_id) == col(Connection.id))
        .where(col(Connection.is_on))
        .order_by(col(Connection.created_at), col(Connection.id))
    )
    led: defaultdict[str, list[tuple[Connection, ConnectionModel]]] = defaultdict(list)
    for connection, model in rows:
        led[model.model_id].append((connection, model))
    return dict(led)
