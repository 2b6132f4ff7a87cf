"""Rows of `model`: the language models known on this machine. Called by `app.services.models`, on a store thread."""

from __future__ import annotations

from sqlalchemy import update
from sqlmodel import Session, col, select

from store.tables import Model


def list_all(session: Session) -> list[Model]:
    return list(session.exec(select(Model).order_by(col(Model.added_at), col(Model.id))))


def get(session: Session, model_id: str) -> Model | None:
    return session.get(Model, model_id)


def default(session: Session) -> Model | None:
    return session.exec(select(Model).where(col(Model.is_default))).first()


def upsert(session: Session, model: Model) -> Model:
    """Add the row, or overwrite what is known of the same id but when it was added. The first that chats is default."""
    row = get(session, model.id)
    if row is None:
        row = model
        session.add(row)
    else:
        for name, value in model.model_dump(exclude={"id", "is_default", "added_at"}).items():
            setattr(row, name, value)
    row.is_default = row.is_default and not row.embeds
    _see_to_a_default(session)
    return row


def set_default(session: Session, model_id: str) -> bool:
    """False, and the default stays, if there is no such model."""
    if get(session, model_id) is None:
        return False
    session.exec(update(Model).values(is_default=col(Model.id) == model_id))
    return True


def remove(session: Session, model_id: str) -> bool:
    """Forget the row, never the file. If it was the default, the oldest that is left and can chat is it."""
    model = get(session, model_id)
    if model is None:
        return False
    session.delete(model)
    _see_to_a_default(session)
    return True


def _see_to_a_default(session: Session) -> None:
    """Where there is none, the oldest model that can chat."""
    session.flush()
    if default(session) is None and (able := [model for model in list_all(session) if not model.embeds]):
        able[0].is_default = True
