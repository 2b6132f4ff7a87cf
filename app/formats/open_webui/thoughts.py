"""Thoughts in Open WebUI's exports: a block in front of the text, that its pages fold. Pure functions."""

from __future__ import annotations

import html
import re
from typing import Any

from app.formats.values import text

_THOUGHT_BEGINS, _SUMMARY_ENDS, _THOUGHT_ENDS = '<details type="reasoning"', "</summary>", "</details>"
_QUOTE = re.compile(r"^(?:&gt;|>) ?", re.MULTILINE)


def thought_block(reasoning: str) -> str:
    if not reasoning:
        return ""
    quoted = "\n".join(f"> {line}" for line in reasoning.split("\n"))
    return (
        f'<details type="reasoning" done="true" duration="0">\n<summary>Thought for 0 seconds</summary>\n{quoted}\n'
        "</details>\n"
    )


def split_thoughts(content: str, known: Any) -> tuple[str, str]:
    """Where the thoughts are known, their block and nothing else; else what Open WebUI wrote where one thought."""
    if isinstance(known, str) and content.startswith(block := thought_block(text(known))):
        return content[len(block):], text(known)
    return _pull_thoughts(content)


def _pull_thoughts(content: str) -> tuple[str, str]:
    """By plain search: a pattern would take hours over a text that only begins blocks."""
    rest, thoughts, at = [], [], 0
    while (start := content.find(_THOUGHT_BEGINS, at)) != -1 and (end := content.find(_THOUGHT_ENDS, start)) != -1:
        summary = content.find(_SUMMARY_ENDS, start, end)
        if summary == -1 or content[max(start - 1, 0):start] not in ("", "\n"):
            rest.append(content[at:start + 1])
            at = start + 1
            continue
        rest.append(content[at:start])
        thoughts.append(_unquoted(content[summary + len(_SUMMARY_ENDS):end].strip("\n")))
        at = end + len(_THOUGHT_ENDS)
    if not thoughts:
        return content, ""
    return ("".join(rest) + content[at:]).strip("\n"), "\n\n".join(thoughts)


def _unquoted(block: str) -> str:
    """Newer versions escape what stands in the block, older ones do not."""
    return _QUOTE.sub("", html.unescape(block) if block.startswith("&gt;") else block)
