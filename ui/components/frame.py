"""The frame around every page: sidebar, main column, and the person's menu at the sidebar's foot. Used by ui/pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from app.services.container import Services
from store.tables import User, UserRole
from ui.components.choice import Choice
from ui.components.commands import Commands
from ui.components.elements import icon, icon_button, mark, menu, menu_item, menu_link, tag
from ui.components.text import live, put
from ui.language import speak, t, wanted_language
from ui.preferences import THEME_SETTING, Preferences
from ui.refreshing import show_changes
from ui.theme import Theme, change_theme, dress
from ui.words import initials

# Of the pages that are no chat.
MODELS, PEOPLE, LIBRARY, SETTINGS = (
    ("/models", "models", "box"), ("/people", "people", "users"), ("/library", "library-title", "library-big"),
    ("/settings", "settings", "settings"),
)


@dataclass(slots=True)
class Frame:
    """One open page's frame. Its page owns it."""

    services: Services
    user: User
    preferences: Preferences
    theme: Theme
    dark_mode: ui.dark_mode
    commands: Commands
    on_theme: list[Callable[[Theme], None]]
    on_role: list[Callable[[], None]]

    @classmethod
    async def make(cls, services: Services, request: Request) -> Frame:
        user: User = request.state.user
        preferences = Preferences.of(await services.accounts.get_settings(user.id))
        language = wanted_language(preferences.language, request)
        speak(ui.context.client, language)
        dark_mode = dress(preferences.theme, language)
        preferences.put_on_page()
        frame = cls(services, user, preferences, preferences.theme, dark_mode, Commands(services, user), [], [])
        frame.commands.set_dark = frame._set_dark
        return frame

    async def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        change_theme(self.dark_mode, theme)
        for callback in self.on_theme:
            callback(theme)
        await self.services.accounts.set_setting(self.user.id, THEME_SETTING, theme)

    async def _set_dark(self, is_dark: bool) -> None:
        await self.set_theme(Theme.DARK if is_dark else Theme.LIGHT)

    @contextmanager
    def around(self, *, label: str, sidebar: Callable[[], None]) -> Iterator[Element]:
        """Yields the main column. `sidebar()` makes what stands between the name on top and the person at the foot."""
        with tag("div", "nk-app"):
            with tag("aside", "nk-side", id="menu", aria_label=label):
                with tag("div", "nk-side-top"):
                    mark(22)
                    tag("span", "nk-wordmark nk-grow", "Inglenook")
                    icon_button("panel-left", t("side-hide"), "nk-not-sm").props("data-nk-hide-side")
                    icon_button("x", t("menu-close"), "nk-only-sm", 20).props("data-nk-close-menu")
                sidebar()
                with tag("div", "nk-side-foot") as foot:
                    self._person()
                show_changes(self.services, ui.context.client, self.user.id, foot, {"role"}, self._follow_role)
            tag("div", "nk-side-scrim").props("data-nk-close-menu")
            with tag("main", "nk-main") as main:
                yield main

    async def _follow_role(self) -> None:
        """Who becomes an admin finds the ways to what they may do now. Pages of who is none any more load anew."""
        if await self.services.accounts.is_admin(self.user.id) and self.user.role is not UserRole.ADMIN:
            self.user.role = UserRole.ADMIN
            self.commands.show_role()
            for callback in self.on_role:
                callback()

    def _person(self) -> None:
        with tag("button", "nk-who", type="button", aria_haspopup="menu"):
            tag("span", "nk-avatar", initials(self.user.name), aria_hidden="true")
            with tag("span", "nk-grow"):
                tag("b", "nk-ell", self.user.name)
                role = live("small")
                self.while_role(lambda: put(role, t("role-admin" if self.user.role is UserRole.ADMIN else "role-user")))
            with tag("span", "nk-ib nk-ib-sm", aria_hidden="true"):
                icon("ellipsis", 16)
            with menu("top left", "bottom left") as popup:
                popup.props(remove="auto-close")        # the theme may be tried out
                places = tag("div", "nk-contents")
                self.while_role(lambda: self._fill_menu(places))
                shortcuts = menu_item(t("command-shortcuts"), icon_name="keyboard", classes="nk-not-sm")
                shortcuts.props("data-nk-shortcuts").on("click", popup.close)
                with tag("div", "nk-menu-seg"):
                    theme_switch(self, in_menu=True)
                tag("hr")
                with tag("form", method="post", action="/logout"):
                    menu_item(t("sign-out"), icon_name="log-out").props("type=submit")


    def while_role(self, show: Callable[[], None]) -> None:
        """Now, and again when their role changes."""
        show()
        self.on_role.append(show)

    def _fill_menu(self, places: Element) -> None:
        places.clear()
        with places:
            for path, name, icon_name in places_of(self.user):
                menu_link(t(name), icon_name, path)


def theme_switch(frame: Frame, *, in_menu: bool = False) -> None:
    """Light, dark, as the system: in the menu and on the settings page, which follow each other."""
    names = {theme: t(f"theme-{theme}") for theme in (Theme.LIGHT, Theme.DARK, Theme.SYSTEM)}
    frame.on_theme.append(Choice(t("theme"), names, frame.theme, frame.set_theme, in_menu=in_menu).show)


def places_of(user: User) -> tuple[tuple[str, str, str], ...]:
    """(path, message, icon) of the pages that this person has beside chats."""
    return (MODELS, PEOPLE, LIBRARY, SETTINGS) if user.role is UserRole.ADMIN else (LIBRARY, SETTINGS)


def rail(active: str, frame: Frame) -> Callable[[], None]:
    """The sidebar of the pages that are no chat."""

    def fill(places: Element) -> None:
        places.clear()
        with places:
            for path, name, icon_name in places_of(frame.user):
                current = {"aria_current": "page"} if path == active else {}
                with tag("a", "nk-nav on" if path == active else "nk-nav", href=path, **current):
                    icon(icon_name)
                    tag("span", text=t(name))

    def make() -> None:
        with tag("div", "nk-side-act"), tag("a", "nk-nav", href="/"):
            icon("chevron-left")
            tag("span", text=t("back-to-chats"))
        places = tag("nav", "nk-side-scroll")
        frame.while_role(lambda: fill(places))

    return make


def narrow_head(title: str) -> None:
    """The bar of a page that is no chat: on a phone, and where the sidebar is folded."""
    with tag("header", "nk-head mob"):
        open_menu_buttons()
        tag("span", "nk-picker nk-only-sm", title)


def open_menu_buttons() -> None:
    icon_button("menu", t("menu-open"), "nk-only-sm", 20).props("data-nk-open-menu")
    icon_button("panel-left", t("side-show"), "nk-show-side nk-not-sm").props("data-nk-show-side")
