"""A person's API keys, and the making of a new one, which is shown once. Used by the settings page."""

from __future__ import annotations

from app.errors import AppError
from app.services.container import Services
from store.tables import ApiKey
from ui.components.dialog import ask, field, show_problem
from ui.components.elements import button, tag
from ui.components.frame import Frame
from ui.language import t, told
from ui.words import date


class ApiKeys:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._accounts = services.accounts
        self._user_id = frame.user.id

    def build(self) -> None:
        self._rows = tag("div", "nk-list")
        with tag("form", "nk-form").on("submit.prevent", self._create, args=[]):
            self._name, self._problem = field(t("settings-key-name"), placeholder=t("settings-key-example"))
            button(t("settings-key-make"), "nk-btn-quiet", kind="submit")
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
                question = t("settings-key-revoke-question", name=key.name)
                ask(question, t("settings-key-revoke-about"), t("settings-key-revoke"), revoke)

        with tag("div", "nk-set"):
            with tag("div"):
                tag("h3", "", key.name)
                made = t("settings-key-made", hint=key.hint, date=date(key.created_at.astimezone()))
                tag("p", "nk-num", made)
            button(t("settings-key-revoke"), "nk-btn-danger nk-btn-sm").on("click", ask_first)

    async def _create(self) -> None:
        show_problem(self._problem, None)
        self._made.clear()
        try:
            _, secret = await self._accounts.create_key(self._user_id, self._name.value or "")
        except AppError as error:
            show_problem(self._problem, told(error))
            return
        self._name.value = ""
        self._made.set_visibility(True)
        with self._made:
            tag("p", "", t("settings-key-copy"))
            tag("p", "nk-secret", secret)
        await self.show()
