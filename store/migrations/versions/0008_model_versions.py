"""Models have versions beside the one in use, settings of their own, an origin, and a chat template that was looked at.

Those that are known already have none of it: their templates are looked at when they are next loaded or shown.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("origin", "template", "settings"):
        op.add_column("model", sa.Column(name, sa.JSON(), nullable=False, server_default="{}"))
    op.create_table(
        "model_version",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_model_version_model_id", "model_version", ["model_id"])
