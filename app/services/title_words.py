"""What a model is asked for a chat's title, and whether what it says is one. Pure functions, for `app.services.titles`.

The beginning of the title is put into the model's mouth: even a small model then writes a title rather than talks about
one, and one that thinks first does not begin to.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final

from app.names import clean_label

ASK: Final = "Sum up what this chat is about in three to six words, in its own language, as a title."
BEGINNING: Final = 'Title: "'
STOP: Final = ("\n", '"', "”", "“")
MAX_TITLE_TOKENS: Final = 32
MAX_MODEL_TITLE_CHARS: Final = 60
MAX_WORDS: Final = 10

_MARKS = " \t\"'“”„‚‘’«»‹›`*_#.,;:-–—"
_LABEL = re.compile(r"^(title|titel|titre|título|chat|topic|thema|subject|betreff)\s*[:：]\s*", re.IGNORECASE)
_ABOUT_ITSELF = re.compile(
    r"three to six|sum up|summar(y|ise|ize) of (this|the) (chat|conversation)|my first message|own language"
    r"|as a title|title of (this|the) chat|the topic of (my|your|the) question|this chat is about"
    r"|\b(i'm sorry|i cannot|i can't|as an ai|sure[,!]|certainly[,!]|here is|here's)\b",
    re.IGNORECASE,
)


def title_of(written: str, question: str) -> str | None:
    """None for what is no title: nothing, too much, the same again and again, or words about the task."""
    title = _LABEL.sub("", clean_label(written, max_chars=None).strip(_MARKS)).strip(_MARKS)
    words = title.casefold().split()
    if not any(map(str.isalpha, title)) or len(title) > MAX_MODEL_TITLE_CHARS or len(words) > MAX_WORDS:
        return None
    if _ABOUT_ITSELF.search(title) or "<" in title or "\ufffd" in title or _says_it_again(words):
        return None
    if not _scripts(title) & _scripts(question) and _scripts(question):
        return None
    return title[:1].upper() + title[1:]


def _says_it_again(words: list[str]) -> bool:
    """Two words in a row that stand there twice, or one that does more than twice."""
    pairs = list(pairwise(words))
    return len(set(pairs)) < len(pairs) or any(words.count(word) > 2 for word in words)


def _scripts(text: str) -> set[str]:
    """LATIN, CYRILLIC, CJK and so on: a title in other letters than the question is in another language."""
    return {unicodedata.name(char, "?").partition(" ")[0] for char in text[:400] if char.isalpha()}
