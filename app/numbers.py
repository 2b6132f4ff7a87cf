"""Numbers as programs and people write them. Python's own `int` and `float` read more: "1_0", "٥", " 1", "nan". Pure
functions, used wherever a number comes as text.
"""

from __future__ import annotations

import re
import unicodedata

MAX_DIGITS = 18                 # what is longer is no count of anything

_POINTS = str.maketrans(",٫", "..")

_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{MAX_DIGITS}}}")
_DECIMAL = re.compile(rf"[+-]?(?:[0-9]{{1,{MAX_DIGITS}}}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,2}})?")


def whole_number(text: str) -> int:
    """Raises ValueError."""
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is no whole number")
    return int(text)


def typed_number(text: str) -> float:
    """By a person: in the digits of any script, with a comma or a point. Raises ValueError."""
    digits = "".join(str(unicodedata.decimal(char, char)) for char in text.strip()[: 4 * MAX_DIGITS])
    return decimal_number(digits.translate(_POINTS))


def decimal_number(text: str) -> float:
    """Finite. Raises ValueError."""
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is no number")
    return float(text)
