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
        """Its secrets are not shown, and stay where nothing else is entered and they are not dropped."""
        self._open(entry.connection)

    def _open(self, row: Connection | None) -> None:
        title = t("elsewhere-add") if row is None else row.name
        with self.place, ui.dialog(value=True) as dialog, tag("div", "nk-dialog nk-connection"):
            dialog.props["aria-label"] = title
            tag("h2", "", title)
            with tag("form", "nk-stack") as form:
                name = TextField(t("connection-name"), row.name if row else "", hint=t("connection-name-about"))
                url = TextField(
                    t("connection-url"), row.base_url if row else "", hint=t("connection-url-about"),
                    placeholder=t("connection-url-example"), input_mode="url",
                )
                has_key = row is not None and bool(row.sealed_key)
                key = TextField(
                    t("connection-key"), kind="password", hint=t(f"connection-key-{'kept' if has_key else 'about'}"),
                    autocomplete="new-password",
                )
                drops_key = _drop("key") if has_key else None
                with tag("details", "nk-settings-more"):
                    tag("summary", "", t("connection-details"))
                    has_headers = row is not None and bool(row.sealed_headers)
                    headers = TextField(
                        t("connection-headers"), rows=2,
                        hint=t(f"connection-headers-{'kept' if has_headers else 'about'}"),
                    )
                    drops_headers = _drop("headers") if has_headers else None
                    session = TextField(
                        t("connection-session"), row.session_header if row else SESSION_HEADER,
                        hint=t("connection-session-about"),
                    )
                problem = tag("div")
                with tag("div", "nk-acts"):
                    asking = live("span", "nk-hint nk-grow", role="status")
                    button(t("cancel"), "nk-btn-ghost").on("click", dialog.close)
                    button(t("connection-save"), "nk-btn-primary", kind="submit")
        fields = {"name": name, "base_url": url, "key": key, "headers": headers, "session_header": session}

        async def save() -> None:
            for each in (problem, *(field.problem for field in fields.values())):
                show_problem(each, None)
            put(asking, t("connection-testing"))
            keeps = row is not None
            try:
                entered = Entered(
                    name=name.value, base_url=url.value, session_header=session.value,
                    key=None if keeps and not (key.value or _is_on(drops_key)) else key.value,
                    headers=None if keeps and not (headers.value.strip() or _is_on(drops_headers))
                    else parse_headers(headers.value),
                )
                if row is None:
                    await self._services.connections.add(entered)
                else:
                    await self._services.connections.change(row.id, entered)
            except FORESEEN as error:
                field = fields.get(error.field or "") if isinstance(error, InvalidInput) else None
                if not form.is_deleted:
                    put(asking, "")
                    show_problem(field.problem if field else problem, told(error))
                return
            dialog.close()

        form.on("submit.prevent", save, args=[])
        dialog.on("hide", dialog.delete)


def _drop(what: str) -> Switch:
    return Switch(t(f"connection-{what}-drop"), t(f"connection-{what}-drop-about"), is_on=False)


def _is_on(switch: Switch | None) -> bool:
    return switch is not None and switch.is_on
