"""A model that is here already, brought in: a file by its path or by upload, or one of another app's. For admins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from nicegui import ui
from nicegui.element import Element

from app.schemas import UPLOAD_PATH
from app.services.container import Services
from app.services.found_models import Offer
from ui.components.dialog import field, show_problem
from ui.components.elements import button, hint_bad, icon, tag
from ui.components.file_drop import FileDrop
from ui.language import FORESEEN, in_words, t, told
from ui.words import size

DRAGS_FILES = "(event) => { if ([...event.dataTransfer.types].includes('Files')) emit(); }"
WRONG = (*FORESEEN, OSError, ValueError)        # with a path that somebody typed


class BringDialog:
    """`place` is the element in whose page it opens."""

    place: Element

    def __init__(self, services: Services) -> None:
        self._services = services
        self._is_open = False

    def take_drops_on(self, place: Element) -> None:
        """A file that is dragged over it opens the dialog, which takes it wherever on the page it is let go."""
        place.on("dragenter", self.open, js_handler=DRAGS_FILES)
        place.on("dragover.prevent", js_handler="() => {}")
        place.on("drop.prevent", js_handler="() => {}")

    async def open(self) -> None:
        if self._is_open:           # each element that a file is dragged over says so
            return
        self._is_open = True
        room_bytes = await self._services.model_uploads.room_bytes()
        with self.place, ui.dialog(value=True) as dialog, tag("div", "nk-dialog nk-bring"):
            dialog.props["aria-label"] = t("models-add-file")
            with tag("div", "nk-bring-head"):
                tag("h2", "", t("models-add-file"))
                close = tag("button", "nk-ib", type="button", aria_label=t("close"), title=t("close"))
                with close.on("click", dialog.close):
                    icon("x")
            tag("h3", "", t("bring-upload"))
            tag("p", "nk-hint", t("bring-upload-about", size=size(room_bytes)))

            async def sent() -> None:
                dialog.close()

            FileDrop(
                url=UPLOAD_PATH, max_bytes=room_bytes, accept=".gguf", on_sent=sent, takes_page=True, takes_many=True
            )
            self._by_path(dialog)
            found = tag("div", "nk-bring-found", aria_live="polite")

        def closed() -> None:
            self._is_open = False
            dialog.delete()

        dialog.on("hide", closed)
        await self._show_found(found)

    def _by_path(self, dialog: ui.dialog) -> None:
        tag("h3", "", t("bring-path"))
        tag("p", "nk-hint", t("models-add-about"))
        with tag("form", "nk-bring-path") as form:
            path, problem = field(t("models-add-where"), placeholder="/home/mira/models/qwen3-8b-q4_k_m.gguf")

            async def add() -> None:
                try:
                    await self._services.models.add(Path((path.value or "").strip().strip('"')))
                except WRONG as error:
                    show_problem(problem, told(error))
                    return
                dialog.close()

            button(t("models-add"), "nk-btn-primary", kind="submit")
        form.on("submit.prevent", add, args=[])

    async def _show_found(self, place: Element) -> None:
        with place:
            tag("h3", "", t("bring-found"))
            looking = tag("p", "nk-hint", t("bring-looking"))
        try:
            offers = await self._services.found_models.list()
        except WRONG as error:
            offers = []
            with place:
                hint_bad(told(error))
        if place.is_deleted:
            return
        looking.delete()
        with place:
            tag("p", "nk-hint", t("bring-found-about") if offers else t("bring-found-none"))
            if offers:
                with tag("div", "nk-list nk-bring-list", tabindex="0", role="group", aria_label=t("bring-found")):
                    for offer in offers:
                        self._offer(offer)

    def _offer(self, offer: Offer) -> None:
        found = offer.found
        with tag("div", "nk-bring-row"):
            with tag("div", "nk-grow"):
                tag("b", "nk-break", found.name)
                tag("span", "nk-sub", t("bring-of", app=found.app, size=size(found.size_bytes)))
                problem = tag("span")
            state = tag("span", "nk-tag", t("bring-here"))
            if found.problem:
                show_problem(problem, in_words(found.problem))
            use = button(t("bring-use"), "nk-btn-quiet nk-btn-sm")
            use.on("click", self._user(offer, use, state, problem))
            use.set_visibility(not offer.model_id and not found.problem)
            state.set_visibility(bool(offer.model_id))

    def _user(self, offer: Offer, use: Element, state: Element, problem: Element) -> Callable[[], Awaitable[None]]:
        async def add() -> None:
            try:
                await self._services.found_models.use(offer)
            except WRONG as error:
                show_problem(problem, told(error))
                return
            use.set_visibility(False)
            state.set_visibility(True)

        return add
