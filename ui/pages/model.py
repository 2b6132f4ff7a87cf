"""One installed model: what it takes, how it talks, how it is to be run, its files and versions. For admins.

One `ModelPage` an open browser tab, on the event loop. It follows `Changes`; the form is left alone while it is open.
"""

from __future__ import annotations

import json

from fastapi import Request
from nicegui import ui

from app.errors import AppError
from app.services.container import Services
from app.services.models import ModelEntry
from engine.errors import EngineError
from store.tables import Model
from ui.components.elements import icon, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.text import live, put
from ui.language import t
from ui.models.doctor import doctor_card
from ui.models.figures import keep_figures_fresh
from ui.models.head import INSTALLED, back_link
from ui.models.plan_card import plan_card
from ui.models.row import ModelRow, bench_path
from ui.models.settings_form import SettingsForm
from ui.models.versions import Versions
from ui.refreshing import show_changes


async def model_page(services: Services, request: Request, model_id: str) -> bool:
    """False where there is no such model."""
    listed = await services.models.list()
    entry = next((each for each in listed if each.model.id == model_id and not each.is_elsewhere), None)
    if entry is None:
        return False
    page = ModelPage(services, await Frame.make(services, request), entry)
    await page.build()
    return True


class ModelPage:
    def __init__(self, services: Services, frame: Frame, entry: ModelEntry) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._entry = entry

    async def build(self) -> None:
        model = self._entry.model
        ui.page_title(t("page-title", page=model.name))
        with self._frame.around(label=t("models"), sidebar=rail(INSTALLED, self._frame)):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in") as place:
                back_link(INSTALLED, t("models"))
                with tag("div", "nk-title"):
                    with tag("div"):
                        self._name = live("h1")
                        tag("p", "", t("model-called", id=model.id))
                    if not model.embeds:
                        with tag("div", "nk-end"), tag("a", "nk-btn nk-btn-quiet", href=bench_path(model.id)):
                            icon("gauge")
                            tag("span", text=t("bench"))
                with tag("div", "nk-card"):
                    self._row = ModelRow(self._services, self._entry, is_alone=True, on_removed=self._leave)
                self._facts = tag("div", "nk-grid nk-grid-models")
                with tag("div", "nk-sec"):
                    tag("h2", "", t("settings"))
                    tag("span", "nk-count", t("setting-when"))
                await SettingsForm(self._services, model, self._show, self._load_again).build()
                with tag("div", "nk-sec"):
                    tag("h2", "", t("files"))
                self._versions = tag("div")
        show_changes(self._services, self._client, self._frame.user.id, place, {"models"}, self._show)
        await self._show()
        keep_figures_fresh(self._client, lambda: [self._row])

    async def _show(self) -> None:
        model_id = self._entry.model.id
        entry = next((each for each in await self._services.models.list() if each.model.id == model_id), None)
        if entry is None:                   # removed, here or in another tab
            self._leave()
            return
        self._entry = entry
        put(self._name, entry.model.name)
        self._row.show(entry)
        facts, versions = tag("div", "nk-contents"), tag("div")
        with facts:
            with tag("div", "nk-c5"):
                await plan_card(self._services, entry)
            if not entry.model.embeds:
                with tag("div", "nk-c7"):
                    await self._doctor(entry.model)
        with versions:
            await Versions(self._services, entry.model).build()
        for place, made in ((self._facts, facts), (self._versions, versions)):
            for old in list(place.default_slot.children):
                old.delete()
            made.move(place)

    async def _doctor(self, model: Model) -> None:
        try:
            doctor_card(await self._services.models.template(model.id))
        except (AppError, EngineError):     # its file is gone or damaged: the row says so
            return

    async def _load_again(self) -> None:
        await self._services.engines.unload(self._entry.model.id)
        await self._row.load()

    def _leave(self) -> None:
        if not self._client.is_deleted:
            self._client.run_javascript(f"location.assign({json.dumps(INSTALLED)})")


