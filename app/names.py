"""What of a name can be seen: the one rule for whatever people, files and servers call something. Pure functions.

Used wherever a name is taken: of people and keys (app/security.py), of chats, folders, tags, presets, prompts,
connections and models (services). And the one for what is printed of them (the command line).
"""

from __future__ import annotations

import unicodedata
from itertools import groupby, pairwise

MAX_LABEL_CHARS = 200

# Letters and signs without a shape, though Unicode counts them among what is drawn.
SHAPELESS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159"
_VARIANTS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))      # of the letter before them
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zs", "Zl", "Zp"))
_TAGS = (0xE0020, 0xE007F)      # what the flags of England and Wales end with
# Scripts that have shapes of letters in common, as the names of their letters begin.
_ALIKE = frozenset(("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"))
_MAX_MARKS = 4                  # on one letter: pointed Hebrew, Thai and Vietnamese need up to three


def has_idle_variant(text: str) -> bool:
    """Whether a letter or digit has a mark behind it that chooses how emoji are drawn: there it changes nothing."""
    return any(
        0xFE00 <= ord(char) <= 0xFE0F and unicodedata.category(before)[0] in "LN"
        for before, char in pairwise(text)
    )


def mixes_alike_scripts(text: str) -> bool:
    """Whether letters of two scripts meet that have shapes in common, by which one name can look like another.

    Other scripts may meet, as in 田中 Ken, and so may signs, as in Кабинет №5.
    """
    letters = "".join(char for char in text if unicodedata.category(char)[0] == "L")
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in unicodedata.normalize("NFKC", letters)}
    return len(_ALIKE & scripts) > 1


def piles_up_marks(text: str) -> bool:
    """Whether a letter has more marks above, below and through it than any script needs, or one of them twice."""
    for is_mark, chars in groupby(unicodedata.normalize("NFD", text), _is_mark):
        marks = list(chars) if is_mark else []
        if len(marks) > _MAX_MARKS or any(first == second for first, second in pairwise(marks)):
            return True
    return False


def can_be_seen(text: str) -> bool:
    """Whether a reader finds anything where it stands."""
    return any(map(_is_seen, text))


def clean_label(text: str, *, max_chars: int | None = MAX_LABEL_CHARS) -> str:
    """One line without control characters, white space collapsed; "" where nothing of it would be seen.

    Marks that turn the direction of the text around are left out: they would turn what stands behind it on a page, too.
    So is what cannot be seen at either end, by which two names would look the same. What joins and parts letters, in
    Persian or in emoji, stays.
    """
    text = text.translate(_TURNING)
    harmless = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in text)
    return _without_hidden_ends(_without_hidden_ends(" ".join(harmless.split()))[:max_chars])


def in_plain(text: str) -> str:
    """One line for a terminal: what would steer it, or turn the direction of what follows, is spelled out. For texts
    that hold what others made up and must stay as they are, paths say.
    """
    return "".join(char.encode("unicode_escape").decode() if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp") or ord(char) in _TURNING


def _without_hidden_ends(text: str) -> str:
    if not can_be_seen(text):
        return ""
    start, end = 0, len(text)
    while _is_idle(text[start]):
        start += 1
    while _is_idle(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_seen(char: str) -> bool:
    return not (
        unicodedata.category(char) in _HIDDEN
        or char in SHAPELESS
        or any(first <= ord(char) <= last for first, last in _VARIANTS)
    )


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me")


def _is_idle(char: str) -> bool:
    """At an end it does nothing: unlike what says how the emoji before it is drawn."""
    is_tag = _TAGS[0] <= ord(char) <= _TAGS[1]
    return (unicodedata.category(char) in _HIDDEN and not is_tag) or char in SHAPELESS
