"""Servers elsewhere on the models page: whether they may be used, how each does, and what an admin does with it.

A row stays in place while its words change. Asking a server takes a while: its row says so meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from app.errors import AppError
from app.services.connections import ConnectionEntry
from app.services.container import Services
from app.services.endpoints import kind_of
from app.services.models import ModelEntry
from engine.errors import EngineError
from engine.remote.endpoint import SERVER_NAMES
from store.errors import StoreError
from store.tables import ConnectionModel
from ui.components.dialog import ask, show_problem
from ui.components.elements import button, icon_button, menu, menu_item, tag
from ui.components.native import Switch
from ui.components.text import live, put
from ui.language import in_words, t, told
from ui.models.connection_form import ConnectionForm
from ui.words import brief, context, speed, when

T = TypeVar("T")
Line = tuple[ConnectionModel, ModelEntry | None, float | None]      # with its speed, in tokens/s

WRONG = (AppError, EngineError, StoreError)
NUM_SHOWN = 5       # models of a connection, until all are asked for


class ConnectionsRoom:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._form = ConnectionForm(services)
        self._rows: dict[str, ConnectionRow] = {}

    def build(self) -> None:
        with tag("section", aria_label=t("elsewhere")) as place:
            with tag("div", "nk-sec"):
                tag("h2", "", t("elsewhere"))
                self._count = live("span", "nk-count")
                with tag("div", "nk-end"):
                    self._add = button(t("elsewhere-add"), "nk-btn-quiet nk-btn-sm", icon_name="plus")
            self._add.on("click", self._form.add)
            with tag("div", "nk-card nk-list"):
                with tag("div", "nk-elsewhere"):
                    self._switch = Switch(t("elsewhere-allow"), t("elsewhere-allow-about"), is_on=False)
                    self._problem = tag("div")
                self._list = tag("div", "nk-contents")
                self._none = tag("p", "nk-hint nk-elsewhere", t("elsewhere-none"))
        self._switch.element.on("click", self._allow)
        self._form.place = place

    async def show(self, models: Sequence[ModelEntry]) -> None:
        """`models` are those elsewhere that can be used now."""
        connections = self._services.connections
        is_allowed, entries = await connections.is_allowed(), await connections.list()
        speeds = await self._services.model_speeds.elsewhere([each.model for each in models])
        self._switch.show(is_allowed)
        self._add.set_visibility(is_allowed)
        self._none.set_visibility(is_allowed and not entries)
        put(self._count, t("elsewhere-count", count=len(entries)) if entries else "")
        known = {each.connection.id: each for each in entries}
        for connection_id in [each for each in self._rows if each not in known]:
            self._rows.pop(connection_id).delete()
        by_id = {each.model.id: each for each in models}
        for connection_id, entry in known.items():
            if connection_id not in self._rows:
                with self._list:
                    self._rows[connection_id] = ConnectionRow(self._services, self._form, entry)
            self._rows[connection_id].show(entry, by_id, speeds, is_allowed=is_allowed)

    async def _allow(self) -> None:
        show_problem(self._problem, None)
        try:
            await self._services.connections.set_allowed(self._switch.is_on)
        except StoreError as error:
            show_problem(self._problem, told(error))


class ConnectionRow:
    def __init__(self, services: Services, form: ConnectionForm, entry: ConnectionEntry) -> None:
        self._services = services
        self._form = form
        self._entry = entry
        self._kind = ""
        self._left_out = 0
        self._problem_shown: str | None = None
        self._shown: object = None
        name = entry.connection.name
        with tag("div", "nk-mrow") as self._row:
            with tag("div"):
                with tag("span", "nk-name"):
                    self._name = live("span", "nk-break")
                    self._server = live("span", "nk-tag")
                self._url = live("span", "nk-sub nk-break")
            with tag("div", "nk-state"):
                self._pill = live("span", "nk-pill")
            with tag("div", "nk-cell nk-memc nk-num"):
                self._num_models, self._when = live("b"), live("span")
            with tag("div", "nk-cell nk-speed nk-num"):
                self._latency = live("span")
            with tag("div", "nk-acts"):
                self._turn = tag("button", "nk-btn nk-btn-quiet nk-btn-sm", type="button").on("click", self._switch)
                with self._turn:
                    self._word = live("span")
                with icon_button("ellipsis", t("connection-more", connection=name)), menu("bottom right", "top right"):
                    menu_item(t("connection-test"), icon_name="refresh-cw").on("click", self._test)
                    menu_item(t("connection-change"), icon_name="pencil").on("click", self._change)
                    menu_item(t("connection-remove"), icon_name="trash-2", classes="danger").on("click", self._remove)
            self._models = tag("div", "nk-led")
            self._reason = tag("div", "nk-reason")
            self._said = live("p", "nk-hint nk-reason", role="status")

    def delete(self) -> None:
        self._row.delete()

    def show(
        self, entry: ConnectionEntry, models: Mapping[str, ModelEntry], speeds: Mapping[str, float], *, is_allowed: bool
    ) -> None:
        self._entry = entry
        row = entry.connection
        put(self._name, row.name)
        put(self._server, SERVER_NAMES[kind_of(row)])
        put(self._url, row.base_url)
        kind, word = _state(entry, is_allowed=is_allowed)
        if kind != self._kind:
            self._pill.classes(remove=self._kind, add=kind)
            self._kind = kind
        put(self._pill, t(word))
        put(self._num_models, t("connection-models", count=len(entry.models)))
        put(self._when, t("connection-answered", when=when(row.answered_at)) if row.answered_at else "")
        put(self._latency, t("connection-latency", time=brief(row.latency_s)) if row.latency_s else "")
        put(self._word, t("connection-switch-off" if row.is_on else "connection-switch-on"))
        self._turn.set_visibility(is_allowed)       # while all are off, it would change nothing that can be seen
        if (left_out := entry.num_left_out) != self._left_out:
            self._left_out = left_out
            put(self._said, t("connection-left-out", count=left_out) if left_out else "")
        problem = in_words(row.problem) if row.problem else None
        if problem != self._problem_shown:
            self._tell(problem)
        self._show_models(entry, models, speeds)

    def _tell(self, problem: str | None) -> None:
        self._problem_shown = problem
        show_problem(self._reason, problem)

    def _show_models(
        self, entry: ConnectionEntry, models: Mapping[str, ModelEntry], speeds: Mapping[str, float]
    ) -> None:
        lines = [(each, models.get(each.model_id), speeds.get(each.model_id)) for each in entry.models]
        now = [
            (led.model_id, led.context_tokens, model and (model.model.is_default, model.model.quantisation), rate)
            for led, model, rate in lines
        ]
        if now == self._shown:
            return
        self._shown = now
        self._models.clear()
        with self._models:
            for line in lines[:NUM_SHOWN]:
                self._model(*line)
            if len(lines) > NUM_SHOWN:
                self._rest(lines[NUM_SHOWN:])

    def _rest(self, lines: list[Line]) -> None:
        """Made when somebody opens it: there may be hundreds, for each of which an open page takes its time."""
        with tag("details", "nk-find-rest") as rest:
            tag("summary", "", t("connection-rest", count=len(lines)))

        def fill() -> None:
            with rest:
                while lines:
                    self._model(*lines.pop(0))

        rest.on("toggle", fill, args=[])

    def _model(self, led: ConnectionModel, entry: ModelEntry | None, rate: float | None) -> None:
        """One line. Without an entry it cannot be used now."""
        model = entry.model if entry else None
        facts = (
            t("model-context", context=context(led.context_tokens)) if led.context_tokens else "",
            model.quantisation if model else "",
            t("model-embeddings") if model and model.embeds else "",
            speed(rate) if rate else "",
        )
        with tag("div", "nk-led-row"):
            tag("b", "nk-break", led.model_id)
            tag("span", "nk-sub nk-num", " · ".join(filter(None, facts)))
            if model is not None and model.is_default:
                tag("span", "nk-tag", t("model-default"))
            elif model is not None and not model.embeds:
                make = button(t("model-set-default"), "nk-btn-ghost nk-btn-sm")
                make.props["aria-label"] = t("model-set-default-named", model=led.model_id)
                make.on("click", self._doing(lambda: self._services.models.set_default(led.model_id)))

    # --- what an admin does -------------------------------------------------------------------------------------------

    async def _switch(self) -> None:
        row = self._entry.connection
        await self._try(self._services.connections.set_on(row.id, not row.is_on))

    async def _test(self) -> None:
        put(self._said, t("connection-testing"))
        entry = await self._try(self._services.connections.test(self._entry.connection.id))
        if entry is None:
            put(self._said, "")
            return
        self._left_out = entry.num_left_out     # which is said here
        left_out = t("connection-left-out", count=entry.num_left_out) if entry.num_left_out else ""
        put(self._said, " ".join(filter(None, (t("connection-tested", count=len(entry.models)), left_out))))

    async def _change(self) -> None:
        await self._form.change(self._entry)

    async def _remove(self) -> None:
        row = self._entry.connection
        with self._row:
            ask(
                t("connection-remove-question", connection=row.name), t("connection-remove-about"),
                t("connection-remove"), self._doing(lambda: self._services.connections.remove(row.id)),
            )

    def _doing(self, make: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            await self._try(make())

        return do

    async def _try(self, doing: Awaitable[T]) -> T | None:
        """None where it cannot be done, and then the row says why."""
        self._tell(None)
        try:
            return await doing
        except WRONG as error:
            self._tell(told(error))
            return None


def _state(entry: ConnectionEntry, *, is_allowed: bool) -> tuple[str, str]:
    row = entry.connection
    if not (row.is_on and is_allowed):
        return "idle", "connection-off" if is_allowed else "connection-all-off"
    if row.failed_at is not None:
        return "bad", "connection-fails"
    return ("ok", "connection-answers") if row.answered_at is not None else ("idle", "connection-unknown")
