"""A stranger's JSON. An answer is read strictly: what is no JSON is no answer. A list of many things is read leniently,
so that one odd entry costs only itself. Pure functions; both raise ValueError.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from engine.remote.endpoint import MAX_DIGITS

UNREADABLE = "\ufffd"           # stands where something was that is no character

_HALVES = re.compile("[\ud800-\udfff]")


def strictly(content: bytes) -> Any:
    """No NaN, no halves of characters, nothing that is not UTF-8."""
    return from_json(content, allow_inf_nan=False)


def leniently(content: bytes) -> Any:
    """As `strictly`; where that fails, with UNREADABLE for what is no character, and None for what is no number."""
    try:
        return strictly(content)
    except ValueError:
        text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return _plain(_loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _loads(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=lambda _name: None, parse_int=_int)


def _plain(value: Any) -> Any:
    """Without halves of characters: that an escape is one is known once its neighbours have been read."""
    return _loads(_HALVES.sub(UNREADABLE, json.dumps(value, ensure_ascii=False)))


def _int(digits: str) -> int | None:
    return int(digits) if len(digits) <= MAX_DIGITS else None
