"""Folders, pins, the archive and tags; who wrote a title; and titles in a search index of their own.

Titles leave `search_fts`: among hundreds of thousands of texts, the few titles that match were found by looking at all.
Titles that are here already may have been written by a person, so none of them is ever replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# By hand where a column refers to another table: SQLite takes that only inside ADD COLUMN.
COLUMNS = (
    "ALTER TABLE conversation ADD COLUMN archived_at DATETIME",
    "ALTER TABLE conversation ADD COLUMN folder_id VARCHAR REFERENCES folder (id)",
    "ALTER TABLE conversation ADD COLUMN pin_position INTEGER",
    "ALTER TABLE conversation ADD COLUMN title_source VARCHAR(16) NOT NULL DEFAULT 'person'",
    "CREATE INDEX ix_conversation_folder_id ON conversation (folder_id)",
)

TITLES = (
    "DROP TRIGGER search_title_insert",
    "DROP TRIGGER search_title_update",
    "DROP TRIGGER search_title_delete",
    """
    CREATE VIRTUAL TABLE search_titles
        USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')
    """,
    """
    INSERT INTO search_titles (rowid, text)
        SELECT search_document.id, conversation.title
        FROM search_document JOIN conversation ON conversation.id = search_document.conversation_id
        WHERE search_document.message_id IS NULL
    """,
    "DELETE FROM search_fts WHERE rowid IN (SELECT id FROM search_document WHERE message_id IS NULL)",
    """
    CREATE TRIGGER search_title_insert AFTER INSERT ON conversation BEGIN
        INSERT INTO search_document (conversation_id) VALUES (new.id);
        INSERT INTO search_titles (rowid, text)
            SELECT id, new.title FROM search_document WHERE conversation_id = new.id AND message_id IS NULL;
    END
    """,
    """
    CREATE TRIGGER search_title_update AFTER UPDATE OF title ON conversation WHEN old.title <> new.title BEGIN
        INSERT OR REPLACE INTO search_titles (rowid, text)
            SELECT id, new.title FROM search_document WHERE conversation_id = new.id AND message_id IS NULL;
    END
    """,
    """
    CREATE TRIGGER search_title_delete BEFORE DELETE ON conversation BEGIN
        DELETE FROM search_titles WHERE rowid IN
            (SELECT id FROM search_document WHERE conversation_id = old.id AND message_id IS NULL);
        DELETE FROM search_fts WHERE rowid IN
            (SELECT id FROM search_document WHERE conversation_id = old.id AND message_id IS NOT NULL);
        DELETE FROM search_document WHERE conversation_id = old.id;
    END
    """,
)


def upgrade() -> None:
    op.create_table(
        "folder",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
        sa.Column("parent_id", sa.String(), sa.ForeignKey("folder.id", ondelete="SET NULL"), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_index("ix_folder_user_id", "folder", ["user_id"])
    op.create_table(
        "tag",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
    )
    op.create_index("ix_tag_user_name", "tag", ["user_id", "name_key"], unique=True)
    op.create_table(
        "conversation_tag",
        sa.Column(
            "conversation_id", sa.String(), sa.ForeignKey("conversation.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("tag_id", sa.String(), sa.ForeignKey("tag.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("ix_conversation_tag_tag_id", "conversation_tag", ["tag_id"])
    for statement in (*COLUMNS, *TITLES):
        op.execute(statement)
