"""The form of a connection to a server elsewhere, over the models page. Nothing is kept before its server answers."""

from __future__ import annotations

from nicegui import ui
from nicegui.element import Element

from app.errors import InvalidInput
from app.services.connections import ConnectionEntry, Entered, parse_headers
from app.services.container import Services
from engine.remote.endpoint import SESSION_HEADER
from store.tables import Connection
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.native import Switch, TextField
from ui.components.text import live, put
from ui.language import FORESEEN, t, told


class ConnectionForm:
    place: Element

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self) -> None:
        self._open(None)

    async def change(self, entry: ConnectionEntry) -> None:
        self._open(entry.connection)

    def _open(self, row: Connection | None) -> None:
        title = t("elsewhere-add") if row is None else row.name
        with self.place, ui.dialog(value=True) as dialog, tag("div", "nk-dialog nk-connection"):
            dialog.props["aria-label"] = title
            tag("h2", "", title)
            with tag("form", "nk-stack") as form:
                fields = _Fields(row)
                problem = tag("div")
                with tag("div", "nk-acts"):
                    asking = live("span", "nk-hint nk-grow", role="status")
                    button(t("cancel"), "nk-btn-ghost").on("click", dialog.close)
                    button(t("connection-save"), "nk-btn-primary", kind="submit")

        async def save() -> None:
            for each in (problem, *fields.problems.values()):
                show_problem(each, None)
            put(asking, t("connection-testing"))
            try:
                if row is None:
                    await self._services.connections.add(fields.entered)
                else:
                    await self._services.connections.change(row.id, fields.entered)
            except FORESEEN as error:
                if not form.is_deleted:
                    put(asking, "")
                    field = error.field if isinstance(error, InvalidInput) else None
                    show_problem(fields.problems.get(field or "", problem), told(error))
                return
            dialog.close()

        form.on("submit.prevent", save, args=[])
        dialog.on("hide", dialog.delete)


class _Fields:
    """Secrets are not shown, and stay where nothing else is entered and they are not dropped."""

    def __init__(self, row: Connection | None) -> None:
        has_key, has_headers = bool(row and row.sealed_key), bool(row and row.sealed_headers)
        self._is_new = row is None
        self._name = TextField(t("connection-name"), row.name if row else "", hint=t("connection-name-about"))
        self._url = TextField(
            t("connection-url"), row.base_url if row else "", hint=t("connection-url-about"),
            placeholder=t("connection-url-example"), input_mode="url",
        )
        self._key = TextField(
            t("connection-key"), kind="password", hint=t(f"connection-key-{'kept' if has_key else 'about'}"),
            autocomplete="new-password",
        )
        self._drops_key = _drop("key") if has_key else None
        with tag("details", "nk-settings-more"):
            tag("summary", "", t("connection-details"))
            self._headers = TextField(
                t("connection-headers"), rows=2, hint=t(f"connection-headers-{'kept' if has_headers else 'about'}")
            )
            self._drops_headers = _drop("headers") if has_headers else None
            self._session = TextField(
                t("connection-session"), row.session_header if row else SESSION_HEADER,
                hint=t("connection-session-about"),
            )
        self.problems = {
            "name": self._name.problem, "base_url": self._url.problem, "key": self._key.problem,
            "headers": self._headers.problem, "session_header": self._session.problem,
        }

    @property
    def entered(self) -> Entered:
        """Raises InvalidInput for headers that are none."""
        has_key = self._is_new or bool(self._key.value) or _is_on(self._drops_key)
        has_headers = self._is_new or bool(self._headers.value.strip()) or _is_on(self._drops_headers)
        return Entered(
            name=self._name.value,
            base_url=self._url.value,
            session_header=self._session.value,
            key=self._key.value if has_key else None,
            headers=parse_headers(self._headers.value) if has_headers else None,
        )


def _drop(what: str) -> Switch:
    return Switch(t(f"connection-{what}-drop"), t(f"connection-{what}-drop-about"), is_on=False)


def _is_on(switch: Switch | None) -> bool:
    return switch is not None and switch.is_on
