"""The forms over the page of people: a new person, a new password, and a last question before somebody is deleted.

Each does what it asks for by itself, and says what is wrong where it stands. `place` is the element in whose page they
open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from app.errors import Conflict, InvalidInput
from app.security import MIN_PASSWORD_CHARS
from app.services.people import PeopleService
from store.belongings import Belongings
from store.tables import User, UserRole
from ui.components.choice import Choice
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.native import TextField
from ui.components.secret import secret
from ui.components.text import live, put
from ui.language import FORESEEN, t, told


class PeopleForms:
    """`say` confirms what was done, where the form itself is gone by then."""

    place: Element

    def __init__(self, people: PeopleService, admin_id: str, say: Callable[[str], None]) -> None:
        self._people = people
        self._admin_id = admin_id
        self._say = say

    async def add(self) -> None:
        with self._dialog(t("people-add")) as (dialog, body), tag("form", "nk-stack") as form:
            name = TextField(t("field-name"), hint=t("people-name-about"))
            with tag("div", "nk-field"):
                tag("span", "nk-lab", t("people-role"), aria_hidden="true")
                role = RoleChoice()
                tag("p", "nk-hint", t("people-role-about"))
            password = _password_field()
            problem = tag("div")
            _acts(dialog, t("people-add"), "nk-btn-primary")

        async def submit() -> None:
            fields = {"name": name.problem, "password": password.problem}
            _forget(problem, *fields.values())
            try:
                user, made = await self._people.add(self._admin_id, name.value, password.value, role.chosen)
            except FORESEEN as error:
                show_problem(fields.get(_field_of(error), problem), told(error))
                return
            self._done(dialog, body, t("people-added", name=user.name), password.value, made)

        form.on("submit.prevent", submit, args=[])

    async def set_password(self, user: User) -> None:
        with self._dialog(t("people-password-title", name=user.name)) as (dialog, body):
            tag("p", "", t("people-password-ends", name=user.name))
            with tag("form", "nk-stack") as form:
                # A password manager wants to know whose it is.
                tag("input", name="username", value=user.name, autocomplete="username", hidden=True)
                password = _password_field()
                _acts(dialog, t("people-password-set"), "nk-btn-primary")

        async def submit() -> None:
            _forget(password.problem)
            try:
                made = await self._people.set_password(self._admin_id, user.id, password.value)
            except FORESEEN as error:
                show_problem(password.problem, told(error))
                return
            self._done(dialog, body, t("people-password-done", name=user.name), password.value, made)

        form.on("submit.prevent", submit, args=[])

    async def delete(self, user: User) -> None:
        """Raises what keeps the numbers from being told."""
        belongings = await self._people.belongings(self._admin_id, user.id)
        with self._dialog(t("people-delete-title", name=user.name)) as (dialog, _):
            _tell_belongings(belongings, user.name)
            with tag("form", "nk-stack") as form:
                name = TextField(t("people-delete-type", name=user.name))
                busy = _acts(dialog, t("people-delete-yes"), "nk-btn-danger")

        async def submit() -> None:
            if busy.text:           # it takes a while where there are many chats
                return
            _forget(name.problem)
            put(busy, t("people-delete-busy"))
            try:
                await self._people.remove(self._admin_id, user.id, name.value)
            except FORESEEN as error:
                if not form.is_deleted:
                    put(busy, "")
                    show_problem(name.problem, told(error))
                return
            dialog.close()
            self._say(t("people-deleted", name=user.name))

        form.on("submit.prevent", submit, args=[])

    @contextmanager
    def _dialog(self, title: str) -> Iterator[tuple[ui.dialog, Element]]:
        with self.place, ui.dialog(value=True) as dialog, tag("div", "nk-dialog nk-account") as body:
            dialog.props["aria-label"] = title
            tag("h2", "nk-break", title)
            yield dialog, body
        dialog.on("hide", dialog.delete)

    def _done(self, dialog: ui.dialog, body: Element, said: str, typed: str, password: str) -> None:
        """A password that was made up is shown, and nowhere else ever again."""
        if typed or dialog.is_deleted:
            dialog.close()
            self._say(said)
            return
        body.clear()
        with body:
            dialog.props["aria-label"] = said
            tag("h2", "nk-break", said)
            tag("p", "", t("people-password-once"))
            with tag("div", "", role="group", aria_label=t("people-password-made")):
                copy = secret(password)
            with tag("div", "nk-acts"):
                button(t("close"), "nk-btn-primary").on("click", dialog.close)
        dialog.update()
        copy.run_method("focus")        # the form that had it is gone


class RoleChoice:
    def __init__(self) -> None:
        self.chosen = UserRole.USER
        names = {UserRole.USER: t("people-role-user"), UserRole.ADMIN: t("role-admin")}
        Choice(t("people-role"), names, self.chosen, self._choose)

    async def _choose(self, role: UserRole) -> None:
        self.chosen = role


def _password_field() -> TextField:
    about = t("people-password-about", count=MIN_PASSWORD_CHARS)
    return TextField(t("field-password"), kind="password", hint=about, autocomplete="new-password")


def _acts(dialog: ui.dialog, action: str, classes: str) -> TextElement:
    """The buttons at a form's foot, and the place beside them for what is just being done."""
    with tag("div", "nk-acts"):
        busy = live("span", "nk-hint nk-grow", role="status")
        button(t("cancel"), "nk-btn-ghost").on("click", dialog.close)
        button(action, classes, kind="submit")
    return busy


def _field_of(error: Exception) -> str:
    """Where it is told; a conflict is one of names."""
    if isinstance(error, InvalidInput):
        return error.field or ""
    return "name" if isinstance(error, Conflict) else ""


def _forget(*problems: Element) -> None:
    for each in problems:
        show_problem(each, None)


def _tell_belongings(belongings: Belongings, name: str) -> None:
    lines = [
        *([t("people-delete-chats", count=belongings.num_chats, messages=belongings.num_messages)]
          if belongings.num_chats else []),
        *([t("people-delete-prompts", count=belongings.num_prompts)] if belongings.num_prompts else []),
        *([t("people-delete-keys", count=belongings.num_keys)] if belongings.num_keys else []),
    ]
    tag("p", "", t("people-delete-about") if lines else t("people-delete-nothing"))
    if lines:
        with tag("ul", "nk-belongings"):
            for line in lines:
                tag("li", "nk-num", line)
    if belongings.num_chats:
        tag("p", "", t("people-delete-instead", name=name))
