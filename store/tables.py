"""The tables. "Model" here is a language model. Every row of a person's hangs on `user.id` and goes with it.

Text that people search (titles, finished messages) is mirrored into the FTS5 table `search_fts` by triggers of the
first migration.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import JSON, Column, DateTime, Enum, Index, TypeDecorator, text
from sqlalchemy.engine import Dialect
from sqlmodel import Field, SQLModel


class UtcDateTime(TypeDecorator[datetime]):
    """SQLite keeps no time zone: refuse naive times on the way in, give UTC on the way out."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("naive datetime: use datetime.now(UTC)")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


def stored_as_value(kind: type[StrEnum]) -> Any:
    """A text column that keeps "streaming", not the member's name: triggers, and people with `sqlite3`, read it."""
    return Enum(kind, native_enum=False, length=16, values_callable=lambda kinds: [member.value for member in kinds])


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return uuid4().hex


class UserRole(StrEnum):
    ADMIN = "admin"
    USER = "user"


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


class User(SQLModel, table=True):
    __tablename__ = "user"
    id: str = Field(default_factory=new_id, primary_key=True)
    name: str                                             # as written
    name_key: str = Field(unique=True, index=True)        # NFKC, casefolded: what sign-in compares
    password_hash: str
    role: UserRole = Field(default=UserRole.USER, sa_type=stored_as_value(UserRole))
    is_active: bool = True
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class LoginSession(SQLModel, table=True):
    """A signed-in browser. Only the token's SHA-256 is kept."""

    __tablename__ = "login_session"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    token_hash: str = Field(unique=True, index=True)
    user_agent: str = ""
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)


class ApiKey(SQLModel, table=True):
    """`sk-…`, shown once; only its SHA-256 is kept."""

    __tablename__ = "api_key"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    name: str
    key_hash: str = Field(unique=True, index=True)
    hint: str                                             # first and last characters, to tell keys apart
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


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
    parameters: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


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


class DownloadState(StrEnum):
    """Of DESIGN's chain, what a download goes through. ABSENT is no row at all, or ON_DISK one that was removed."""

    QUEUED = "queued"                # waits for its turn, or for the hours in which downloads may run
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"          # all bytes are here; their hashes are computed
    ON_DISK = "on_disk"              # whole, checked, and known as a model
    PAUSED = "paused"                # by a person, or as the disk is full; `reason` says which
    FAILED = "failed"                # `reason` says why, and what to do


class Model(SQLModel, table=True):
    """A language model on this machine's disk. The file is only referenced, unless it lies in the models folder."""

    __tablename__ = "model"
    id: str = Field(primary_key=True)                     # what API clients say: "smollm2-135m-instruct"
    name: str                                             # for people: "SmolLM2 135M Instruct"
    path: str
    file_format: str                                      # "gguf", "safetensors"
    architecture: str = ""
    quantisation: str = ""
    size_bytes: int
    modified_ns: int                                      # of the file: a changed file is another version
    context_tokens: int = 0                               # what the model was trained for
    # LoRA adapters laid over it: {path, scale, size_bytes, modified_ns} of each.
    adapters: list[dict[str, Any]] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    embeds: bool = False                                  # it makes vectors of texts, and cannot chat
    # Where it came from: repository and commit at the hub; "" where it was brought as a file.
    repo: str = ""
    commit_sha: str = ""
    # All files of it, where there are several or their hashes are known: {path, size_bytes, sha256} of each.
    files: list[dict[str, Any]] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    is_starter: bool = False
    is_default: bool = False
    added_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    # Another app's model that is used in place, or one of a hub: {app, name, pin}. See `app.services.model_origin`.
    origin: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    # What its chat template can and cannot: see `engine.template_doctor.TemplateReport`. Empty: not looked at yet.
    template: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    # How an admin wants it run: see `app.services.model_settings`. Kept when the file changes.
    settings: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


class ModelVersion(SQLModel, table=True):
    """A version of a model that is installed here; the one in use stands in the model's own row too.

    None for a model that has had only one.
    """

    __tablename__ = "model_version"
    id: str = Field(default_factory=new_id, primary_key=True)
    model_id: str = Field(foreign_key="model.id", index=True, ondelete="CASCADE")
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))      # columns: see `store.models.FACTS`
    installed_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Download(SQLModel, table=True):
    """A model on its way from the hub. How far it has got stands beside its files, not here: see `app.hub.journal`."""

    __tablename__ = "download"
    id: str = Field(default_factory=new_id, primary_key=True)
    key: str = Field(unique=True, index=True)             # repository and first file: the same model is one download
    repo: str
    commit_sha: str
    label: str                                            # "Q4_K_M", or the file's name where it says none
    layout: str                                           # "own" or "shared": where its files go
    files: list[dict[str, Any]] = Field(sa_column=Column(JSON, nullable=False))     # name, size_bytes, sha256, git_oid
    total_bytes: int
    done_bytes: int = 0                                   # when it last stopped; while it runs, memory knows better
    state: DownloadState = Field(default=DownloadState.QUEUED, index=True, sa_type=stored_as_value(DownloadState))
    reason: str = ""
    model_id: str | None = None                           # once it is ON_DISK
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Preset(SQLModel, table=True):
    """A way to set up chats. A chat takes a copy: changing or deleting the preset changes no chat."""

    __tablename__ = "preset"
    id: str = Field(default_factory=new_id, primary_key=True)
    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE")
    name: str
    system_prompt: str = ""
    model_id: str | None = None                           # None: whichever is chosen
    parameters: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
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


class UserSetting(SQLModel, table=True):
    __tablename__ = "user_setting"
    user_id: str = Field(foreign_key="user.id", primary_key=True, ondelete="CASCADE")
    key: str = Field(primary_key=True)                    # "theme"
    value: Any = Field(sa_column=Column(JSON, nullable=False))


class SystemSetting(SQLModel, table=True):
    __tablename__ = "system_setting"
    key: str = Field(primary_key=True)
    value: Any = Field(sa_column=Column(JSON, nullable=False))
