"""Names that the writer and the reader of this format share."""

from __future__ import annotations

OURS = "inglenook"
COUNTS = ("cached_tokens",)
SPANS_S = ("time_to_first_token_s", "duration_s")
NAMES = ("model_version", "connection", "finish_reason")
