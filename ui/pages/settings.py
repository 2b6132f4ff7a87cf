"""A person's own settings: look, writing, password, API keys, chats as files, signing out. On the event loop."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from app.errors import InvalidInput
from app.services.container import Services
from ui.components.api_keys import ApiKeys
from ui.components.chat_files import ChatFiles
from ui.components.dialog import field, show_problem
from ui.components.elements import button, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.model_rules import ModelRulesForm
from ui.components.preference_settings import PreferenceSettings
from ui.components.titles_setting import titles_setting
from ui.language import FORESEEN, t, told
from ui.refreshing import show_changes


async def settings_page(services: Services, request: Request) -> None:
    frame = await Frame.make(services, request)
    ui.page_title(t("page-title", page=t("settings")))
    preferences = PreferenceSettings(frame, is_mac="Mac OS" in request.headers.get("user-agent", ""))
    keys = ApiKeys(services, frame)
    files = ChatFiles(services, frame)
    with frame.around(label=t("settings"), sidebar=rail("/settings", frame)):
        narrow_head(t("settings"))
        with tag("div", "nk-page"), tag("div", "nk-page-in nk-page-narrow"):
            with tag("div", "nk-title"), tag("div"):
                tag("h1", "", t("settings"))
                tag("p", "", t("settings-for", name=frame.user.name))
            _section(t("settings-look"))
            with tag("div", "nk-card nk-list"):
                preferences.build_look()
            _section(t("settings-writing"))
            with tag("div", "nk-card nk-list"):
                preferences.build_writing()
                await titles_setting(services, frame.user)
            _section(t("settings-password"))
            with tag("div", "nk-card"):
                _password_form(services, frame, request.state.session_token)
            _section(t("settings-keys"), t("settings-keys-about"))
            with tag("div", "nk-card"):
                keys.build()
            _section(t("settings-files"), t("settings-files-about"))
            with tag("div", "nk-card nk-list"):
                files.build()
            rules = tag("div", "nk-contents")
            _section(t("settings-device"))
            with tag("div", "nk-card"), tag("form", "nk-set", method="post", action="/logout"):
                with tag("div"):
                    tag("h3", "", t("sign-out"))
                    tag("p", "", t("settings-sign-out-about"))
                button(t("sign-out"), "nk-btn-quiet", kind="submit")

    async def show_rules() -> None:
        """Who becomes an admin has them at once. Pages of who is none any more load anew."""
        if rules.default_slot.children or not await services.accounts.is_admin(frame.user.id):
            return
        with rules:
            _section(t("settings-models"), t("settings-models-about"))
            with tag("div", "nk-card"):
                await ModelRulesForm(services).build()

    await show_rules()
    show_changes(services, ui.context.client, frame.user.id, rules, {"role"}, show_rules)
    show_changes(services, ui.context.client, frame.user.id, keys.place, {"people"}, keys.show)
    await keys.show()


def _section(title: str, about: str = "") -> None:
    with tag("div", "nk-sec"):
        tag("h2", "", title)
        if about:
            tag("span", "nk-count", about)


def _password_form(services: Services, frame: Frame, session_token: str | None) -> None:
    with tag("form", "nk-form") as form:
        # A password manager wants to know whose it is.
        tag("input", name="username", value=frame.user.name, autocomplete="username", hidden=True)
        old, old_problem = field(
            t("settings-password-present"), kind="password", autocomplete="current-password"
        )
        new, new_problem = field(t("settings-password-new"), kind="password", autocomplete="new-password")
        places = {"old": old_problem, "password": new_problem}
        with tag("div", "nk-row"):
            button(t("settings-password-change"), "nk-btn-quiet", kind="submit")
            done = tag("span", "nk-done", t("settings-password-changed"), role="status")
    done.set_visibility(False)

    async def change() -> None:
        done.set_visibility(False)
        for place in places.values():
            show_problem(place, None)
        try:
            await services.accounts.change_password(
                frame.user.id, old.value or "", new.value or "", keep_token=session_token
            )
        except FORESEEN as error:
            wrong = error.field if isinstance(error, InvalidInput) else None
            show_problem(places.get(wrong or "old", old_problem), told(error))
            return
        old.value = new.value = ""
        done.set_visibility(True)

    form.on("submit.prevent", change, args=[])
