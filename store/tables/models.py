"""Language models on this machine, and those on their way to it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlmodel import Field, SQLModel

from store.tables.columns import UtcDateTime, json_column, new_id, now, stored_as_value

ELSEWHERE: Final = "elsewhere"      # in place of a file's format: a server has it; see `store.tables.connections`


class DownloadState(StrEnum):
    """Of DESIGN's chain, what a download goes through. ABSENT is no row at all, or ON_DISK one that was removed."""

    QUEUED = "queued"                # waits for its turn, or for the hours in which downloads may run
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"          # all bytes are here; their hashes are computed
    ON_DISK = "on_disk"              # whole, checked, and known as a model
    PAUSED = "paused"                # by a person, or as the disk is full; `reason` says which
    FAILED = "failed"                # `reason` says why, and what to do


class Model(SQLModel, table=True):
    """A language model on this machine's disk, or of a server elsewhere. A file is only referenced, unless it lies in
    the models folder.
    """

    __tablename__ = "model"
    id: str = Field(primary_key=True)                     # what API clients say: "smollm2-135m-instruct"
    name: str                                             # for people: "SmolLM2 135M Instruct"
    path: str                                             # "" of one elsewhere, which has no file here
    file_format: str                                      # "gguf", "safetensors", or ELSEWHERE
    architecture: str = ""
    quantisation: str = ""
    size_bytes: int
    modified_ns: int                                      # of the file: a changed file is another version
    context_tokens: int = 0                               # what the model was trained for
    # LoRA adapters laid over it: {path, scale, size_bytes, modified_ns} of each.
    adapters: list[dict[str, Any]] = Field(
        default_factory=list, sa_column=json_column(list, "adapters of a model", keys=("path", "scale", "size_bytes"))
    )
    embeds: bool = False                                  # it makes vectors of texts, and cannot chat
    # Where it came from: repository and commit at the hub; "" where it was brought as a file.
    repo: str = ""
    commit_sha: str = ""
    # All files of it, where there are several or their hashes are known: {path, size_bytes, sha256} of each.
    files: list[dict[str, Any]] = Field(
        default_factory=list, sa_column=json_column(list, "files of a model", keys=("path",))
    )
    is_starter: bool = False
    is_default: bool = False
    added_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    # Another app's model that is used in place, or one of a hub: {app, name, pin}. See `app.services.model_origin`.
    origin: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(dict, "origin of a model"))
    # What its chat template can and cannot: see `engine.template_doctor.TemplateReport`. Empty: not looked at yet.
    template: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(dict, "template of a model"))
    # How an admin wants it run: see `app.services.model_settings`. Kept when the file changes.
    settings: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(dict, "settings of a model"))

    @property
    def is_elsewhere(self) -> bool:
        return self.file_format == ELSEWHERE


class ModelVersion(SQLModel, table=True):
    """A version of a model that is installed here; the one in use stands in the model's own row too.

    None for a model that has had only one.
    """

    __tablename__ = "model_version"
    id: str = Field(default_factory=new_id, primary_key=True)
    model_id: str = Field(foreign_key="model.id", index=True, ondelete="CASCADE")
    facts: dict[str, Any] = Field(sa_column=json_column(dict, "facts of a version"))    # see `store.models.FACTS`
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
    # Each: name, size_bytes, sha256, git_oid
    files: list[dict[str, Any]] = Field(sa_column=json_column(list, "files of a download", keys=("name", "size_bytes")))
    total_bytes: int
    done_bytes: int = 0                                   # when it last stopped; while it runs, memory knows better
    state: DownloadState = Field(default=DownloadState.QUEUED, index=True, sa_type=stored_as_value(DownloadState))
    reason: str = ""
    model_id: str | None = None                           # once it is ON_DISK
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
