"""Whether the hub has a newer version of an installed model: asked by a button, told with what it would take, and
fetched beside the one that is here. On the model's own page.
"""

from __future__ import annotations

from datetime import datetime

from nicegui.element import Element

from app.services.container import Services
from app.services.model_updates import Newness, Update
from store.tables import DownloadState, Model
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.language import FORESEEN, t, told
from ui.words import date, size, when

SHORT_COMMIT_CHARS = 8


class UpdateLine:
    """`problem` is where it says what went wrong. What it finds, the page shows by being made anew."""

    def __init__(self, services: Services, model: Model, problem: Element) -> None:
        self._services = services
        self._model = model
        self._problem = problem

    async def build(self) -> None:
        """Into the slot that is open when it is called."""
        update = await self._services.model_updates.known(self._model)
        is_coming = update is not None and self._is_coming(update)
        with tag("div", "nk-set"):
            with tag("div", "nk-grow"):
                tag("h3", "", t(f"update-{update.newness.value if update else 'unknown'}"))
                tag("p", "nk-num", _about(update))
            with tag("div", "nk-row"):
                if is_coming:
                    tag("a", "nk-btn nk-btn-ghost nk-btn-sm", t("update-coming"), href="/models")
                elif update is not None and update.newness is Newness.NEWER:
                    get = button(t("update-get"), "nk-btn-primary nk-btn-sm", icon_name="download")
                    get.on("click", self._get)
                button(t("update-look"), "nk-btn-quiet nk-btn-sm").on("click", self._look)

    def _is_coming(self, update: Update) -> bool:
        return any(
            each.repo == self._model.repo and each.commit_sha == update.commit_sha
            and each.state is not DownloadState.ON_DISK
            for each in self._services.downloads.list()
        )

    async def _look(self) -> None:
        show_problem(self._problem, None)
        try:
            await self._services.model_updates.look(self._model.id)
        except FORESEEN as error:
            show_problem(self._problem, told(error))

    async def _get(self) -> None:
        show_problem(self._problem, None)
        update = await self._services.model_updates.known(self._model)
        if update is None:
            return
        try:
            await self._services.downloads.request(self._model.repo, update.file)
        except FORESEEN as error:
            show_problem(self._problem, told(error))


def _about(update: Update | None) -> str:
    if update is None:
        return t("update-unknown-about")
    looked = t("update-looked", when=when(datetime.fromisoformat(update.looked_at)))
    if update.newness is not Newness.NEWER:
        return looked
    commit = update.commit_sha[:SHORT_COMMIT_CHARS]
    parts = [t("update-commit", commit=commit), _date(update.changed_at), size(update.size_bytes), looked]
    return " · ".join(filter(None, parts))


def _date(at: str) -> str:
    return date(datetime.fromisoformat(at).astimezone()) if at else ""
