"""A person's own settings: theme, password, API keys, signing out. On the event loop."""

from __future__ import annotations

from fastapi import Request

from app.errors import AppError, InvalidInput
from app.services.container import Services
from store.tables import ApiKey
from ui.components.chat_files import ChatFiles
from ui.components.dialog import ask, field, show_problem
from ui.components.elements import button, tag
from ui.components.frame import Frame, narrow_head, rail, theme_switch
from ui.components.titles_setting import titles_setting


async def settings_page(services: Services, request: Request) -> None:
    frame = await Frame.make(services, request)
    keys = ApiKeys(services, frame)
    files = ChatFiles(services, frame)
    with frame.around(label="Settings", sidebar=rail("/settings")):
        narrow_head("Settings")
        with tag("div", "nk-page"), tag("div", "nk-page-in nk-page-narrow"):
            with tag("div", "nk-title"), tag("div"):
                tag("h1", "", "Settings")
                tag("p", "", f"For {frame.user.name}, on every device.")
            with tag("div", "nk-card nk-list"):
                with tag("div", "nk-set"):
                    with tag("div"):
                        tag("h2", "", "Theme")
                        tag("p", "", "System follows your device.")
                    theme_switch(frame)
                await titles_setting(services, frame.user)
            _section("Password", "")
            with tag("div", "nk-card"):
                _password_form(services, frame, request.state.session_token)
            _section("API keys", "For programs that speak OpenAI’s API, at /v1 on this address.")
            with tag("div", "nk-card"):
                keys.build()
            _section("Your chats", "As files, to keep or to take elsewhere.")
            with tag("div", "nk-card nk-list"):
                files.build()
            _section("This device", "")
            with tag("div", "nk-card"), tag("form", "nk-set", method="post", action="/logout"):
                with tag("div"):
                    tag("h3", "", "Sign out")
                    tag("p", "", "Answers being written go on.")
                button("Sign out", "nk-btn-quiet", kind="submit")
    await keys.show()


def _section(title: str, about: str) -> None:
    with tag("div", "nk-sec"):
        tag("h2", "", title)
        tag("span", "nk-count", about)


def _password_form(services: Services, frame: Frame, session_token: str | None) -> None:
    with tag("form", "nk-form") as form:
        # A password manager wants to know whose it is.
        tag("input", name="username", value=frame.user.name, autocomplete="username", hidden=True)
        old, old_problem = field("Present password", kind="password", autocomplete="current-password")
        new, new_problem = field("New password", kind="password", autocomplete="new-password")
        places = {"old": old_problem, "password": new_problem}
        with tag("div", "nk-row"):
            button("Change password", "nk-btn-quiet", kind="submit")
            done = tag("span", "nk-done", "Changed. Other devices are signed out.", role="status")
    done.set_visibility(False)

    async def change() -> None:
        done.set_visibility(False)
        for place in places.values():
            show_problem(place, None)
        try:
            await services.accounts.change_password(
                frame.user.id, old.value or "", new.value or "", keep_token=session_token
            )
        except AppError as error:
            wrong = error.field if isinstance(error, InvalidInput) else None
            show_problem(places.get(wrong or "old", old_problem), str(error))
            return
        old.value = new.value = ""
        done.set_visibility(True)

    form.on("submit.prevent", change, args=[])


class ApiKeys:
    """The list of a person's keys, and the making of a new one, which is shown once."""

    def __init__(self, services: Services, frame: Frame) -> None:
        self._accounts = services.accounts
        self._user_id = frame.user.id

    def build(self) -> None:
        self._rows = tag("div", "nk-list")
        with tag("form", "nk-form").on("submit.prevent", self._create, args=[]):
            self._name, self._problem = field("Name of a new key", placeholder="Laptop, editor")
            button("Make a key", "nk-btn-quiet", kind="submit")
            self._made = tag("div", role="status")
        self._made.set_visibility(False)

    async def show(self) -> None:
        keys = [key for key in await self._accounts.list_keys(self._user_id) if key.revoked_at is None]
        self._rows.clear()
        with self._rows:
            for key in keys:
                self._row(key)

    def _row(self, key: ApiKey) -> None:
        async def revoke() -> None:
            await self._accounts.revoke_key(self._user_id, key.id)
            await self.show()

        def ask_first() -> None:
            with self._rows:
                ask(f"Revoke {key.name}?", "Programs that use it are refused from now on.", "Revoke", revoke)

        with tag("div", "nk-set"):
            with tag("div"):
                tag("h3", "", key.name)
                tag("p", "nk-num", f"{key.hint}, made {key.created_at.astimezone():%d %b %Y}")
            button("Revoke", "nk-btn-danger nk-btn-sm").on("click", ask_first)

    async def _create(self) -> None:
        show_problem(self._problem, None)
        self._made.clear()
        try:
            _, secret = await self._accounts.create_key(self._user_id, self._name.value or "")
        except AppError as error:
            show_problem(self._problem, str(error))
            return
        self._name.value = ""
        self._made.set_visibility(True)
        with self._made:
            tag("p", "", "Copy it now; it is not shown again.")
            tag("p", "nk-secret", secret)
        await self.show()
