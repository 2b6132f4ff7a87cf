"""The models on this machine: what they take of its memory, and loading, unloading, adding. Admins act, others look.

One `ModelsPage` an open browser tab, on the event loop. It follows `Changes`: a load started elsewhere shows here. What
a loaded model does changes with each of its steps, which nobody announces: an open page looks once a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import Request
from nicegui import background_tasks, ui

from app.errors import AppError
from app.services.changes import Change
from app.services.container import Services
from app.services.engines import ModelState
from app.services.models import ModelEntry, size_on_disk
from engine.errors import EngineError
from store.tables import UserRole
from ui.components.dialog import ask, field, show_problem
from ui.components.elements import button, hint_bad, icon, icon_button, menu, menu_item, tag
from ui.components.engine_figures import EngineFigures
from ui.components.frame import Frame, narrow_head, rail
from ui.components.memory_card import memory_card
from ui.words import context, count, size

LOOK_INTERVAL_S = 1.0

PILLS = {
    ModelState.READY: ("ok", "Ready"),
    ModelState.LOADING: ("hot", "Loading"),
    ModelState.DRAINING: ("warn", "Unloading"),
    ModelState.ON_DISK: ("idle", "On disk"),
    ModelState.FAILED: ("bad", "Did not load"),
}


async def models_page(services: Services, request: Request) -> None:
    page = ModelsPage(services, await Frame.make(services, request))
    await page.build()


class ModelsPage:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._is_admin = frame.user.role is UserRole.ADMIN
        self._is_refreshing = False
        self._is_stale = False
        self._figures: list[EngineFigures] = []       # of the loaded models, as long as their rows stand

    async def build(self) -> None:
        with self._frame.around(label="Models", sidebar=rail("/models")):
            narrow_head("Models")
            with tag("div", "nk-page"), tag("div", "nk-page-in"):
                with tag("div", "nk-title"):
                    with tag("div"):
                        tag("h1", "", "Models")
                        tag("p", "", "What runs on this computer.")
                    if self._is_admin:
                        with tag("div", "nk-end"):
                            add = button("Add a file", "nk-btn-quiet", icon_name="folder-plus")
                            add.on("click", self._ask_for_file)
                self._body = tag("div")
        self._client.on_delete(self._services.changes.watch(self._frame.user.id, self._on_change))
        await self._show()
        looking = background_tasks.create(self._keep_looking(), name="figures of models")
        self._client.on_delete(looking.cancel)

    async def _keep_looking(self) -> None:
        """Until the page is gone: NiceGUI drops one that was closed, or never opened, and with it this task."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            for figures in self._figures:
                figures.show()

    def _on_change(self, change: Change) -> None:
        if change.kind != "models":
            return
        self._is_stale = True
        if not self._is_refreshing and not self._client.is_deleted:
            self._is_refreshing = True
            background_tasks.create(self._refresh(), name="refresh models page", context=self._body)

    async def _refresh(self) -> None:
        try:
            while self._is_stale and not self._client.is_deleted:
                self._is_stale = False
                await self._show()
        finally:
            self._is_refreshing = False

    async def _show(self) -> None:
        entries = await self._services.models.list()
        self._body.clear()
        self._figures.clear()
        with self._body:
            memory_card(entries)
            with tag("div", "nk-sec"):
                tag("h2", "", "Installed")
                on_disk = size_on_disk([entry.model for entry in entries])
                tag("span", "nk-count", f"{count(len(entries), 'model')}, {size(on_disk)} on disk")
            with tag("div", "nk-card nk-list"):
                for entry in entries:
                    self._row(entry)
                if not entries:
                    self._nothing()

    def _nothing(self) -> None:
        with tag("div", "nk-empty"):
            with tag("div", "nk-glyph"):
                icon("box", 20)
            tag("h3", "", "No models yet")
            todo = "Add a GGUF file that lies on this computer." if self._is_admin else "Ask your admin to add one."
            tag("p", "", todo)

    # --- a row --------------------------------------------------------------------------------------------------------

    def _row(self, entry: ModelEntry) -> None:
        model, status = entry.model, entry.status
        with tag("div", "nk-mrow"):
            with tag("div"):
                with tag("span", "nk-name"):
                    tag("span", text=model.name)
                    if model.is_default:
                        tag("span", "nk-tag", "Default")
                    if model.is_starter:
                        tag("span", "nk-tag", "Small starter model")
                    if model.embeds:
                        tag("span", "nk-tag", "Embeddings")
                adapters = "".join(f", {Path(each['path']).name} at {each['scale']:g}" for each in model.adapters)
                kind = model.quantisation or model.file_format
                tag("span", "nk-sub", f"{kind}, {size(model.size_bytes)} on disk{adapters}")
            with tag("div", "nk-state"):
                kind, word = PILLS[status.state]
                tag("span", f"nk-pill {kind}", word)
            with tag("div", "nk-cell nk-memc nk-num"):
                self._memory_cell(entry)
            with tag("div", "nk-cell nk-speed nk-num"):
                tag("b", "", status.info.backend if status.info else "–")
                if status.info:
                    tag("span", text=f"on the {status.info.device.upper()}")
            with tag("div", "nk-acts"):
                if self._is_admin:
                    self._actions(entry)
            if engine := self._services.engines.loaded().get(model.id):
                self._figures.append(EngineFigures(engine))
            if status.state is ModelState.FAILED:
                with tag("div", "nk-reason"):
                    hint_bad(status.reason)
            elif status.reason:
                tag("div", "nk-reason nk-hint", status.reason)

    def _memory_cell(self, entry: ModelEntry) -> None:
        info = entry.status.info
        if info is None:
            tag("b", "", f"{context(entry.model.context_tokens)} context" if entry.model.context_tokens else "–")
            tag("span", text="at most")
            return
        tag("b", "", size(info.weight_bytes + info.kv_bytes + info.cache_bytes))
        kv_type = "" if info.kv_type == "f16" else f", {info.kv_type}"
        for_whom = "each text" if info.embedding_width else count(info.max_num_seqs, "chat")
        tag("span", text=f"{context(info.max_model_len)} for {for_whom}{kv_type}")

    def _actions(self, entry: ModelEntry) -> None:
        model = entry.model
        match entry.status.state:
            case ModelState.READY:
                button("Unload", "nk-btn-quiet nk-btn-sm").on("click", self._on(self._unload, entry))
            case ModelState.LOADING:
                button("Cancel", "nk-btn-ghost nk-btn-sm").on("click", self._on(self._unload, entry))
            case ModelState.DRAINING:
                tag("span", "nk-spin", role="status", aria_label="Unloading")
            case ModelState.ON_DISK:
                button("Load", "nk-btn-quiet nk-btn-sm").on("click", self._on(self._load, entry))
            case ModelState.FAILED:
                button("Try again", "nk-btn-quiet nk-btn-sm").on("click", self._on(self._load, entry))
        if model.is_default and model.is_starter:
            return      # nothing else to be done with it
        with icon_button("ellipsis", f"More for {model.name}"), menu("bottom right", "top right"):
            if not model.is_default and not model.embeds:
                menu_item("Set as default", "check").on("click", self._on(self._set_default, entry))
            if not model.is_starter:
                menu_item("Remove", "trash-2", classes="danger").on("click", self._on(self._ask_to_remove, entry))

    # --- what an admin does -------------------------------------------------------------------------------------------

    def _on(self, action: Callable[[ModelEntry], Awaitable[None]], entry: ModelEntry) -> Callable[[], Awaitable[None]]:
        return lambda: action(entry)

    async def _load(self, entry: ModelEntry) -> None:
        try:
            await self._services.engines.load(entry.model.id)
        except (AppError, EngineError):
            await self._show()      # the row says why

    async def _unload(self, entry: ModelEntry) -> None:
        engine = self._services.engines.loaded().get(entry.model.id)
        num_running = engine.metrics().num_running if engine else 0

        async def unload() -> None:
            await self._services.engines.unload(entry.model.id)

        if num_running == 0:
            await unload()
            return
        stops = f"It is writing {count(num_running, 'answer')}. They stop where they are, and can be continued later."
        if entry.model.embeds:
            stops = f"It is making vectors for {count(num_running, 'request')}. They fail, and can be sent again later."
        with self._body:
            ask(
                f"Unload {entry.model.name}?",
                stops,
                "Unload", unload,
            )

    async def _set_default(self, entry: ModelEntry) -> None:
        await self._services.models.set_default(entry.model.id)

    async def _ask_to_remove(self, entry: ModelEntry) -> None:
        async def remove() -> None:
            await self._services.models.remove(entry.model.id)

        files = await self._services.models.files_that_go_with(entry.model)
        deleted = f"Deleted with it, from the models folder: {', '.join(path.name for path in files)}."
        kept = f"Its file stays at {entry.model.path}."
        with self._body:
            ask(f"Remove {entry.model.name}?", deleted if files else kept, "Remove", remove)

    def _ask_for_file(self) -> None:
        with ui.dialog(value=True) as dialog, tag("div", "nk-dialog"):
            dialog.props["aria-label"] = "Add a file"
            tag("h2", "", "Add a file")
            tag("p", "", "A model in the GGUF format, on the computer that runs Inglenook. It stays where it is.")
            path, problem = field("Where it is", placeholder="/home/mira/models/qwen3-8b-q4_k_m.gguf")

            async def add() -> None:
                try:
                    await self._services.models.add(Path((path.value or "").strip().strip('"')))
                except (AppError, EngineError, OSError, ValueError) as error:
                    show_problem(problem, str(error))
                    return
                dialog.close()

            path.on("keydown.enter", add)
            with tag("div", "nk-acts"):
                button("Cancel", "nk-btn-ghost").on("click", dialog.close)
                button("Add", "nk-btn-primary").on("click", add)
        dialog.on("hide", dialog.delete)
