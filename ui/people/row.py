"""One person in the list: who it is, and the menu of what an admin does with their account.

A row stays in place while its words change, so that its button keeps the focus. What is done is the page's: `Acts`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from store.tables import User, UserRole
from ui.components.elements import icon, menu_item, tag
from ui.components.row_menu import RowMenu
from ui.components.tags import Tags
from ui.components.text import live, put
from ui.language import t
from ui.words import date, initials, last

Act = Callable[[User], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Acts:
    set_password: Act
    change_role: Act
    change_active: Act
    delete: Act


class PersonRow:
    def __init__(self, user: User, acts: Acts, *, is_own: bool) -> None:
        self._user = user
        self._acts = acts
        self._is_own = is_own
        self._offered_to = user.role, user.is_active
        with tag("div", "nk-person", role="listitem") as self._row:
            tag("span", "nk-avatar", initials(user.name), aria_hidden="true")
            with tag("div", "nk-person-who"):
                with tag("span", "nk-name"):
                    tag("span", "nk-break", user.name)
                    self._tags = Tags()
                tag("span", "nk-sub nk-num", t("people-since", date=date(user.created_at.astimezone())))
            self._seen = live("span", "nk-person-seen nk-num")
            if is_own:
                label = t("people-own")
                with tag("a", "nk-ib", href="/settings", aria_label=label, title=label):
                    icon("settings")
            else:
                self._menu = RowMenu(t("people-more", name=user.name), self._fill_menu)
        self.show(user)

    def show(self, user: User) -> None:
        self._user = user
        put(self._seen, last("people-seen", user.last_seen_at))
        due = [
            *(["role-admin"] if user.role is UserRole.ADMIN else []),
            *([] if user.is_active else ["people-disabled"]),
            *(["people-you"] if self._is_own else []),
        ]
        self._tags.show(due)
        if not self._is_own and self._offered_to != (user.role, user.is_active):
            self._offered_to = user.role, user.is_active
            self._menu.renew()

    def delete(self) -> None:
        self._row.delete()

    def _fill_menu(self) -> None:
        self._item("people-password", "key-round", self._acts.set_password)
        role = "people-unmake-admin" if self._user.role is UserRole.ADMIN else "people-make-admin"
        self._item(role, "shield", self._acts.change_role)
        if self._user.is_active:
            self._item("people-disable", "lock", self._acts.change_active)
        else:
            self._item("people-enable", "circle-check", self._acts.change_active)
        tag("hr")
        self._item("people-delete", "trash-2", self._acts.delete, classes="danger")

    def _item(self, name: str, icon_name: str, act: Act, *, classes: str = "") -> None:
        menu_item(t(name), icon_name, classes=classes).on("click", lambda: act(self._user), args=[])
