"""Every word that people read on a page, in their language: the one catalogue, in Fluent's format, in assets/locales.

    say = language_named("de")
    say("thread-left-out", count=3)

Read once, when first asked for. Used by both faces and by whatever tells people something; pure, from any thread.
English is complete by definition, and stands in where another language lacks a message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from fluent.runtime import FluentBundle, FluentResource

from app.numbers import decimal_number

LOCALES: Final = Path(__file__).resolve().parent.parent / "assets" / "locales"
RIGHT_TO_LEFT: Final = frozenset({"ar", "fa", "he", "ur"})
MAX_HEADER_CHARS = 1000
MAX_VARIABLE_CHARS: Final = 2500        # Fluent refuses longer ones
_MARK: Final = "\x1f"


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """Called with a message's id and its variables, it answers with the text. LookupError: no such id, or variable."""

    code: str               # "de", as in `lang`
    name: str               # in itself: "Deutsch"
    bundle: FluentBundle
    stand_in: Language | None

    @property
    def direction(self) -> str:
        return "rtl" if self.code in RIGHT_TO_LEFT else "ltr"

    def __call__(self, message_id: str, /, **variables: Any) -> str:
        if not self.bundle.has_message(message_id):
            if self.stand_in is None:
                raise LookupError(f"no message {message_id!r} in the catalogue")
            return self.stand_in(message_id, **variables)
        pattern = self.bundle.get_message(message_id).value
        if pattern is None:
            raise LookupError(f"message {message_id!r} has attributes only")
        text, errors = self.bundle.format_pattern(pattern, {name: _cut(value) for name, value in variables.items()})
        if errors:
            raise LookupError(f"message {message_id!r}: {errors[0]}") from errors[0]
        return str(text)

    def sources(self, areas: tuple[str, ...]) -> str:
        """The messages of these areas (files of the catalogue) as they are written, for who formats them elsewhere."""
        return "\n".join(_read(self.code, area) for area in areas)


def _cut(value: Any) -> Any:
    """What a sentence has room for: a path, or all names that there are, may be longer than Fluent takes."""
    if isinstance(value, str) and len(value) > MAX_VARIABLE_CHARS:
        return value[:MAX_VARIABLE_CHARS - 1] + "…"
    return value


class Said(str):
    """A sentence for people: itself in English, as logs, the API and the command line have it, and with its message, so
    that a page says it in its reader's language. It passes for a string wherever one is handed on. One may be a
    variable of another.
    """

    __slots__ = ("message_id", "variables")

    message_id: str
    variables: Mapping[str, str | int | float]

    def __new__(cls, message_id: str, /, **variables: str | int | float) -> Said:
        said = super().__new__(cls, languages()["en"](message_id, **variables))
        said.message_id, said.variables = message_id, variables
        return said

    def __deepcopy__(self, _memo: object) -> Said:
        """It never changes. (Of a plain string's subclass a copy would be made from its sentence.)"""
        return self


def in_language(text: str, language: Language) -> str:
    """What was `Said`, in this language; any other text as it is."""
    if not isinstance(text, Said):
        return text
    return language(text.message_id, **{
        name: in_language(value, language) if isinstance(value, str) else value
        for name, value in text.variables.items()
    })


def kept(text: str) -> str:
    """To be stored as text, with all that `Said` knows behind a mark that nobody types."""
    if not isinstance(text, Said):
        return text
    return f"{text}{_MARK}{json.dumps(_packed(text))}"


def said_again(stored: str) -> str:
    """What `kept` has stored; of any other text, or of a message that is no longer there, the sentence alone."""
    sentence, mark, told = stored.rpartition(_MARK)
    if not mark:
        return stored
    try:
        return _unpacked(json.loads(told))
    except (LookupError, TypeError, ValueError, RecursionError):        # of another version, or cut off
        return sentence


def _packed(said: Said) -> list[Any]:
    """Messages within messages too."""
    return [said.message_id, {
        name: _packed(value) if isinstance(value, Said) else value for name, value in said.variables.items()
    }]


def _unpacked(packed: list[Any]) -> Said:
    message_id, variables = packed
    return Said(message_id, **{
        name: _unpacked(value) if isinstance(value, list) else value for name, value in variables.items()
    })


@cache
def languages() -> dict[str, Language]:
    """All there are, by code; English first."""
    english = _load("en", None)
    others = sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir() and folder.name != "en")
    return {"en": english} | {code: _load(code, english) for code in others}


def language_named(code: object) -> Language | None:
    return languages().get(code) if isinstance(code, str) else None


def preferred_language(accept_language: str) -> Language:
    """Of a browser's Accept-Language: "de-AT,de;q=0.9,en;q=0.8". English where there is none of them."""
    wishes: list[tuple[float, str]] = []
    for part in accept_language[:MAX_HEADER_CHARS].split(","):
        tag, _, weight = part.strip().partition(";")
        try:
            quality = decimal_number(weight.strip().removeprefix("q=") or "1")
        except ValueError:
            continue
        wishes.append((-quality, tag.partition("-")[0].strip().lower()))
    known = languages()
    best_first = sorted(wishes, key=lambda wish: wish[0])
    return next((known[code] for quality, code in best_first if code in known and quality), known["en"])


def _load(code: str, stand_in: Language | None) -> Language:
    # No isolation marks around variables: they would end up in titles, file names and copied text. Pages use `dir`.
    bundle = FluentBundle([code], use_isolating=False)
    for area in sorted(path.stem for path in (LOCALES / code).glob("*.ftl")):
        bundle.add_resource(FluentResource(_read(code, area)))
    language = Language(code, "", bundle, stand_in)
    return Language(code, language("language-name"), bundle, stand_in)


def _read(code: str, area: str) -> str:
    return (LOCALES / code / f"{area}.ftl").read_text(encoding="utf-8")
