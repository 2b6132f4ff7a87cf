"""Who is here, how they come in, and what has been set: by each, and by an admin for everyone."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel

from store.tables.columns import UtcDateTime, json_column, new_id, now, stored_as_value


class UserRole(StrEnum):
    ADMIN = "admin"
    USER = "user"


class User(SQLModel, table=True):
    __tablename__ = "user"
    id: str = Field(default_factory=new_id, primary_key=True)
    name: str                                             # as written
    name_key: str = Field(unique=True, index=True)        # NFKC, casefolded: what sign-in compares
    password_hash: str
    role: UserRole = Field(default=UserRole.USER, sa_type=stored_as_value(UserRole))
    is_active: bool = True
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    last_seen_at: datetime | None = Field(default=None, sa_type=UtcDateTime)      # to a few minutes


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
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)      # to a few minutes


class UserSetting(SQLModel, table=True):
    __tablename__ = "user_setting"
    user_id: str = Field(foreign_key="user.id", primary_key=True, ondelete="CASCADE")
    key: str = Field(primary_key=True)                    # "theme"
    value: Any = Field(sa_column=json_column(None, "a setting"))


class SystemSetting(SQLModel, table=True):
    __tablename__ = "system_setting"
    key: str = Field(primary_key=True)
    value: Any = Field(sa_column=json_column(None, "a setting"))
