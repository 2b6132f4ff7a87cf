"""How Inglenook looks and writes for one person: theme, language, size of text, the Enter key. On the settings page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from nicegui import ui

from app.language import language_named, languages
from ui.components.choice import Choice
from ui.components.elements import tag
from ui.components.frame import Frame, theme_switch
from ui.language import LANGUAGE_SETTING, t
from ui.preferences import ENTER_SETTING, TEXT_PERCENTS, TEXT_SETTING, Enter, show_now

SYSTEM = "system"


class PreferenceSettings:
    def __init__(self, frame: Frame, *, is_mac: bool) -> None:
        self._frame = frame
        self._preferences = frame.preferences
        self._send_keys = "⌘ ↵" if is_mac else f"{t('key-mod')} ↵"

    def build_look(self) -> None:
        with _row(t("theme"), t("settings-theme-about")):
            theme_switch(self._frame)
        with _row(t("settings-language"), t("settings-language-about")):
            known = {code: language.name for code, language in languages().items()}
            language = language_named(self._preferences.language)
            Choice(
                t("settings-language"), {SYSTEM: t("theme-system"), **known},
                language.code if language else SYSTEM, self._set_language,
                langs={code: code for code in known},
            )
        with _row(t("settings-text"), t("settings-text-about")):
            sizes = {percent: t("unit-percent", number=percent) for percent in TEXT_PERCENTS}
            Choice(t("settings-text"), sizes, self._preferences.text_percent, self._set_text)

    def build_writing(self) -> None:
        with _row(t("settings-enter"), t("settings-enter-about", keys=self._send_keys)):
            names = {Enter.SEND: t("settings-enter-send"), Enter.NEW_LINE: t("settings-enter-newline")}
            Choice(t("settings-enter"), names, self._preferences.enter, self._set_enter)

    async def _set_language(self, code: str) -> None:
        await self._keep(LANGUAGE_SETTING, code)
        ui.run_javascript("location.reload()")      # every word of the page is another

    async def _set_text(self, percent: int) -> None:
        self._preferences = replace(self._preferences, text_percent=percent)
        self._show()
        await self._keep(TEXT_SETTING, percent)

    async def _set_enter(self, enter: Enter) -> None:
        self._preferences = replace(self._preferences, enter=enter)
        self._show()
        await self._keep(ENTER_SETTING, enter.value)

    def _show(self) -> None:
        show_now(self._preferences.text_percent, self._preferences.enter)

    async def _keep(self, key: str, value: Any) -> None:
        await self._frame.services.accounts.set_setting(self._frame.user.id, key, value)


@contextmanager
def _row(title: str, about: str) -> Iterator[None]:
    with tag("div", "nk-set"):
        with tag("div"):
            tag("h3", "", title)
            tag("p", "", about)
        yield
