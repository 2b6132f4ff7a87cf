"""Models that are named, by chats and answers, and cannot be asked: what they are called, and why. For `ModelService`;
queries on a store thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session

from app.language import Said
from store import elsewhere, models, removed_models

MAX_ID_CHARS = 200


class AbsenceKind(StrEnum):
    OFF = "off"                 # elsewhere: switched off, or nothing leads there any more
    REMOVED = "removed"         # from this machine
    UNKNOWN = "unknown"         # it came with a chat from elsewhere, or by an address


@dataclass(frozen=True, slots=True)
class ModelName:
    """As people know it, also after it has gone."""

    name: str
    quantisation: str = ""


@dataclass(frozen=True, slots=True)
class Absence:
    """Of a model that was named, and cannot be asked: it is switched off, or gone."""

    name: str
    reason: Said
    kind: AbsenceKind = AbsenceKind.OFF

    @classmethod
    def of_unknown(cls, model_id: str) -> Absence:
        name = model_id[:MAX_ID_CHARS]
        return cls(name, Said("error-model-gone", model=name), AbsenceKind.UNKNOWN)


def names(session: Session) -> dict[str, ModelName]:
    """By id: of all that are known, or were."""
    removed = removed_models.by_id(session)
    return {model_id: ModelName(each.name, each.quantisation) for model_id, each in removed.items()} | {
        each.id: ModelName(each.name, each.quantisation) for each in models.list_all(session)
    }


def absences(session: Session) -> dict[str, Absence]:
    """By id: of those that are switched off, and of those that are gone."""
    known = {each.id for each in models.list_all(session)}
    gone = {
        model_id: Absence(each.name, Said("error-model-unled", model=each.name)) if each.is_elsewhere
        else Absence(each.name, Said("error-model-was-removed", model=each.name), AbsenceKind.REMOVED)
        for model_id, each in removed_models.by_id(session).items() if model_id not in known
    }
    return gone | switched_off(session)


def switched_off(session: Session) -> dict[str, Absence]:
    """By id: of those elsewhere that are known, and that no admin lets anybody ask."""
    led = elsewhere.unusable(session)
    is_allowed = elsewhere.is_allowed(session)
    found = {}
    for model in models.list_all(session):
        if model.id in led:
            connections = ", ".join(each.name for each in led[model.id])
            reason = Said("error-model-off-over", model=model.name, connections=connections)
            found[model.id] = Absence(model.name, reason if is_allowed else Said("error-model-off", model=model.name))
    return found
