"""Rows of `download`: models on their way from the hub. Called by `app.services.downloads`, on a store thread."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, col, select

from store.tables import Download, now


def list_all(session: Session) -> list[Download]:
    """Oldest first: that is the order of the queue."""
    return list(session.exec(select(Download).order_by(col(Download.created_at), col(Download.id))))


def get(session: Session, download_id: str) -> Download | None:
    return session.get(Download, download_id)


def find(session: Session, key: str) -> Download | None:
    return session.exec(select(Download).where(Download.key == key)).first()


def add(session: Session, download: Download) -> Download:
    """Or the one that is there under the same key: of two that ask at once, one makes it."""
    if (known := find(session, download.key)) is not None:
        return known
    session.add(download)
    session.flush()
    return download


def change(session: Session, download_id: str, values: dict[str, Any]) -> Download | None:
    """None where it was removed meanwhile."""
    row = get(session, download_id)
    if row is not None:
        for name, value in values.items():
            setattr(row, name, value)
        row.updated_at = now()
    return row


def remove(session: Session, download_id: str) -> bool:
    row = get(session, download_id)
    if row is None:
        return False
    session.delete(row)
    return True
