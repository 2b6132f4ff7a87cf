"""Rows of `connection` and `connection_model`. Called by `app.services.connections`, on a store thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from typing import Any, NamedTuple

from sqlalchemy import update
from sqlmodel import Session, col, select

from store import models, removed_models, settings
from store.elsewhere import SETTING
from store.tables import Connection, ConnectionModel, Model, now
from store.tables.models import ELSEWHERE

LEADS = ("base_url", "sealed_key", "sealed_headers")        # columns that say whose words are heard, by which key


@dataclass(frozen=True, slots=True, kw_only=True)
class LedTo:
    """A model of a server, as it is to be known here."""

    remote_id: str
    context_tokens: int
    embeds: bool
    quantisation: str
    calls_tools: bool | None


class Led(NamedTuple):
    """Ids of the models of a connection that are new or other than they were, and of those that went."""

    changed: list[str]
    gone: list[str]


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


def add(session: Session, connection: Connection, found: Sequence[LedTo]) -> Led | None:
    """With the models that it leads to. None if its name is taken, maybe since it was looked at."""
    if find(session, connection.name_key) is not None:
        return None
    session.add(connection)
    session.flush()
    return _lead(session, connection.id, found)


def change(session: Session, before: Connection, values: Mapping[str, Any], found: Sequence[LedTo]) -> Led | None:
    """What was entered and found out while it was as `before`. Nothing is written, and None given, where it has been
    removed meanwhile, another change leads it elsewhere, or the name is taken.
    """
    connection = get(session, before.id)
    if connection is None or any(getattr(connection, name) != getattr(before, name) for name in LEADS):
        return None
    holder = find(session, values.get("name_key", before.name_key))
    if holder is not None and holder.id != before.id:
        return None
    for name, value in values.items():
        setattr(connection, name, value)
    session.flush()
    led = _lead(session, before.id, found)
    if connection.base_url == before.base_url:
        return led
    of_it = select(ConnectionModel.model_id).where(ConnectionModel.connection_id == before.id)
    return Led(list(session.exec(of_it)), led.gone)     # of another server nothing is known


def set_on(session: Session, connection_id: str, is_on: bool) -> None:
    session.exec(update(Connection).where(col(Connection.id) == connection_id).values(is_on=is_on))
    models.see_to_a_default(session)


def remove(session: Session, connection_id: str) -> list[str] | None:
    """The ids of the models that go with it, because no other connection leads there. None: there is no such one."""
    connection = get(session, connection_id)
    if connection is None:
        return None
    session.delete(connection)
    session.flush()
    return _remove_unled(session)


def _lead(session: Session, connection_id: str, found: Sequence[LedTo]) -> Led:
    """From now on it leads to these models, and to no others.

    A model has the same row whichever connection leads there: its name is the server's, so that they can stand in for
    each other; but never that of a model on this machine, which is another.
    """
    before = {
        each.remote_id: each
        for each in session.exec(select(ConnectionModel).where(ConnectionModel.connection_id == connection_id))
    }
    for remote_id in before.keys() - {each.remote_id for each in found}:
        session.delete(before.pop(remote_id))
    session.flush()
    there = _models_for(session, found)
    changed = []
    for each in found:
        model = there[each.remote_id]
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
    return Led(changed, _remove_unled(session))


def note_answer(session: Session, connection_id: str, at: datetime | None = None) -> None:
    session.exec(
        update(Connection).where(col(Connection.id) == connection_id)
        .values(answered_at=at or now(), failed_at=None, problem="")
    )


def note_problem(session: Session, connection_id: str, problem: str) -> None:
    session.exec(
        update(Connection).where(col(Connection.id) == connection_id).values(failed_at=now(), problem=problem)
    )


def _models_for(session: Session, found: Sequence[LedTo]) -> dict[str, Model]:
    """By the server's name: the rows that stand for them, made where there are none. All models are read once: there
    may be hundreds, and everybody's writes wait meanwhile.
    """
    known = models.list_all(session)
    there = {str(each.origin.get("name")): each for each in known if each.is_elsewhere}
    taken = {name for each in known for name in (each.id, *each.settings.get("aliases", ()))}
    for each in found:
        if (model := there.get(each.remote_id)) is None:
            model = there[each.remote_id] = _new_model(each, taken)
            session.add(model)
        model.name = name_of(model.id)
        model.quantisation, model.embeds = each.quantisation, each.embeds
    session.flush()
    return there


def _new_model(found: LedTo, taken: set[str]) -> Model:
    """Under an id of its own, which is taken from now on."""
    endings = chain(("", "-elsewhere"), (f"-elsewhere-{number}" for number in count(2)))
    model_id = next(name for ending in endings if (name := found.remote_id + ending) not in taken)
    taken.add(model_id)
    return Model(
        id=model_id, name=name_of(model_id),
        path="", file_format=ELSEWHERE, quantisation=found.quantisation, size_bytes=0, modified_ns=0,
        embeds=found.embeds, origin={"name": found.remote_id},
    )


def name_of(model_id: str) -> str:
    """The end of the id that it has here: what a page shows is what a command is told."""
    return model_id.rpartition("/")[2] or model_id


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
    removed_models.note(session, gone)
    for each in gone:
        session.delete(each)
    session.flush()
    models.see_to_a_default(session)
    return [each.id for each in gone]
