"""Downloads from the hub outlive a restart, and a model knows where it came from and which files it has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "download",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("repo", sa.String(), nullable=False),
        sa.Column("commit_sha", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("layout", sa.String(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("total_bytes", sa.Integer(), nullable=False),
        sa.Column("done_bytes", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_download_key", "download", ["key"], unique=True)
    op.create_index("ix_download_state", "download", ["state"])
    op.add_column("model", sa.Column("repo", sa.String(), nullable=False, server_default=""))
    op.add_column("model", sa.Column("commit_sha", sa.String(), nullable=False, server_default=""))
    op.add_column("model", sa.Column("files", sa.JSON(), nullable=False, server_default="[]"))
