"""Over a composer: why the model that a chat names cannot be asked, and who may be instead. Used by the chat page.

Nothing is sent to another model before a person has chosen one here, or in the picker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.errors import ModelNotFound
from app.services.absent_models import Absence
from app.services.models import ModelEntry
from ui.components.elements import button, icon, tag
from ui.language import in_words, t, told


@dataclass(frozen=True, slots=True)
class AbsentActions:
    use: Callable[[str], Awaitable[None]]       # the model of this id, from now on
    others: Callable[[], None]                  # show all of them
    look_again: Callable[[], None]              # one was refused: somebody else has switched it off, or removed it


class AbsentLine:
    def __init__(self, actions: AbsentActions) -> None:
        self._actions = actions
        self._shown: object = None
        self._is_refused = False        # something was, whose reason the composer tells until it stands here
        self._line = tag("div", "nk-absent", role="status")
        self._line.set_visibility(False)

    def show(self, absence: Absence | None, instead: ModelEntry | None) -> str | None:
        """`instead`: the model that is offered by its name; None where there is no other.

        What the composer below is to say now, where that changes: nothing where one was absent and now none is, for
        what was refused is past; and no reason a second time.
        """
        now = (absence, instead and (instead.model.id, instead.model.name))
        if now == self._shown:
            return None
        was_absent, was_refused = bool(self._line.visible), self._is_refused
        self._shown, self._is_refused = now, False
        self._line.clear()
        self._line.set_visibility(absence is not None)
        if absence is None:
            return "" if was_absent else None
        with self._line:
            icon("circle-alert", 16)
            tag("span", "nk-grow", in_words(absence.reason))
            if instead is not None:
                model = instead.model
                with tag("span", "nk-row"):
                    button(t("absent-use", model=model.name), "nk-btn-quiet nk-btn-sm").on(
                        "click", lambda: self._actions.use(model.id), args=[]
                    )
                    button(t("absent-others"), "nk-btn-ghost nk-btn-sm").on("click", self._actions.others, args=[])
        return t("absent-unsent") if was_refused else None

    def in_words(self, error: Exception) -> str:
        """Of a refusal, for the composer below. One for the model is said here already, or looked into now."""
        if not isinstance(error, ModelNotFound):
            return told(error)
        self._actions.look_again()
        if self._line.visible:
            return t("absent-unsent")
        self._is_refused = True
        return told(error)
