"""Servers elsewhere, and which models they lead to."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel

from store.tables.columns import UtcDateTime, new_id, now


class Connection(SQLModel, table=True):
    """A server with OpenAI's API, as an admin entered it. Its secrets are sealed: see `app.vault`."""

    __tablename__ = "connection"
    id: str = Field(default_factory=new_id, primary_key=True)
    name: str                                             # for people; answers that came over it are marked with it
    name_key: str = Field(unique=True, index=True)        # NFKC, casefolded: what makes two the same
    base_url: str
    sealed_key: str = ""                                  # "": there is none
    sealed_headers: str = ""                              # a JSON object
    session_header: str = ""                              # by which a conversation stays where its cache is; "": none
    kind: str = ""                                        # see `engine.remote.endpoint.ServerKind`
    has_tokenizer: bool = False                           # a route that counts tokens was found
    is_on: bool = True
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    answered_at: datetime | None = Field(default=None, sa_type=UtcDateTime)     # last; a few minutes late, while in use
    failed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)       # and has not answered since
    problem: str = ""                                     # what it was then: see `app.language.kept`
    latency_s: float | None = None                        # of the list of its models, when it was last tested


class ConnectionModel(SQLModel, table=True):
    """A connection leads to a model. The same model over several: they stand in for each other, the oldest first."""

    __tablename__ = "connection_model"
    connection_id: str = Field(foreign_key="connection.id", primary_key=True, ondelete="CASCADE")
    model_id: str = Field(foreign_key="model.id", primary_key=True, index=True, ondelete="CASCADE")
    remote_id: str                                        # what the server calls it
    context_tokens: int = 0                               # of one conversation; 0: it does not say
    calls_tools: bool | None = None                       # likewise None
