"""Rows of `connection` and `connection_model`. Called by `app.services.connections`, on a store thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, select

from store import models, settings
from store.elsewhere import SETTING
from store.tables import Connection, ConnectionModel, Model, now
from store.tables.models import ELSEWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class LedTo:
    """A model of a server, as it is to be known here."""

    remote_id: str
    context_tokens: int
    embeds: bool
    quantisation: str
    calls_tools: bool | None


def set_allowed(session: Session, is_allowed: bool) -> None:
    settings.set_of_system(session, SETTING, is_allowed)
    session.flush()
    models.see_to_a_default(session)


def list_all(session: Session) -> list[tuple[Connection, list[ConnectionModel]]]:
    """Oldest first, with the models of each by name."""
    led: defaultdict[str, list[ConnectionModel]] = defaultdict(list)
    for each in session.exec(select(ConnectionModel).order_by(col(ConnectionModel.remote_id))):
        led[each.connection_id].append(each)
    connections = session.exec(select(Connection).order_by(col(Connection.created_at), col(Connection.id)))
    return [(each, led[each.id]) for each in connections]


def models_led_to(session: Session) -> list[Model]:
    return [each for each in models.list_all(session) if each.is_elsewhere]


def get(session: Session, connection_id: str) -> Connection | None:
    return session.get(Connection, connection_id)


def find(session: Session, name_key: str) -> Connection | None:
    return session.exec(select(Connection).where(Connection.name_key == name_key)).first()


def add(session: Session, connection: Connection) -> Connection:
    session.add(connection)
    session.flush()
    return connection


def change(session: Session, connection_id: str, values: Mapping[str, Any]) -> Connection | None:
    connection = get(session, connection_id)
    if connection is not None:
        for name, value in values.items():
            setattr(connection, name, value)
        session.flush()
        models.see_to_a_default(session)
    return connection


def remove(session: Session, connection_id: str) -> list[str] | None:
    """The ids of the models that go with it, because no other connection leads there. None: there is no such one."""
    connection = get(session, connection_id)
    if connection is None:
        return None
    session.delete(connection)
    session.flush()
    return _remove_unled(session)


def lead(session: Session, connection_id: str, found: Sequence[LedTo]) -> tuple[list[str], list[str]] | None:
    """From now on it leads to these models, and to no others. Ids of those that changed, and of those that went.

    A model has the same row whichever connection leads there: its name is the server's, so that they can stand in for
    each other; but never that of a model on this machine, which is another. None: there is no such connection.
    """
    if get(session, connection_id) is None:
        return None
    before = {
        each.remote_id: each
        for each in session.exec(select(ConnectionModel).where(ConnectionModel.connection_id == connection_id))
    }
    for remote_id in before.keys() - {each.remote_id for each in found}:
        session.delete(before.pop(remote_id))
    session.flush()
    changed = []
    for each in found:
        model = _model_for(session, each)
        led = before.get(each.remote_id) or ConnectionModel(
            connection_id=connection_id, model_id=model.id, remote_id=each.remote_id
        )
        now_known = (each.context_tokens, each.calls_tools)
        if each.remote_id not in before or now_known != (led.context_tokens, led.calls_tools):
            led.context_tokens, led.calls_tools = now_known
            session.add(led)
            changed.append(model.id)
    session.flush()
    _see_to_contexts(session)
    gone = _remove_unled(session)
    return changed, gone


def note_answer(session: Session, connection_id: str, at: datetime | None = None) -> None:
    session.exec(
        update(Connection).where(col(Connection.id) == connection_id)
        .values(answered_at=at or now(), failed_at=None, problem="")
    )


def note_problem(session: Session, connection_id: str, problem: str) -> None:
    session.exec(
        update(Connection).where(col(Connection.id) == connection_id).values(failed_at=now(), problem=problem)
    )


def _model_for(session: Session, found: LedTo) -> Model:
    """The row that stands for it, made where there is none."""
    known = models.list_all(session)
    for each in known:
        if each.is_elsewhere and each.origin.get("name") == found.remote_id:
            each.quantisation, each.embeds = found.quantisation, found.embeds
            return each
    model = Model(
        id=_free_id(session, found.remote_id, known), name=found.remote_id.rpartition("/")[2] or found.remote_id,
        path="", file_format=ELSEWHERE, quantisation=found.quantisation, size_bytes=0, modified_ns=0,
        embeds=found.embeds, origin={"name": found.remote_id},
    )
    session.add(model)
    session.flush()
    return model


def _free_id(session: Session, remote_id: str, known: Sequence[Model]) -> str:
    taken = {name for each in known for name in (each.id, *each.settings.get("aliases", ()))}
    names = [remote_id, f"{remote_id}-elsewhere", *(f"{remote_id}-elsewhere-{number}" for number in range(2, 100))]
    return next(name for name in names if name not in taken)


def _see_to_contexts(session: Session) -> None:
    """A model holds what the narrowest of its servers does: any of them may have to answer."""
    contexts: defaultdict[str, list[int]] = defaultdict(list)
    for each in session.exec(select(ConnectionModel)):
        contexts[each.model_id].append(each.context_tokens)
    for model in models.list_all(session):
        if model.is_elsewhere:
            model.context_tokens = min(filter(None, contexts[model.id]), default=0)
    session.flush()


def _remove_unled(session: Session) -> list[str]:
    led = set(session.exec(select(ConnectionModel.model_id)))
    gone = [each for each in models.list_all(session) if each.is_elsewhere and each.id not in led]
    for each in gone:
        session.delete(each)
    session.flush()
    models.see_to_a_default(session)
    return [each.id for each in gone]
