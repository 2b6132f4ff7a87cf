"""What a person keeps for chats to come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from store.tables.chats import WhenFull
from store.tables.columns import UtcDateTime, json_column, new_id, now, stored_as_value


class Preset(SQLModel, table=True):
    """A way to set up chats. A chat takes a copy: changing or deleting the preset changes no chat."""

    __tablename__ = "preset"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    name: str
    system_prompt: str = ""
    model_id: str | None = None                           # None: whichever is chosen
    parameters: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(dict, "parameters of a preset"))
    when_full: WhenFull = Field(default=WhenFull.LEAVE_OUT, sa_type=stored_as_value(WhenFull))
    is_default: bool = False                              # new chats begin with it; one of a person's at the most
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Prompt(SQLModel, table=True):
    """Words that are said often, called up by /command. They may hold {{variables}}: see `app.services.prompts`."""

    __tablename__ = "prompt"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    command: str                                          # without the slash; once among a person's undeleted ones
    name: str
    content: str
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
