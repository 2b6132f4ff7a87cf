"""A model's card from the hub, made ready to be read: what people wrote for a web page becomes plain Markdown.

The renderer shows HTML as text, which is safe and ugly: what can be said in Markdown is, and the rest is left out, but
for code. Addresses within the repository become whole ones, so that none leads to this server. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_CHARS = 60_000          # of what is shown: some cards hold whole papers

_FRONT = re.compile(r"\A\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_CODE = re.compile(r"(^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\2[`~]*[ \t]*$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SILENT = re.compile(
    r"<(script|style|iframe|object|video|audio|svg|form)\b[^>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE
)
_LINK = re.compile(r"""<a\b[^>]*?href\s*=\s*["']([^"']*)["'][^>]*>(.*?)</a\s*>""", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1\s*>", re.DOTALL | re.IGNORECASE)
_BOLD = re.compile(r"<(b|strong)\b[^>]*>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/tr|/li|/summary|hr)\b[^>]*>", re.IGNORECASE)
_ITEM = re.compile(r"<li\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]*)?/?>")
_TARGET = re.compile(r"(\]\()\s*<?([^)\s>]+)")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_BADGES = re.compile(r"\[\s*\]\([^)]*\)")
_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def readable(card: str, repo: str, endpoint: str, commit_sha: str) -> str:
    text = _FRONT.sub("", card.replace("\r\n", "\n"), count=1)
    base = f"{endpoint}/{repo}/blob/{commit_sha}/"
    parts = _CODE.split(text)
    # Of the pattern's two groups the first is the code itself, the second its fence.
    told = [part if at % 3 == 1 else _plain(part, base) for at, part in enumerate(parts) if at % 3 != 2]
    return _BLANKS.sub("\n\n", "".join(told)).strip()[:MAX_CHARS]


def _plain(text: str, base: str) -> str:
    text = _COMMENT.sub("", text)
    text = _SILENT.sub("", text)
    text = _LINK.sub(lambda found: _linked(found[1], found[2]), text)
    text = _HEADING.sub(lambda found: f"\n\n{'#' * int(found[1])} {_in_a_line(found[2])}\n\n", text)
    text = _BOLD.sub(lambda found: f"**{found[2].strip()}**" if found[2].strip() else "", text)
    text = _ITEM.sub("\n- ", text)
    text = _BREAK.sub("\n", text)
    text = _TAG.sub("", text)
    text = _IMAGE.sub("", text)         # it would not be fetched; what is left of one is a line of noise
    text = _BADGES.sub("", text)
    return _TARGET.sub(_within(base), text)


def _linked(address: str, inner: str) -> str:
    words = _in_a_line(_TAG.sub("", inner))
    return f"[{words}]({address})" if words and address else words


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


def _within(base: str) -> Callable[[re.Match[str]], str]:
    def whole(found: re.Match[str]) -> str:
        target = found[2]
        return found[0] if _ALONE.match(target) else f"{found[1]}{base}{target.lstrip('./')}"

    return whole
