"""A model as the browser's own menus show it: name, what it is, whether it is ready. Used by the thread."""

from __future__ import annotations

from app.services.engines import ModelState
from app.services.models import ModelEntry
from ui.language import t

_DOTS = {ModelState.READY: "", ModelState.LOADING: "hot", ModelState.DRAINING: "hot", ModelState.FAILED: "bad"}


def model_choice(entry: ModelEntry) -> dict[str, str]:
    if entry.is_elsewhere:
        where = t("picker-elsewhere", connections=", ".join(entry.connections))
        state = t("picker-elsewhere-failing" if entry.is_failing else "picker-elsewhere-ready")
        dot = "bad" if entry.is_failing else ""
        return {"id": entry.model.id, "name": entry.model.name, "about": f"{where}. {state}", "dot": dot}
    state = entry.status.state
    about = t("chat-model-starter") if entry.model.is_starter else entry.model.quantisation
    return {
        "id": entry.model.id,
        "name": entry.model.name,
        "about": ". ".join(filter(None, (about, t(f"chat-model-{state.value.replace('_', '-')}")))),
        "dot": _DOTS.get(state, "idle"),
    }
