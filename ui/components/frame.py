"""The frame around every page: sidebar, main column, and the person's menu at the sidebar's foot. Used by ui/pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from app.services.container import Services
from store.tables import User, UserRole
from ui.components.elements import icon, icon_button, mark, menu, menu_item, tag
from ui.language import LANGUAGE_SETTING, speak, t, wanted_language
from ui.theme import Theme, change_theme, dress
from ui.words import initials

THEME_SETTING = "theme"
THEME_NAMES = {Theme.LIGHT: "Light", Theme.DARK: "Dark", Theme.SYSTEM: "System"}


@dataclass(slots=True)
class Frame:
    """One open page's frame. Its page owns it."""

    services: Services
    user: User
    theme: Theme
    dark_mode: ui.dark_mode
    on_theme: list[Callable[[Theme], None]]

    @classmethod
    async def make(cls, services: Services, request: Request) -> Frame:
        user: User = request.state.user
        theme = Theme.of(await services.accounts.get_setting(user.id, THEME_SETTING))
        language = wanted_language(await services.accounts.get_setting(user.id, LANGUAGE_SETTING), request)
        speak(ui.context.client, language)
        return cls(services, user, theme, dress(theme, language), [])

    async def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        change_theme(self.dark_mode, theme)
        for callback in self.on_theme:
            callback(theme)
        await self.services.accounts.set_setting(self.user.id, THEME_SETTING, theme)

    @contextmanager
    def around(self, *, label: str, sidebar: Callable[[], None]) -> Iterator[Element]:
        """Yields the main column. `sidebar()` makes what stands between the name on top and the person at the foot."""
        with tag("div", "nk-app"):
            with tag("aside", "nk-side", id="menu", aria_label=label):
                with tag("div", "nk-side-top"):
                    mark(22)
                    tag("span", "nk-wordmark nk-grow", "Inglenook")
                    icon_button("panel-left", "Hide sidebar", "nk-not-sm").props("data-nk-hide-side")
                    icon_button("x", "Close menu", "nk-only-sm", 20).props("data-nk-close-menu")
                sidebar()
                with tag("div", "nk-side-foot"):
                    self._person()
            tag("div", "nk-side-scrim").props("data-nk-close-menu")
            with tag("main", "nk-main") as main:
                yield main

    def _person(self) -> None:
        is_admin = self.user.role is UserRole.ADMIN
        with tag("button", "nk-who", type="button", aria_haspopup="menu"):
            tag("span", "nk-avatar", initials(self.user.name), aria_hidden="true")
            with tag("span", "nk-grow"):
                tag("b", "nk-ell", self.user.name)
                tag("small", "", "Admin" if is_admin else "Signed in")
            with tag("span", "nk-ib nk-ib-sm", aria_hidden="true"):
                icon("ellipsis", 16)
            with menu("top left", "bottom left") as popup:
                popup.props(remove="auto-close")        # the theme may be tried out
                with tag("a", "nk-nav", href="/models", role="menuitem"):
                    icon("box")
                    tag("span", text="Models")
                with tag("a", "nk-nav", href="/library", role="menuitem"):
                    icon("library-big")
                    tag("span", text=t("library-title"))
                with tag("a", "nk-nav", href="/settings", role="menuitem"):
                    icon("settings")
                    tag("span", text="Settings")
                with tag("div", "nk-menu-seg"):
                    theme_switch(self, role="menuitemradio", state="aria-checked")
                tag("hr")
                with tag("form", method="post", action="/logout"):
                    menu_item("Sign out", "log-out").props("type=submit")


def theme_switch(frame: Frame, *, role: str = "button", state: str = "aria-pressed") -> None:
    """Light, dark, as the system: in the menu and on the settings page, which follow each other."""
    buttons: dict[Theme, Element] = {}

    def show(theme: Theme) -> None:
        for name, element in buttons.items():
            element.classes(remove="on") if name is not theme else element.classes(add="on")
            element.props[state] = "true" if name is theme else "false"

    def choose(theme: Theme) -> Callable[[], Awaitable[None]]:
        return lambda: frame.set_theme(theme)

    with tag("div", "nk-seg", role="group", aria_label="Theme"):
        for theme, name in THEME_NAMES.items():
            buttons[theme] = tag("button", "", name, type="button", role=role).on("click", choose(theme))
    show(frame.theme)
    frame.on_theme.append(show)


def rail(active: str) -> Callable[[], None]:
    """The sidebar of the pages that are no chat."""

    def make() -> None:
        with tag("div", "nk-side-act"), tag("a", "nk-nav", href="/"):
            icon("chevron-left")
            tag("span", text="Back to chats")
        with tag("nav", "nk-side-scroll"):
            for path, name, icon_name in (
                ("/models", "Models", "box"), ("/library", t("library-title"), "library-big"),
                ("/settings", "Settings", "settings"),
            ):
                current = {"aria_current": "page"} if path == active else {}
                with tag("a", "nk-nav on" if path == active else "nk-nav", href=path, **current):
                    icon(icon_name)
                    tag("span", text=name)

    return make


def narrow_head(title: str) -> None:
    """The bar of a page that is no chat: on a phone, and where the sidebar is folded."""
    with tag("header", "nk-head mob"):
        open_menu_buttons()
        tag("span", "nk-picker nk-only-sm", title)


def open_menu_buttons() -> None:
    icon_button("menu", "Open menu", "nk-only-sm", 20).props("data-nk-open-menu")
    icon_button("panel-left", "Show sidebar", "nk-show-side nk-not-sm").props("data-nk-show-side")
