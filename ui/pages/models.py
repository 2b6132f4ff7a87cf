"""The models on this machine: what they take of its memory, what is being downloaded, loading, unloading, removing; and
those elsewhere.

For admins. One `ModelsPage` an open browser tab, on the event loop. It follows `Changes`: what is done elsewhere shows
here. What a loaded model does changes with each of its steps: an open page looks once a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from nicegui import ui

from app.services.container import Services
from app.services.engines import ModelState
from app.services.models import ModelEntry, size_on_disk
from ui.components.elements import button, icon, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.memory_card import memory_card
from ui.components.text import live, put
from ui.language import t
from ui.models.bring import BringDialog
from ui.models.connections import ConnectionsRoom
from ui.models.downloads import DownloadList
from ui.models.figures import keep_figures_fresh
from ui.models.head import FIND, INSTALLED, models_head
from ui.models.row import ModelRow
from ui.refreshing import show_changes
from ui.words import size

NUM_SHOWN = 16      # of those that only lie on the disk, until all are asked for: a page with 200 opens as quickly


async def models_page(services: Services, request: Request) -> bool:
    page = ModelsPage(services, await Frame.make(services, request))
    await page.build()
    return True


class ModelsPage:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._bring = BringDialog(services)
        self._downloads = DownloadList(services)
        self._connections = ConnectionsRoom(services)
        self._rows: dict[str, ModelRow] = {}
        self._shows_all = False

    async def build(self) -> None:
        ui.page_title(t("page-title", page=t("models")))
        with self._frame.around(label=t("models"), sidebar=rail(INSTALLED, self._frame)):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in") as place:
                with models_head(t("models"), t("models-about"), INSTALLED):
                    add = button(t("models-add-file"), "nk-btn-quiet", icon_name="folder-plus")
                    add.on("click", self._bring.open)
                self._memory = tag("div")
                self._downloads.build()
                with tag("div", "nk-sec"):
                    tag("h2", "", t("models-installed"))
                    self._total = live("span", "nk-count")
                self._list = tag("div", "nk-card nk-list")
                self._more = tag("div", "nk-more-row")
                with self._more, tag("button", "nk-btn nk-btn-quiet", type="button").on("click", self._show_all):
                    self._all_word = live("span")
                self._nothing = tag("div", "nk-card")
                self._connections.build()
        with self._nothing:
            _nothing()
        self._bring.place = place
        self._bring.take_drops_on(place)
        user_id = self._frame.user.id
        show_changes(self._services, self._client, user_id, place, {"models"}, self._show)
        show_changes(self._services, self._client, user_id, place, {"downloads"}, self._show_downloads)
        await self._show()
        keep_figures_fresh(self._client, self._rows.values)

    async def _show_downloads(self) -> None:
        self._downloads.show()

    async def _show_all(self) -> None:
        self._shows_all = True
        await self._show()

    async def _show(self) -> None:
        listed = await self._services.models.list()
        await self._connections.show([entry for entry in listed if entry.is_elsewhere])
        entries = [entry for entry in listed if not entry.is_elsewhere]
        self._memory.clear()
        with self._memory:
            memory_card(entries)
        shown = entries if self._shows_all else foremost(entries)
        self._show_rows(shown)
        self._more.set_visibility(len(shown) < len(entries))
        put(self._all_word, t("models-show-all", count=len(entries)))
        on_disk = size_on_disk([entry.model for entry in entries])
        put(self._total, t("models-total", models=t("count-models", count=len(entries)), size=size(on_disk)))
        self._list.set_visibility(bool(entries))
        self._nothing.set_visibility(not entries)

    def _show_rows(self, entries: list[ModelEntry]) -> None:
        known = {entry.model.id for entry in entries}
        for model_id in [each for each in self._rows if each not in known]:
            self._rows.pop(model_id).delete()
        for index, entry in enumerate(entries):
            if entry.model.id in self._rows:
                self._rows[entry.model.id].show(entry)
                continue
            with self._list:
                row = self._rows[entry.model.id] = ModelRow(self._services, entry)
            if index < len(self._rows) - 1:
                row.move_to(index)


def foremost(entries: Sequence[ModelEntry]) -> list[ModelEntry]:
    """In their order: all that are more than files, and some of the others."""
    num_left = NUM_SHOWN
    shown: list[ModelEntry] = []
    for entry in entries:
        is_quiet = entry.status.state is ModelState.ON_DISK and not entry.model.is_default
        if not is_quiet or num_left > 0:
            shown.append(entry)
            num_left -= is_quiet
    return shown


def _nothing() -> None:
    with tag("div", "nk-empty"):
        with tag("div", "nk-glyph"):
            icon("box", 20)
        tag("h3", "", t("models-none"))
        tag("p", "", t("models-none-admin"))
        with tag("a", "nk-btn nk-btn-primary", href=FIND):
            icon("search")
            tag("span", text=t("models-find"))
