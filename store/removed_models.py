"""The last known names of models that are gone, for the chats and answers that name them. A value of the installation's
settings. Called by `store.models`, `store.connections` and services, on a store thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import Session

from store import settings
from store.tables import Model

SETTING = "removed_models"      # of the system's settings
MOST = 1000                     # the newest; models of servers elsewhere come and go by hundreds


@dataclass(frozen=True, slots=True)
class RemovedModel:
    name: str
    quantisation: str
    is_elsewhere: bool


def note(session: Session, gone: Sequence[Model]) -> None:
    """Their rows are about to go."""
    if not gone:
        return
    kept = dict(_kept(session))
    for model in gone:
        kept.pop(model.id, None)        # it is the newest now
        kept[model.id] = asdict(RemovedModel(model.name, model.quantisation, model.is_elsewhere))
    settings.set_of_system(session, SETTING, dict(list(kept.items())[-MOST:]))


def by_id(session: Session) -> dict[str, RemovedModel]:
    """Some may be there again."""
    return {
        model_id: RemovedModel(each["name"], each["quantisation"], each.get("is_elsewhere") is True)
        for model_id, each in _kept(session).items()
    }


def _kept(session: Session) -> dict[str, dict[str, Any]]:
    """Without what is not of this form: it stands in a file that anybody may have edited."""
    kept = settings.get_of_system(session, SETTING, {})
    return {model_id: each for model_id, each in kept.items() if _is_good(each)} if isinstance(kept, dict) else {}


def _is_good(each: Any) -> bool:
    return isinstance(each, dict) and all(isinstance(each.get(key), str) for key in ("name", "quantisation"))
