"""What was measured of models is kept, so that an upgrade that slows things down is seen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TEXTS = (
    "app_version", "machine", "model_id", "model_name", "model_version", "quantisation", "backend", "device",
    "kv_type", "prompts_hash", "prompts_source",
)
NUMBERS = ("gpu_layers", "num_threads", "context_tokens", "max_num_seqs", "num_prompts", "max_tokens", "repetitions")


def upgrade() -> None:
    op.create_table(
        "benchmark",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in TEXTS),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in NUMBERS),
        sa.Column("levels", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    for name in ("run_id", "created_at", "model_id"):
        op.create_index(f"ix_benchmark_{name}", "benchmark", [name])
