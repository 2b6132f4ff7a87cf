"""A model as the browser's own menus show it: name, what it is, whether it is ready. For the
thread, and for the picker what both show alike.
"""

from __future__ import annotations

from app.services.engines import ModelState
from app.services.models import ModelEntry
from ui.language import t

DOTS = {ModelState.READY: "", ModelState.LOADING: "hot", ModelState.DRAINING: "hot", ModelState.FAILED: "bad"}


def dot_kind(entry: ModelEntry) -> str:
    """The class of the dot that says how it does."""
    if entry.is_elsewhere:
        return "bad" if entry.is_failing else ""
    return DOTS.get(entry.status.state, "idle")


def elsewhere_state(entry: ModelEntry) -> str:
    return t("picker-elsewhere-failing" if entry.is_failing else "picker-elsewhere-ready")


def model_choice(entry: ModelEntry) -> dict[str, str]:
    if entry.is_elsewhere:
        where = t("picker-elsewhere", connections=", ".join(entry.connections))
        about = f"{where}. {elsewhere_state(entry)}"
    else:
        kind = t("chat-model-starter") if entry.model.is_starter else entry.model.quantisation
        state = t(f"chat-model-{entry.status.state.value.replace('_', '-')}")
        about = ". ".join(filter(None, (kind, state)))
    return {"id": entry.model.id, "name": entry.model.name, "about": about, "dot": dot_kind(entry)}
