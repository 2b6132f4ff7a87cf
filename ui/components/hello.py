"""The empty page of a new chat: a greeting, the composer, and four ways to begin. Used by the chat page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from nicegui.elements.mixins.text_element import TextElement

from app.services.models import ModelEntry
from store.tables import User, UserRole
from ui.components.composer import Composer
from ui.components.elements import icon, tag
from ui.language import t
from ui.words import greeting

OFFERS = (("letter", "mail"), ("sum-up", "text-quote"), ("code", "code-xml"), ("think", "lightbulb"))
NUM_ON_PHONE = 3


class Hello:
    def __init__(self, user: User, make_composer: Callable[[], Composer]) -> None:
        self._greeting = greeting(user.name, datetime.now().astimezone())
        self._user = user
        self._is_temporary = False
        self._over = ""             # the connection to the model that is chosen, where that is elsewhere
        with tag("div", "nk-hello"), tag("div", "nk-hello-in"):
            self._title = _text("h1", "", self._greeting)
            self._about = _text("p", "nk-sub", t("hello-sub"))
            self.composer = make_composer()
            with tag("div", "nk-sugs"):
                for number, (offer, icon_name) in enumerate(OFFERS):
                    classes = "nk-chip" if number < NUM_ON_PHONE else "nk-chip nk-not-sm"
                    with tag("button", classes, type="button") as chip:
                        icon(icon_name, 16)
                        tag("span", text=t(f"hello-{offer}"))
                    chip.on("click", self._fill(t(f"hello-{offer}-start")))
            self._note = tag("p", "nk-starter")

    def show_model(self, model: ModelEntry | None, *, is_absent: bool) -> None:
        """A word about the small model that came with us, or about none at all. `is_absent`: there is one, which cannot
        be asked, and that is said above.
        """
        self._over = model.connections[0] if model is not None and model.connections else ""
        self._show_placeholder()
        self._note.clear()
        self._note.set_visibility(not is_absent and (model is None or model.model.is_starter))
        about = "hello-starter" if model else "hello-no-model"
        with self._note:
            tag("span", text=f"{t(about)} ")
            if self._user.role is UserRole.ADMIN:
                tag("a", "", t(f"{about}-link"), href="/models")

    def show_temporary(self, is_temporary: bool) -> None:
        """What is begun here is kept, or it is not: then the page says so."""
        self._title.text = t("temporary-title") if is_temporary else self._greeting
        self._about.text = t("temporary-about") if is_temporary else t("hello-sub")
        self._is_temporary = is_temporary
        self.composer.show(temporary=is_temporary)
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        if self._over:
            self.composer.show(placeholder=t("composer-ask-elsewhere", connection=self._over))
        else:
            self.composer.show(placeholder=t("temporary-ask" if self._is_temporary else "composer-ask"))

    def _fill(self, start: str) -> Callable[[], None]:
        return lambda: self.composer.fill(start)


def chat_not_found(*, was_temporary: bool) -> None:
    with tag("div", "nk-hello"), tag("div", "nk-hello-in nk-empty"):
        with tag("div", "nk-glyph"):
            icon("file-text", 20)
        what = "temporary-gone" if was_temporary else "hello-not-here"
        tag("h2", "", t(what))
        tag("p", "", t(f"{what}-about"))
        with tag("a", "nk-btn nk-btn-primary", href="/"):
            tag("span", text=t("hello-new-chat"))


def _text(name: str, classes: str, text: str) -> TextElement:
    element = TextElement(tag=name, text=text)
    element.classes(classes)
    return element
