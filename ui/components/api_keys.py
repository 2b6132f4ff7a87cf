"""API keys: a person's own, with the making of a new one, which is shown once; and one key as a line of a list.

The settings page has the former, the page of people the latter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element

from app.errors import NotFound
from app.security import TERMINAL_KEY_NAME
from app.services.container import Services
from store.tables import ApiKey
from ui.components.dialog import ask, field, show_problem
from ui.components.elements import button, tag
from ui.components.frame import Frame
from ui.components.secret import secret
from ui.language import FORESEEN, t, told
from ui.words import last, when


class ApiKeys:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._accounts = services.accounts
        self._user_id = frame.user.id

    def build(self) -> None:
        self._list = KeyList(self._revoke)
        with tag("form", "nk-form").on("submit.prevent", self._create, args=[]) as self._form:
            self._name, self._problem = field(t("settings-key-name"), placeholder=t("settings-key-example"))
            button(t("settings-key-make"), "nk-btn-quiet", kind="submit")
            self._made = tag("div", role="status")
        self._made.set_visibility(False)

    @property
    def place(self) -> Element:
        return self._form

    async def show(self) -> None:
        self._list.show([(key, "") for key in await self._accounts.list_keys(self._user_id)])

    async def _revoke(self, key: ApiKey) -> None:
        await self._accounts.revoke_key(self._user_id, key.id)

    async def _create(self) -> None:
        show_problem(self._problem, None)
        self._made.clear()
        try:
            _, made = await self._accounts.create_key(self._user_id, self._name.value or "")
        except FORESEEN as error:
            show_problem(self._problem, told(error))
            return
        self._name.value = ""
        self._made.set_visibility(True)
        with self._made:
            tag("p", "", t("settings-key-copy"))
            secret(made)


class KeyList:
    """`revoke` is called once it was asked about; the page shows the list again, for it follows changes."""

    def __init__(self, revoke: Callable[[ApiKey], Awaitable[None]]) -> None:
        self._revoke = revoke
        self._shown: list[tuple[str, str, str, str]] = []
        with tag("div") as self._place:             # a question stays open while the list changes
            self._rows = tag("div", "nk-list")

    def show(self, keys: list[tuple[ApiKey, str]]) -> None:
        """With whose each is, where that is to be told."""
        due = [(key.id, key_name(key), owner, _about(key)) for key, owner in keys]
        if due == self._shown:
            return
        self._shown = due
        self._rows.clear()
        with self._rows:
            for key, owner in keys:
                self._row(key, owner)

    def _row(self, key: ApiKey, owner: str) -> None:
        whose = t("people-key-of", name=owner) if owner else ""
        name = key_name(key)
        named = f"{name} {whose}".strip()       # several people may have called theirs the same

        def ask_first() -> None:
            with self._place:
                question = t("settings-key-revoke-question", name=named)
                ask(question, t("settings-key-revoke-about"), t("settings-key-revoke"), revoke)

        async def revoke() -> None:
            try:
                await self._revoke(key)
            except NotFound:
                return      # somebody else was quicker, and their change is shown

        with tag("div", "nk-set"):
            with tag("div"):
                with tag("h3"):
                    tag("span", text=f"{name} " if whose else name)
                    if whose:
                        tag("span", "nk-key-of", whose)
                tag("p", "nk-num", _about(key))
            revoke_button = button(t("settings-key-revoke"), "nk-btn-danger nk-btn-sm").on("click", ask_first)
            revoke_button.props["aria-label"] = t("settings-key-revoke-named", name=named)


def key_name(key: ApiKey) -> str:
    """What its owner called it; in the reader's language where the command line did."""
    return t("settings-key-terminal") if key.name == TERMINAL_KEY_NAME else key.name


def _about(key: ApiKey) -> str:
    made = t("settings-key-made", hint=key.hint, when=when(key.created_at))
    return f"{made}, {last('settings-key-used', key.last_used_at)}"
