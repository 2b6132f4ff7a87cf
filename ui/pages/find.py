"""Finding a model: search at the hub as one types, and what to begin with on this machine. For admins.

One `FindPage` an open browser tab, on the event loop. What is asked for stands in the address, so that the way back
from a model's page leads to the same results. Without a network the page says so at once; all else goes on working.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from nicegui import background_tasks, ui
from nicegui.events import GenericEventArguments

from app.errors import AppError
from app.hub.client import FoundModel, Sort
from app.services.container import Services
from app.services.starters import recommended, starters
from ui.components.elements import button, icon, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.native import VALUE, SelectField
from ui.components.text import live, put
from ui.language import t, told
from ui.models.get_button import GetButton, show_gets
from ui.models.head import FIND, INSTALLED, models_head
from ui.models.results import result_rows, starter_row
from ui.refreshing import on_gone, show_changes

WAIT_S = 0.35               # after the last letter
PAGE_SIZE = 20
MOST = 100
SIZES = {
    "": "find-any-size", "max:2B": "find-size-2", "min:2B,max:5B": "find-size-5", "min:5B,max:10B": "find-size-10",
    "min:10B,max:35B": "find-size-35", "min:35B": "find-size-more",
}
FORMATS = {"gguf": "find-gguf", "safetensors": "find-safetensors", "": "find-any-format"}
LICENCES = ("", "apache-2.0", "mit", "llama3.1", "llama3.2", "gemma", "cc-by-nc-4.0")
SORTS = {
    "downloads": "find-sort-downloads", "trendingScore": "find-sort-trending", "likes": "find-sort-likes",
    "lastModified": "find-sort-changed", "createdAt": "find-sort-new",
}


async def find_page(services: Services, request: Request) -> bool:
    page = FindPage(services, await Frame.make(services, request), Query.of(request))
    await page.build()
    return True


@dataclass(frozen=True, slots=True)
class Query:
    text: str = ""
    size: str = ""
    format: str = "gguf"
    licence: str = ""
    sort: str = "downloads"

    @classmethod
    def of(cls, request: Request) -> Query:
        """What no choice offers is left as it would be without it."""
        asked = request.query_params
        known = {"size": SIZES, "format": FORMATS, "licence": LICENCES, "sort": SORTS}
        chosen = {name: asked[name] for name, values in known.items() if asked.get(name) in values}
        return cls(text=asked.get("text", "")[:200], **chosen)

    @property
    def address(self) -> str:
        rule = Query()
        values = {
            name: value for name in self.__slots__ if (value := getattr(self, name)) != getattr(rule, name)
        }
        return FIND + (f"?{urlencode(values)}" if values else "")


class FindPage:
    def __init__(self, services: Services, frame: Frame, query: Query) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._query = query
        self._limit = PAGE_SIZE
        self._turn = 0
        self._buttons: list[GetButton] = []

    async def build(self) -> None:
        ui.page_title(t("page-title", page=t("find")))
        with self._frame.around(label=t("models"), sidebar=rail(INSTALLED, self._frame)):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in") as place:
                with models_head(t("find"), t("find-about"), FIND):
                    pass
                self._build_search()
                self._starters = tag("div")
                self._results = tag("div")
                self._said = live("div", "nk-sr", role="status")
        await self._show_starters()
        show_changes(self._services, self._client, self._frame.user.id, place, {"downloads", "models"}, self._show_gets)
        # The page is there before the hub has answered.
        reading = background_tasks.create(self._search(), name="first search", context=place)
        on_gone(self._client, reading.cancel)

    def _build_search(self) -> None:
        host = urlsplit(self._services.settings.hub_endpoint).netloc
        with tag("label", "nk-input nk-find-box"):
            icon("search")
            box = tag(
                "input", "", type="search", defaultValue=self._query.text, placeholder=t("find-placeholder"),
                aria_label=t("find-label"), autocomplete="off", autofocus=True, maxlength=200,
            )
            self._spin = tag("span", "nk-spin nk-spin-ember")
            tag("span", "nk-faint nk-not-sm nk-find-host", t("find-host") if host == "huggingface.co" else host)
        box.on("input", self._typed, js_handler=VALUE, throttle=WAIT_S, leading_events=False, trailing_events=True)
        with tag("div", "nk-row nk-filters"):
            self._filter("find-filter-size", "size", {value: t(name) for value, name in SIZES.items()})
            self._filter("find-filter-format", "format", {value: t(name) for value, name in FORMATS.items()})
            licences = {value: value or t("find-any-licence") for value in LICENCES}
            self._filter("find-filter-licence", "licence", licences)
            tag("span", "nk-grow")
            self._filter("find-filter-sort", "sort", {value: t(name) for value, name in SORTS.items()})
        self._spin.set_visibility(False)

    def _filter(self, label: str, name: str, names: dict[str, str]) -> None:
        async def choose(value: str) -> None:
            await self._change(**{name: value})

        SelectField(t(label), names, getattr(self._query, name), choose, is_chip=True)

    async def _typed(self, event: GenericEventArguments) -> None:
        text = str(event.args)[:200]
        if text != self._query.text:
            await self._change(text=text)

    async def _change(self, **values: Any) -> None:
        self._query = replace(self._query, **values)
        self._limit = PAGE_SIZE
        self._client.run_javascript(f"history.replaceState(history.state, '', {json.dumps(self._query.address)})")
        self._starters.set_visibility(not self._query.text.strip())
        await self._search()

    # --- what is found ------------------------------------------------------------------------------------------------

    async def _search(self) -> None:
        """The last thing that is asked for is shown; an answer that comes after it is dropped."""
        self._turn += 1
        turn, query, limit = self._turn, self._query, self._limit
        self._spin.set_visibility(True)
        found: Sequence[FoundModel] = ()
        problem = ""
        try:
            found = await self._services.hub.search(
                query.text.strip(), file_format=query.format, licence=query.licence, parameters=query.size,
                sort=cast(Sort, query.sort), limit=limit,
            )
            fits = await self._services.hub.guesses(found, query.format)
        except AppError as error:
            problem = told(error)
        if turn != self._turn or self._client.is_deleted:
            return
        self._spin.set_visibility(False)
        if problem:
            self._show_problem(problem)
            return
        models = await self._services.models.list()
        installed = {entry.model.repo for entry in models if entry.model.repo}
        self._results.clear()
        with self._results:
            with tag("div", "nk-sec"):
                tag("h2", "", t("find-results") if query.text.strip() else t("find-popular"))
                tag("span", "nk-count", t("find-count", count=len(found)) if found else "")
            if found:
                with tag("div", "nk-card nk-list"):
                    result_rows(found, fits, installed, query.format)
            else:
                self._nothing(query)
            if len(found) == limit and limit < MOST:
                with tag("div", "nk-more-row"):
                    button(t("find-more"), "nk-btn-quiet").on("click", self._more)
        put(self._said, t("find-count", count=len(found)))

    async def _more(self) -> None:
        self._limit = min(MOST, self._limit + 2 * PAGE_SIZE)
        await self._search()

    def _show_problem(self, problem: str) -> None:
        self._results.clear()
        with self._results, tag("div", "nk-notice warn nk-find-problem", role="alert"):
            icon("unplug", 16)
            with tag("span", "nk-grow"):
                tag("b", "", t("find-unreachable"))
                tag("span", "", f" {problem}")
            button(t("try-again"), "nk-btn-quiet nk-btn-sm").on("click", self._search)

    def _nothing(self, query: Query) -> None:
        with tag("div", "nk-card"), tag("div", "nk-empty"):
            with tag("div", "nk-glyph"):
                icon("search", 20)
            tag("h3", "", t("find-none"))
            tag("p", "", t("find-none-about", text=query.text.strip()) if query.text.strip() else t("find-none-filter"))

    # --- what to begin with -------------------------------------------------------------------------------------------

    async def _show_starters(self) -> None:
        known = starters()
        judged = list(zip(known, await self._services.hub.guess([each.rough for each in known]), strict=True))
        speeds = await self._services.model_speeds.of_fits({starter.id: fit for starter, fit in judged})
        best = recommended(judged, speeds)
        rest = [each for each in judged if each not in best]
        with self._starters:
            with tag("div", "nk-sec nk-sec-first"):
                tag("h2", "", t("find-starters"))
                tag("span", "nk-count", t("find-starters-about"))
            with tag("div", "nk-card nk-list"):
                for index, (starter, fit) in enumerate(best):
                    speed = speeds.get(starter.id)
                    row = starter_row(self._services, starter, fit, speed, is_recommended=index == 0)
                    self._buttons.append(row)
            with tag("details", "nk-find-rest"):
                tag("summary", "", t("find-starters-rest", count=len(rest)))
                with tag("div", "nk-card nk-list"):
                    for starter, fit in rest:
                        speed = speeds.get(starter.id)
                        row = starter_row(self._services, starter, fit, speed, is_recommended=False)
                        self._buttons.append(row)
        self._starters.set_visibility(not self._query.text.strip())
        await self._show_gets()

    async def _show_gets(self) -> None:
        await show_gets(self._services, self._buttons)
