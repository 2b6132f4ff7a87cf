"""In whose language a page speaks. `t` finds it by itself, so that no component has to hand it on.

Inside a page, and in what its elements call, it is the page's (`speak` set it when the page was made); in a plain
request (sign-in, the answer's stream) it is the request's. The browser's half is assets/build/words, served by
`words_script`.
"""

from __future__ import annotations

import copy
import json
from contextvars import ContextVar
from functools import cache
from typing import Any, Final
from weakref import WeakKeyDictionary

from nicegui import Client
from nicegui.slot import Slot
from starlette.requests import Request

from app.errors import AppError, said
from app.language import LOCALES, Language, Said, in_language, language_named, languages, preferred_language, said_again
from engine.errors import EngineError
from store.errors import StoreError

LANGUAGE_SETTING: Final = "language"        # of a person: a code, or "system", which is their browser's
BROWSER_AREAS: Final = ("common", "chat", "composer", "sidebar", "markdown", "commands")
FORESEEN: Final = (AppError, EngineError, StoreError)     # what `told` has a sentence for: no fault of ours
NICEGUI_NAMES: Final = {"en": "en-US"}      # where NiceGUI and Quasar say more than the code

_of_pages: WeakKeyDictionary[Client, Language] = WeakKeyDictionary()
_of_request: ContextVar[Language | None] = ContextVar("language", default=None)


def t(message_id: str, /, **variables: Any) -> str:
    """A message of the catalogue, in the language of who reads it."""
    return here()(message_id, **variables)


def told(error: Exception) -> str:
    """What an error says, in the language of who reads it."""
    return in_words(said(error))


def in_words(text: str) -> str:
    """What the services tell people (`Said`, kept in the store or not), in the language of who reads it."""
    return in_language(text if isinstance(text, Said) else said_again(text), here())


def here() -> Language:
    """The language of the page, or of the request, that this runs for; English outside of both."""
    for slot in reversed(Slot.get_stack()):
        try:
            client = slot.parent.client
        except RuntimeError:        # what was clicked is gone by now, and its place with it
            continue
        if client in _of_pages:
            _of_request.set(_of_pages[client])      # for what this task says after its place has gone
            return _of_pages[client]
    return _of_request.get() or languages()["en"]


def wanted_language(setting: object, request: Request) -> Language:
    """What a person has chosen; else what their browser asks for."""
    return language_named(setting) or preferred_language(request.headers.get("accept-language", ""))


def speak(client: Client, language: Language) -> None:
    """From now on this page speaks it. While the page is being made: what NiceGUI itself says follows."""
    _of_pages[client] = language
    client.page = copy.copy(client.page)        # else every page of its kind would
    client.page.language = NICEGUI_NAMES.get(language.code, language.code)      # type: ignore[assignment]


def speak_in_request(language: Language) -> None:
    """From now on, in the task that answers a request."""
    _of_request.set(language)


@cache
def words_script(code: str) -> str:
    """A script for the page's head: it puts `t` and the messages that browser components use into window.nkWords."""
    language = languages()[code]
    runtime = (LOCALES.parent / "vendor" / "words" / "index.js").read_text(encoding="utf-8")
    messages = json.dumps(language.sources(BROWSER_AREAS), ensure_ascii=False)
    return f"{runtime}\nnkStartWords({json.dumps(code)}, {messages});\n"
