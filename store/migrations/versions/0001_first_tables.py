"""The first tables, and the search index with the triggers that keep it.

A migration is frozen: it never imports `store.tables`, which moves on. Its number becomes the file's `user_version`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# The index keeps its own copy of the text under an explicit integer key: `message` has none, and VACUUM may renumber
# implicit ones. A message enters when it is no longer being written, so saving an answer twice a second costs the index
# nothing.
SEARCH = (
    """
    CREATE TABLE search_document (
        id INTEGER PRIMARY KEY,
        conversation_id VARCHAR NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        message_id VARCHAR UNIQUE REFERENCES message (id) ON DELETE CASCADE  -- NULL: the title
    )
    """,
    "CREATE INDEX ix_search_document_conversation_id ON search_document (conversation_id)",
    "CREATE VIRTUAL TABLE search_fts USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')",
    """
    CREATE TRIGGER search_message_insert AFTER INSERT ON message WHEN new.status <> 'streaming' BEGIN
        INSERT INTO search_document (conversation_id, message_id) VALUES (new.conversation_id, new.id);
        INSERT INTO search_fts (rowid, text) SELECT id, new.content FROM search_document WHERE message_id = new.id;
    END
    """,
    """
    CREATE TRIGGER search_message_update AFTER UPDATE OF content, status ON message WHEN new.status <> 'streaming' BEGIN
        INSERT OR IGNORE INTO search_document (conversation_id, message_id) VALUES (new.conversation_id, new.id);
        INSERT OR REPLACE INTO search_fts (rowid, text)
            SELECT id, new.content FROM search_document WHERE message_id = new.id;
    END
    """,
    """
    CREATE TRIGGER search_message_delete BEFORE DELETE ON message BEGIN
        DELETE FROM search_fts WHERE rowid = (SELECT id FROM search_document WHERE message_id = old.id);
        DELETE FROM search_document WHERE message_id = old.id;
    END
    """,
    """
    CREATE TRIGGER search_title_insert AFTER INSERT ON conversation BEGIN
        INSERT INTO search_document (conversation_id) VALUES (new.id);
        INSERT INTO search_fts (rowid, text)
            SELECT id, new.title FROM search_document WHERE conversation_id = new.id AND message_id IS NULL;
    END
    """,
    """
    CREATE TRIGGER search_title_update AFTER UPDATE OF title ON conversation WHEN old.title <> new.title BEGIN
        INSERT OR REPLACE INTO search_fts (rowid, text)
            SELECT id, new.title FROM search_document WHERE conversation_id = new.id AND message_id IS NULL;
    END
    """,
    """
    CREATE TRIGGER search_title_delete BEFORE DELETE ON conversation BEGIN
        DELETE FROM search_fts WHERE rowid IN (SELECT id FROM search_document WHERE conversation_id = old.id);
        DELETE FROM search_document WHERE conversation_id = old.id;
    END
    """,
)


def upgrade() -> None:
    people()
    conversations()
    models_and_settings()
    for statement in SEARCH:
        op.execute(statement)


def people() -> None:
    op.create_table(
        "user",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_index("ix_user_name_key", "user", ["name_key"], unique=True)
    op.create_table(
        "login_session",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("user_agent", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
    )
    op.create_index("ix_login_session_user_id", "login_session", ["user_id"])
    op.create_index("ix_login_session_token_hash", "login_session", ["token_hash"], unique=True)
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("key_hash", sa.String(), nullable=False),
        sa.Column("hint", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
    )
    op.create_index("ix_api_key_user_id", "api_key", ["user_id"])
    op.create_index("ix_api_key_key_hash", "api_key", ["key_hash"], unique=True)


def conversations() -> None:
    op.create_table(
        "conversation",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("current_message_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
    )
    op.create_index("ix_conversation_user_updated", "conversation", ["user_id", "updated_at"])
    op.create_table(
        "message",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("conversation_id", sa.String(), sa.ForeignKey("conversation.id", ondelete="CASCADE"), nullable=False),
        sa.Column("parent_id", sa.String(), sa.ForeignKey("message.id"), nullable=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("reasoning", sa.String(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("model_version", sa.String(), nullable=True),
        sa.Column("finish_reason", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("time_to_first_token_s", sa.Float(), nullable=True),
        sa.Column("duration_s", sa.Float(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_index("ix_message_conversation_id", "message", ["conversation_id"])
    op.create_index("ix_message_parent_id", "message", ["parent_id"])
    op.create_index("ix_message_status", "message", ["status"])


def models_and_settings() -> None:
    op.create_table(
        "model",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("file_format", sa.String(), nullable=False),
        sa.Column("architecture", sa.String(), nullable=False),
        sa.Column("quantisation", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("modified_ns", sa.Integer(), nullable=False),
        sa.Column("context_tokens", sa.Integer(), nullable=False),
        sa.Column("is_starter", sa.Boolean(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("added_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "user_setting",
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
    )
    op.create_table(
        "system_setting",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
    )
