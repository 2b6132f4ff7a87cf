"""How fast models write here, how soon they begin, by how many ask at once, and what that costs. For admins.

One `BenchPage` an open browser tab, on the event loop. It follows `Changes`: a measurement shows in every tab, from its
first round on. Without one it shows the last, or the one that its address names.
"""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from app.services.bench_history import beside_earlier
from app.services.container import Services
from store.tables import Benchmark, Model
from ui.bench.form import BenchForm
from ui.bench.history import NUM_SHOWN, history_list
from ui.bench.money import MoneyCard
from ui.bench.progress import BenchProgress
from ui.bench.result import Result, show_result
from ui.bench.words import moment_of
from ui.components.elements import icon, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.text import live, put
from ui.language import t
from ui.models.head import BENCH, FIND, INSTALLED, models_head
from ui.refreshing import show_changes


async def bench_page(services: Services, request: Request) -> bool:
    page = BenchPage(services, await Frame.make(services, request), request)
    await page.build()
    return True


class BenchPage:
    def __init__(self, services: Services, frame: Frame, request: Request) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._asked = request.query_params
        self._run_shown = self._asked.get("run", "")
        self._result: tuple[object, ...] = ()       # what is shown, by what it is made from
        self._past: tuple[str, ...] = ()

    async def build(self) -> None:
        ui.page_title(t("page-title", page=t("bench")))
        models = [each.model for each in await self._services.models.list() if not each.model.embeds]
        with self._frame.around(label=t("models"), sidebar=rail(INSTALLED, self._frame)):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in") as place:
                with models_head(t("bench"), t("bench-about"), BENCH):
                    pass                # nothing is done here but on the page itself
                if models:
                    await self._build(models)
                else:
                    _nothing()
        if models:
            show_changes(self._services, self._client, self._frame.user.id, place, {"benchmarks"}, self._show)
            await self._show()

    async def _build(self, models: list[Model]) -> None:
        default = next((each.id for each in models if each.is_default), models[0].id)
        own = await self._services.benchmarks.own_prompts(self._frame.user.id)
        self._form = BenchForm(
            self._services, self._frame.user.id, models, self._asked.get("model", default),
            self._asked.get("against", ""), own,
        )
        self._progress = BenchProgress(self._services)
        with tag("section") as self._result_section:
            with tag("div", "nk-sec"):
                tag("h2", "", t("bench-result"))
                self._when = live("span", "nk-count")
            self._result_place = tag("div", "nk-bench-result")
        with tag("section"):
            with tag("div", "nk-sec"):
                tag("h2", "", t("bench-money"))
                tag("span", "nk-count", t("bench-money-about"))
            self._money = MoneyCard(self._services, await self._services.benchmarks.costs())
        with tag("section") as self._past_section:
            with tag("div", "nk-sec"):
                tag("h2", "", t("bench-history"))
                tag("span", "nk-count", t("bench-history-about"))
            self._past_place = tag("div")

    async def _show(self) -> None:
        status = self._services.benchmarks.last
        is_running = status is not None and status.is_running
        self._progress.show(status)
        self._form.show(is_running=is_running)
        costs = await self._services.benchmarks.costs()
        history = await self._services.benchmarks.history()
        if status is not None and is_running:
            self._run_shown = status.id         # and it stays when it is done
        rows = status.rows if status is not None and is_running else self._rows_to_show(history)
        due = (is_running, costs, *(each.id for each in rows))
        if due != self._result:
            self._result = due
            result = Result(rows, tuple(beside_earlier(history, each) for each in rows), costs)
            self._show_result(result, is_running=is_running)
        self._money.show(costs, rows)
        self._show_past(history[:NUM_SHOWN], history, rows[0].run_id if rows else "")

    def _rows_to_show(self, history: list[Benchmark]) -> tuple[Benchmark, ...]:
        """Of the run that was asked for, or else of the newest, in the order in which its models were named."""
        runs = [each.run_id for each in history]
        shown = self._run_shown if self._run_shown in runs or not runs else runs[0]
        return tuple(sorted((each for each in history if each.run_id == shown), key=lambda each: each.created_at))

    def _show_result(self, result: Result, *, is_running: bool) -> None:
        self._result_section.set_visibility(bool(result.rows))
        self._result_place.clear()
        if not result.rows:
            return
        put(self._when, t("bench-so-far") if is_running else moment_of(result.rows[0].created_at))
        with self._result_place:
            show_result(result)

    def _show_past(self, shown: list[Benchmark], history: list[Benchmark], run_id: str) -> None:
        runs = list(dict.fromkeys(each.run_id for each in shown))
        shown.sort(key=lambda each: (runs.index(each.run_id), each.created_at))      # models as they were named
        due = (run_id, *(each.id for each in shown))
        self._past_section.set_visibility(bool(shown))
        if due == self._past:
            return
        self._past = due
        self._past_place.clear()
        with self._past_place:
            history_list(shown, [beside_earlier(history, each) for each in shown], run_id)


def _nothing() -> None:
    with tag("div", "nk-card"), tag("div", "nk-empty"):
        with tag("div", "nk-glyph"):
            icon("gauge", 20)
        tag("h3", "", t("models-none"))
        tag("p", "", t("bench-no-model"))
        with tag("a", "nk-btn nk-btn-primary", href=FIND):
            icon("search")
            tag("span", text=t("models-find"))
