"""How a chat is answered: what a chat and a preset share. A value, used by services and pages.

A chat keeps a copy of its preset's, so that nothing of it depends on the preset later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import InvalidInput
from app.language import Said
from app.services.parameters import checked_parameters, checked_system_prompt, fitting_parameters
from store.conversations import Setup
from store.tables import Conversation, Preset, WhenFull


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSetup:
    """How a chat is answered. Make it by `checked` where it comes from a person or a file."""

    preset_id: str | None = None
    model_id: str | None = None                                     # None: whichever is chosen
    system_prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)     # see app.services.parameters
    when_full: WhenFull = WhenFull.LEAVE_OUT

    @classmethod
    def of(cls, row: Conversation | Preset) -> ChatSetup:
        return cls(
            preset_id=row.id if isinstance(row, Preset) else row.preset_id,
            model_id=row.model_id,
            system_prompt=row.system_prompt,
            parameters=fitting_parameters(row.parameters),
            when_full=row.when_full,
        )

    def checked(self) -> ChatSetup:
        """Raises InvalidInput, whose `field` says of what."""
        return ChatSetup(
            preset_id=self.preset_id,
            model_id=self.model_id,
            system_prompt=checked_system_prompt(self.system_prompt),
            parameters=checked_parameters(self.parameters),
            when_full=_when_full(self.when_full),
        )

    @property
    def is_plain(self) -> bool:
        """Nothing differs from what the model does by itself."""
        return not self.system_prompt and not self.parameters and self.when_full is WhenFull.LEAVE_OUT

    def columns(self) -> Setup:
        return {
            "preset_id": self.preset_id,
            "model_id": self.model_id,
            "system_prompt": self.system_prompt,
            "parameters": dict(self.parameters),
            "when_full": self.when_full,
        }


def _when_full(value: object) -> WhenFull:
    try:
        return WhenFull(str(value))
    except ValueError as error:
        raise InvalidInput(Said("error-when-full"), field="when_full") from error
