"""Which models embed texts rather than write them: those stand in no chat's list.

The files of models that are known already are not looked at here. Until now none that embeds could be loaded.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("model", sa.Column("embeds", sa.Boolean(), nullable=False, server_default=sa.false()))
