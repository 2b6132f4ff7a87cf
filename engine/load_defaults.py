"""What holds for every loaded model, whatever runs it."""

from __future__ import annotations

from typing import Final

DEFAULT_SYSTEM_PROMPT: Final = "You are a helpful assistant."
