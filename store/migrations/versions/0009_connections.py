"""Connections to servers elsewhere, the models that they lead to, and over which of them an answer came.

At first there is none, and nothing may be used of them before an admin says so.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "connection",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("base_url", sa.String(), nullable=False),
        sa.Column("sealed_key", sa.String(), nullable=False),
        sa.Column("sealed_headers", sa.String(), nullable=False),
        sa.Column("session_header", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("has_tokenizer", sa.Boolean(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("answered_at", sa.DateTime(), nullable=True),
        sa.Column("failed_at", sa.DateTime(), nullable=True),
        sa.Column("problem", sa.String(), nullable=False),
        sa.Column("latency_s", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_connection_name_key", "connection", ["name_key"], unique=True)
    op.create_table(
        "connection_model",
        sa.Column("connection_id", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("remote_id", sa.String(), nullable=False),
        sa.Column("context_tokens", sa.Integer(), nullable=False),
        sa.Column("calls_tools", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["connection_id"], ["connection.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("connection_id", "model_id"),
    )
    op.create_index("ix_connection_model_model_id", "connection_model", ["model_id"])
    op.add_column("message", sa.Column("connection", sa.String(), nullable=False, server_default=""))
