"""Alembic's entry. `store.upgrade` gives it an open connection, whose transaction covers every pending migration."""

from __future__ import annotations

from alembic import context

from store import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.Message.metadata,
    render_as_batch=True,                  # SQLite alters a table by making it anew
)
with context.begin_transaction():
    context.run_migrations()
