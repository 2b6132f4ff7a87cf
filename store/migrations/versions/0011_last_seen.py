"""When each person was last here, and when each API key was last used: for admins, who look after both.

Of people who are here already the last sign-in is known; of keys nothing is.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("user", sa.Column("last_seen_at", sa.DateTime(), nullable=True))
    op.add_column("api_key", sa.Column("last_used_at", sa.DateTime(), nullable=True))
    op.execute(
        "UPDATE user SET last_seen_at ="
        " (SELECT max(created_at) FROM login_session WHERE login_session.user_id = user.id)"
    )
