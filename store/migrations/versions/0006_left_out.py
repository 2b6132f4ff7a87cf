"""What an answer did not see of its chat, summaries of it, deleted messages, edited answers, and how long one thought.

A deleted message leaves the search index at once, and comes back to it with Undo.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SEARCH = (
    """
    CREATE TRIGGER search_message_hide AFTER UPDATE OF deleted_at ON message WHEN new.deleted_at IS NOT NULL BEGIN
        DELETE FROM search_fts WHERE rowid = (SELECT id FROM search_document WHERE message_id = new.id);
        DELETE FROM search_document WHERE message_id = new.id;
    END
    """,
    """
    CREATE TRIGGER search_message_show AFTER UPDATE OF deleted_at ON message
    WHEN new.deleted_at IS NULL AND old.deleted_at IS NOT NULL AND new.status <> 'streaming' BEGIN
        INSERT OR IGNORE INTO search_document (conversation_id, message_id) VALUES (new.conversation_id, new.id);
        INSERT OR REPLACE INTO search_fts (rowid, text)
            SELECT id, new.content FROM search_document WHERE message_id = new.id;
    END
    """,
)


def upgrade() -> None:
    for column in (
        sa.Column("reasoning_s", sa.Float(), nullable=True),
        sa.Column("is_edited", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("num_left_out", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("first_message_id", sa.String(), nullable=True),
        sa.Column("summary", sa.String(), nullable=False, server_default=""),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
    ):
        op.add_column("message", column)
    op.create_index("ix_message_deleted_at", "message", ["deleted_at"], sqlite_where=sa.text("deleted_at IS NOT NULL"))
    for statement in SEARCH:
        op.execute(statement)
