"""Chats: where each lies, and the tree of its messages.

Text that people search (titles, finished messages) is mirrored into the FTS5 table `search_fts` by triggers of the
first migration.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from store.tables.columns import UtcDateTime, json_column, new_id, now, stored_as_value


class MessageRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    STREAMING = "streaming"          # being written; after a crash such rows become INTERRUPTED
    COMPLETE = "complete"
    STOPPED = "stopped"              # by its reader
    INTERRUPTED = "interrupted"      # by a crash or an unload: offer Continue
    FAILED = "failed"                # `error` says why


class TitleSource(StrEnum):
    WORDS = "words"                  # the first words of the chat, until a model finds better ones
    MODEL = "model"
    PERSON = "person"                # written by hand, or come with the chat from elsewhere: never to be replaced


class WhenFull(StrEnum):
    """What becomes of a chat's oldest turns when the model's window cannot hold them."""

    LEAVE_OUT = "leave_out"
    SUMMARISE = "summarise"


class Folder(SQLModel, table=True):
    """Of chats, and of other folders, one level deep."""

    __tablename__ = "folder"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    parent_id: str | None = Field(default=None, foreign_key="folder.id", ondelete="SET NULL")
    name: str
    position: int = 0                                     # among its siblings
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Conversation(SQLModel, table=True):
    __tablename__ = "conversation"
    __table_args__ = (Index("ix_conversation_user_updated", "user_id", "updated_at"),)
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE")
    title: str = ""
    model_id: str | None = None                           # last used here; not a foreign key: models come and go
    current_message_id: str | None = None                 # the leaf of the branch that is shown
    when_full: WhenFull = Field(default=WhenFull.LEAVE_OUT, sa_type=stored_as_value(WhenFull))
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)   # undo until it is purged
    archived_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # out of the list, in the archive
    folder_id: str | None = Field(default=None, foreign_key="folder.id", index=True)
    pin_position: int | None = None                       # among the pinned; None: it is not pinned
    title_source: TitleSource = Field(default=TitleSource.WORDS, sa_type=stored_as_value(TitleSource))
    preset_id: str | None = None                          # it was set up from; what counts are the copies that follow
    system_prompt: str = ""
    # What differs from the model's own: see `app.services.parameters`.
    parameters: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(dict, "parameters of a chat"))


class Tag(SQLModel, table=True):
    __tablename__ = "tag"
    __table_args__ = (Index("ix_tag_user_name", "user_id", "name_key", unique=True),)
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE")
    name: str                                             # as written
    name_key: str                                         # NFKC, casefolded: what makes two the same


class ConversationTag(SQLModel, table=True):
    __tablename__ = "conversation_tag"
    conversation_id: str = Field(foreign_key="conversation.id", primary_key=True, ondelete="CASCADE")
    tag_id: str = Field(foreign_key="tag.id", primary_key=True, index=True, ondelete="CASCADE")


class Message(SQLModel, table=True):
    """A node of a conversation's tree: edits and regenerations are siblings under one parent."""

    __tablename__ = "message"
    __table_args__ = (Index("ix_message_deleted_at", "deleted_at", sqlite_where=text("deleted_at IS NOT NULL")),)
    id: str = Field(default_factory=new_id, primary_key=True)
    conversation_id: str = Field(foreign_key="conversation.id", index=True, ondelete="CASCADE")
    # No cascade here: it would recurse once a generation, and SQLite stops at 1000. A tree goes with its conversation.
    parent_id: str | None = Field(default=None, foreign_key="message.id", index=True)
    role: MessageRole = Field(sa_type=stored_as_value(MessageRole))
    content: str = ""
    reasoning: str = ""
    status: MessageStatus = Field(default=MessageStatus.COMPLETE, index=True, sa_type=stored_as_value(MessageStatus))
    error: str | None = None
    model_id: str | None = None
    model_version: str | None = None
    connection: str = ""                                  # its name, where the answer came from a server elsewhere
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    time_to_first_token_s: float | None = None
    duration_s: float | None = None
    reasoning_s: float | None = None                      # of duration_s, thinking before the first word
    is_edited: bool = False                               # an answer's text, by its reader
    num_left_out: int = 0                                 # of the chat's oldest messages, when this answer was made
    first_message_id: str | None = None                   # the oldest that it was made from; None: all of them
    summary: str = ""                                     # of the branch down to here, made by a model for later ones
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)   # with all below; undo until purged
