"""Presets and prompts, and what of them a chat keeps: its system prompt, its parameters, what to do when it is full.

Chats that are known already keep the model's own values.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversation", sa.Column("preset_id", sa.String(), nullable=True))
    op.add_column("conversation", sa.Column("system_prompt", sa.String(), nullable=False, server_default=""))
    op.add_column("conversation", sa.Column("parameters", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("conversation", sa.Column("when_full", sa.String(16), nullable=False, server_default="leave_out"))
    op.create_table(
        "preset",
        *_of_a_person(),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("system_prompt", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("when_full", sa.String(16), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        *_times(),
    )
    op.create_index("ix_preset_user_id", "preset", ["user_id"])
    op.create_table(
        "prompt",
        *_of_a_person(),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        *_times(),
    )
    op.create_index("ix_prompt_user_id", "prompt", ["user_id"])


def _of_a_person() -> tuple[sa.Column[str], ...]:
    return (
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("user_id", sa.String(), sa.ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
    )


def _times() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
    )
