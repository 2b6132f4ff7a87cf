"""What `tokenizer_config.json` of a folder of safetensors says, in the shapes that its writers have had. Pure, from any
thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def spelling_of(token: Any) -> str:
    """Old files write a token as its settings. "" for what is none."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def template_in(config: Mapping[str, Any]) -> str | None:
    """The chat template: a text, or several under names."""
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None
