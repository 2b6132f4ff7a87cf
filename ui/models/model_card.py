"""A model's card from the hub, made ready to be read: what people wrote for a web page becomes plain Markdown.

The renderer shows HTML as text, which is safe and ugly: what can be said in Markdown is, and the rest is left out, but
for code. Addresses within the repository become whole ones, so that none leads to this server. Pure functions, whose
time grows with the length alone, whatever a stranger wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MAX_CHARS = 60_000          # of what is shown: some cards hold whole papers

_FRONT = re.compile(r"\A\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INLINE = re.compile(r"(`[^`\n]+`)")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s[^<>]*)?)/?>")
_HREF = re.compile(r"""\shref\s*=\s*["']?([^"'\s]+)""", re.IGNORECASE)
_TARGET = re.compile(r"(\]\()[ \t]{0,9}<?([^)\s>]{1,2000})")
_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\]\([^)\n]{0,2000}\)")
_BADGE = re.compile(r"\[\s{0,9}\]\([^)\n]{0,2000}\)")
_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")

_SILENT = frozenset({"script", "style", "iframe", "object", "video", "audio", "svg", "form"})     # and all in them
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_ENDS_LINE = frozenset({"br", "p", "div", "tr", "summary", "hr", "ul", "ol", "table", "center"})


def readable(card: str, repo: str, endpoint: str, commit_sha: str) -> str:
    text = _FRONT.sub("", card.replace("\r\n", "\n")[: 2 * MAX_CHARS], count=1)
    base = f"{endpoint}/{repo}/blob/{commit_sha}/"
    told = "".join(part if is_code else _plain(part, base) for part, is_code in _parts(text))
    return _BLANKS.sub("\n\n", told).strip()[:MAX_CHARS]


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """(text, whether it is a block of code), in order."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and (not fence or (found[1].startswith(fence) and not line.strip(" \t\n`~"))):
            if fence:
                lines.append(line)
            yield "".join(lines), bool(fence)
            lines, fence = ([], "") if fence else ([line], found[1])
        else:
            lines.append(line)
    yield "".join(lines), bool(fence)


def _plain(text: str, base: str) -> str:
    told = "".join(
        part if at % 2 else _without_tags(part) for at, part in enumerate(_INLINE.split(_without_comments(text)))
    )
    told = _IMAGE.sub("", told)         # it would not be fetched; what is left of one is a line of noise
    return _TARGET.sub(_within(base), _BADGE.sub("", told))


def _without_comments(text: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        kept.append(text[at:start])
        end = text.find("-->", start)
        at = len(text) if end < 0 else end + 3
    return "".join([*kept, text[at:]])


def _without_tags(text: str) -> str:
    told: list[str] = []
    silent, address, at = "", "", 0
    for found in _TAG.finditer(text):
        is_end, name = bool(found[1]), found[2].lower()
        if not silent:
            told.append(text[at : found.start()])
        at = found.end()
        if silent:
            silent = "" if is_end and name == silent else silent
        elif name in _SILENT:
            silent = "" if is_end else name
        elif name == "a":
            address, mark = _link(is_end, address, found[3])
            told.append(mark)
        else:
            told.append(_mark(name, is_end))
    if not silent:
        told.append(text[at:])
    return "".join(told)


def _link(is_end: bool, address: str, attributes: str) -> tuple[str, str]:
    """(the address of what is open now, what is written)"""
    if is_end:
        return "", f"]({address})" if address else ""
    href = _HREF.search(attributes)
    return (href[1], "[") if href and not address else (address, "")


def _mark(name: str, is_end: bool) -> str:
    if len(name) == 2 and name[0] == "h" and name[1] in "123456":
        return "\n\n" if is_end else f"\n\n{'#' * int(name[1])} "
    if name == "li":
        return "" if is_end else "\n- "
    return _MARKS.get(name) or ("\n" if name in _ENDS_LINE and (is_end or name in ("br", "hr")) else "")


def _within(base: str) -> Callable[[re.Match[str]], str]:
    def whole(found: re.Match[str]) -> str:
        target = found[2]
        return found[0] if _ALONE.match(target) else f"{found[1]}{base}{target.lstrip('./')}"

    return whole
