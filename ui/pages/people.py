"""Everybody who may sign in, and the keys of their programs: added, shut out, let in again and removed. For admins.

One `PeoplePage` an open browser tab, on the event loop. It follows `Changes`: what another admin does shows here.
"""

from __future__ import annotations

from collections.abc import Awaitable

from fastapi import Request
from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from app.errors import NotAllowed
from app.services.container import Services
from store.tables import ApiKey, User, UserRole
from ui.components.api_keys import KeyList, key_name
from ui.components.dialog import ask, show_problem
from ui.components.elements import button, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.text import live, put
from ui.components.toast import Toast
from ui.language import FORESEEN, t, told
from ui.people.forms import PeopleForms
from ui.people.row import Acts, PersonRow
from ui.refreshing import show_changes

NUM_SHOWN = 50      # until all are asked for, and whoever comes meanwhile
DISABLED = "disabled"


async def people_page(services: Services, request: Request) -> bool:
    page = PeoplePage(services, await Frame.make(services, request))
    await page.build()
    return True


class PeoplePage:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._services = services
        self._people = services.people
        self._frame = frame
        self._admin_id = frame.user.id
        self._forms = PeopleForms(services.people, frame.user.id, self._say)
        self._acts = Acts(self._set_password, self._change_role, self._change_active, self._delete)
        self._rows: dict[str, PersonRow] = {}
        self._hidden: set[str] | None = None        # people, by id; None: not looked at yet

    async def build(self) -> None:
        ui.page_title(t("page-title", page=t("people")))
        with self._frame.around(label=t("people"), sidebar=rail("/people", self._frame)):
            narrow_head(t("people"))
            with tag("div", "nk-page") as self._place, tag("div", "nk-page-in nk-page-narrow"):
                with tag("div", "nk-title"):
                    with tag("div"):
                        tag("h1", "", t("people"))
                        tag("p", "", t("people-about"))
                    with tag("div", "nk-end nk-people-end"):
                        add = button(t("people-add"), "nk-btn-primary", icon_name="plus")
                        add.on("click", self._forms.add, args=[])
                self._count = _section(t("people-accounts"))
                self._problem = tag("div", "nk-people-problem")
                self._list = tag("div", "nk-card nk-list", role="list", aria_label=t("people-accounts"))
                self._more = tag("div", "nk-more-row")
                with self._more, tag("button", "nk-btn nk-btn-quiet", type="button").on("click", self._show_all):
                    self._all_word = live("span")
                put(_section(t("settings-keys")), t("people-keys-about"))
                with tag("div", "nk-card"):
                    self._keys = KeyList(self._revoke)
                    self._no_keys = tag("p", "nk-hint nk-people-none", t("people-keys-none"))
        self._forms.place = self._place
        self._toast = Toast(on_act=self._undo)
        client = ui.context.client
        show_changes(self._services, client, self._admin_id, self._place, {"people"}, self._show)
        await self._show()

    async def _show(self) -> None:
        try:
            everybody = await self._people.everybody(self._admin_id)
        except NotAllowed:
            return          # just shut out: the door ends this page
        people, keys = everybody.people, everybody.keys
        put(self._count, t("people-count", count=len(people)))
        if self._hidden is None:
            self._hidden = {user.id for user in people[NUM_SHOWN:]}
        shown = [user for user in people if user.id not in self._hidden]
        self._show_rows(shown)
        self._more.set_visibility(len(shown) < len(people))
        put(self._all_word, t("people-show-all", count=len(people)))
        names = {user.id: user.name for user in people}
        # One that was made since the people were read has its line with the next change, which is on its way.
        self._keys.show([(key, names[key.user_id]) for key in keys if key.user_id in names])
        self._no_keys.set_visibility(not keys)

    def _show_rows(self, people: list[User]) -> None:
        known = {user.id for user in people}
        for user_id in [each for each in self._rows if each not in known]:
            self._rows.pop(user_id).delete()
        for user in people:
            if user.id in self._rows:
                self._rows[user.id].show(user)
                continue
            with self._list:        # who comes is the last
                self._rows[user.id] = PersonRow(user, self._acts, is_own=user.id == self._admin_id)

    async def _show_all(self) -> None:
        self._hidden = set()
        await self._show()

    # --- what an admin does -------------------------------------------------------------------------------------------

    async def _set_password(self, user: User) -> None:
        await self._forms.set_password(user)

    async def _change_role(self, user: User) -> None:
        """At once, with a way back."""
        if await self._set_role(user.id, UserRole.USER if user.role is UserRole.ADMIN else UserRole.ADMIN):
            said = "people-is-user" if user.role is UserRole.ADMIN else "people-is-admin"
            self._confirm(said, user, before=user.role.value)

    async def _undo(self, before: str) -> None:
        """`before`: as `_confirm` has named it."""
        what, _, user_id = before.partition(" ")
        roles = {each.value: each for each in UserRole}
        if what in roles:
            await self._set_role(user_id, roles[what])
        elif what == DISABLED:
            await self._set_active(user_id, False)

    async def _set_role(self, user_id: str, role: UserRole) -> bool:
        return await self._tried(self._people.set_role(self._admin_id, user_id, role))

    async def _change_active(self, user: User) -> None:
        """What is being written ends with it, so it is asked for; being let in is not."""
        if user.is_active:
            with self._place:
                question = t("people-disable-question", name=user.name)
                about = t("people-disable-about", name=user.name)
                ask(question, about, t("people-disable"), lambda: self._disable(user))
        elif await self._set_active(user.id, True):
            self._confirm("people-is-enabled", user, before=DISABLED)

    async def _disable(self, user: User) -> None:
        """Without Undo: letting them in again brings neither their sessions back nor their answers."""
        if await self._set_active(user.id, False):
            self._confirm("people-is-disabled", user)

    async def _set_active(self, user_id: str, is_active: bool) -> bool:
        return await self._tried(self._people.set_active(self._admin_id, user_id, is_active))

    async def _delete(self, user: User) -> None:
        await self._tried(self._forms.delete(user))

    async def _revoke(self, key: ApiKey) -> None:
        await self._people.revoke_key(self._admin_id, key)
        with self._place:
            self._say(t("people-key-revoked", key=key_name(key)))

    async def _tried(self, doing: Awaitable[None]) -> bool:
        """Whether it could be done; else the page says why."""
        show_problem(self._problem, None)
        try:
            await doing
        except FORESEEN as error:
            with self._place:       # for its language: the row that was clicked may be gone by now
                show_problem(self._problem, told(error))
            return False
        return True

    def _confirm(self, message: str, user: User, *, before: str = "") -> None:
        """With Undo, where what was `before` can be had again as it was."""
        with self._place:       # for its language: the menu that was chosen from is made anew meanwhile
            action = t("undo") if before else ""
            self._toast.show(t(message, name=user.name), action=action, subject=f"{before} {user.id}")

    def _say(self, text: str) -> None:
        self._toast.show(text)


def _section(title: str) -> TextElement:
    """Its heading, and the place beside it for a word about it."""
    with tag("div", "nk-sec"):
        tag("h2", "", title)
        return live("span", "nk-count")
