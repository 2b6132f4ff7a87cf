"""Rows of `model` and `model_version`: the language models known on this machine. Called by `app.services.models`, on a
store thread.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import func, text, update
from sqlmodel import Session, col, select

from store import elsewhere, removed_models
from store.tables import Conversation, Model, ModelVersion, now

GLANCE = (
    "SELECT id, name, path, quantisation, is_default FROM model ORDER BY id",
    "SELECT id, name, base_url, is_on FROM connection ORDER BY id",
    "SELECT connection_id, model_id FROM connection_model ORDER BY connection_id, model_id",
)
KEPT = frozenset({"id", "name", "is_starter", "is_default", "added_at", "settings"})
FACTS = tuple(name for name in Model.model_fields if name not in KEPT)     # of a version: all else a model is


def list_all(session: Session) -> list[Model]:
    return list(session.exec(select(Model).order_by(col(Model.added_at), col(Model.id))))


def glance(session: Session) -> object:
    """What is to be read again where it is another: which models there are, and what leads to those elsewhere."""
    return elsewhere.is_allowed(session), [session.connection().execute(text(query)).all() for query in GLANCE]


def get(session: Session, model_id: str) -> Model | None:
    return session.get(Model, model_id)


def default(session: Session) -> Model | None:
    return session.exec(select(Model).where(col(Model.is_default))).first()


def upsert(session: Session, model: Model) -> Model:
    """Add the row, or overwrite what is known of the same id but for when it was added and its settings. The first that
    chats is the default.
    """
    row = get(session, model.id)
    if row is None:
        row = model
        session.add(row)
    else:
        for name, value in model.model_dump(exclude={"id", "is_default", "added_at", "settings"}).items():
            setattr(row, name, value)
    row.is_default = row.is_default and not row.embeds
    see_to_a_default(session)
    return row


def describe_anew(session: Session, model: Model) -> Model | None:
    """Overwrite what is known of it, whose file is another by now. None where it is gone, or of another path."""
    row = get(session, model.id)
    return upsert(session, model) if row is not None and row.path == model.path else None


def set_default(session: Session, model_id: str) -> bool:
    """False, and the default stays, if there is no such model."""
    if get(session, model_id) is None:
        return False
    session.exec(update(Model).values(is_default=col(Model.id) == model_id))
    return True


def remove(session: Session, model_id: str) -> bool:
    """Forget the row, never the file; its name is kept for the answers that it wrote. If it was the default, the oldest
    that is left and can chat is it.
    """
    model = get(session, model_id)
    if model is None:
        return False
    removed_models.note(session, [model])
    session.delete(model)
    see_to_a_default(session)
    return True


def num_chats(session: Session, model_id: str) -> int:
    """That were last answered by it, whosever they are."""
    of_it = select(func.count()).where(Conversation.model_id == model_id, col(Conversation.deleted_at).is_(None))
    return session.exec(of_it.select_from(Conversation)).one()


def set_settings(session: Session, model_id: str, settings: dict[str, Any]) -> Model | None:
    model = get(session, model_id)
    if model is not None:
        model.settings = settings
    return model


def set_template(session: Session, model_id: str, report: dict[str, Any]) -> None:
    session.exec(update(Model).where(col(Model.id) == model_id).values(template=report))


# -- versions ----------------------------------------------------------------------------------------------------------


def facts_of(model: Model) -> dict[str, Any]:
    return model.model_dump(include=set(FACTS))


def versions(session: Session, model_id: str) -> list[ModelVersion]:
    """Oldest first."""
    of_model = select(ModelVersion).where(col(ModelVersion.model_id) == model_id)
    return list(session.exec(of_model.order_by(col(ModelVersion.installed_at), col(ModelVersion.id))))


def install_version(session: Session, model_id: str, facts: dict[str, Any]) -> Model | None:
    """The model is of these facts from now on; what it was before stays as a version. None: there is no such model."""
    model = get(session, model_id)
    if model is None:
        return None
    before = versions(session, model_id)
    if not before:
        before = [ModelVersion(model_id=model_id, facts=facts_of(model), installed_at=model.added_at)]
        session.add(before[0])
    at = max(now(), before[-1].installed_at + timedelta(microseconds=1))    # also where the clock was set back
    session.add(ModelVersion(model_id=model_id, facts=facts, installed_at=at))
    return _use(session, model, facts)


def use_version(session: Session, version_id: str) -> Model | None:
    version = session.get(ModelVersion, version_id)
    model = get(session, version.model_id) if version else None
    return _use(session, model, version.facts) if version and model else None


def forget_version(session: Session, version_id: str) -> bool:
    version = session.get(ModelVersion, version_id)
    if version is None:
        return False
    session.delete(version)
    session.flush()
    return True


def _use(session: Session, model: Model, facts: dict[str, Any]) -> Model:
    for name in FACTS:
        if name in facts:                  # a version that an older Inglenook has written may lack some
            setattr(model, name, facts[name])
    model.is_default = model.is_default and not model.embeds
    see_to_a_default(session)
    return model


def see_to_a_default(session: Session) -> None:
    """Where there is none, or one that may not be used now, the oldest model of this machine that can chat. One
    elsewhere is never the default unless an admin makes it so.
    """
    session.flush()
    current = default(session)
    if current is not None and current.is_elsewhere and current.id not in elsewhere.usable(session):
        current.is_default = False
        session.flush()
        current = None
    able = [] if current else [each for each in list_all(session) if not each.embeds and not each.is_elsewhere]
    if able:
        able[0].is_default = True

