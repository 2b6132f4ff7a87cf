"""A model may be a file with LoRA adapters laid over it. Those that are known have none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("model", sa.Column("adapters", sa.JSON(), nullable=False, server_default="[]"))
