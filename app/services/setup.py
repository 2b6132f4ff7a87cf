"""How a chat is answered: what a chat and a preset share. A value, used by services and pages.

A chat keeps a copy of its preset's, so that nothing of it depends on the preset later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import InvalidInput
from app.services.parameters import checked_parameters, checked_system_prompt
from store.conversations import Setup
from store.tables import Conversation, Overflow, Preset


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSetup:
    """How a chat is answered. Make it by `checked` where it comes from a person or a file."""

    preset_id: str | None = None
    model_id: str | None = None                                     # None: whichever is chosen
    system_prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)     # see app.services.parameters
    overflow: Overflow = Overflow.LEAVE_OUT

    @classmethod
    def of(cls, row: Conversation | Preset) -> ChatSetup:
        return cls(
            preset_id=row.id if isinstance(row, Preset) else row.preset_id,
            model_id=row.model_id,
            system_prompt=row.system_prompt,
            parameters=dict(row.parameters),
            overflow=row.overflow,
        )

    def checked(self) -> ChatSetup:
        """Raises InvalidInput, whose `field` says of what."""
        return ChatSetup(
            preset_id=self.preset_id,
            model_id=self.model_id,
            system_prompt=checked_system_prompt(self.system_prompt),
            parameters=checked_parameters(self.parameters),
            overflow=_overflow(self.overflow),
        )

    @property
    def is_plain(self) -> bool:
        """Nothing differs from what the model does by itself."""
        return not self.system_prompt and not self.parameters and self.overflow is Overflow.LEAVE_OUT

    def columns(self) -> Setup:
        return {
            "preset_id": self.preset_id,
            "model_id": self.model_id,
            "system_prompt": self.system_prompt,
            "parameters": dict(self.parameters),
            "overflow": self.overflow,
        }


def _overflow(value: object) -> Overflow:
    try:
        return Overflow(str(value))
    except ValueError as error:
        raise InvalidInput("Choose to leave out the oldest messages or to sum them up.", field="overflow") from error
