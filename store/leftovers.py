"""Files that nothing needs any more: noted in the transaction that makes it so, until they are deleted, so that none is
left whatever ends the process. Called by services, on a store thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sqlmodel import Session

from store import settings

SETTING = "files_to_delete"         # of the system's settings: their paths


def note(session: Session, paths: Iterable[Path]) -> None:
    settings.set_of_system(session, SETTING, sorted({*listed(session), *map(str, paths)}))


def forget(session: Session, paths: Iterable[Path]) -> None:
    settings.set_of_system(session, SETTING, sorted({*listed(session)} - {*map(str, paths)}))


def listed(session: Session) -> list[str]:
    return settings.fitting(session, SETTING, lambda stored: [str(each) for each in stored], [])
