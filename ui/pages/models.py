"""The models on this machine: what they take of its memory, and loading, unloading, adding. Admins act, others look.

One `ModelsPage` an open browser tab, on the event loop. It follows `Changes`: a load started elsewhere shows here. What
a loaded model does changes with each of its steps, which nobody announces: an open page looks once a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

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
from ui.language import in_words, t, told
from ui.words import context, number, size

LOOK_INTERVAL_S = 1.0

PILLS = {
    ModelState.READY: ("ok", "model-ready"),
    ModelState.LOADING: ("hot", "model-loading"),
    ModelState.DRAINING: ("warn", "model-unloading"),
    ModelState.ON_DISK: ("idle", "model-on-disk"),
    ModelState.FAILED: ("bad", "model-failed"),
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
        ui.page_title(t("page-title", page=t("models")))
        with self._frame.around(label=t("models"), sidebar=rail("/models")):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in"):
                with tag("div", "nk-title"):
                    with tag("div"):
                        tag("h1", "", t("models"))
                        tag("p", "", t("models-about"))
                    if self._is_admin:
                        with tag("div", "nk-end"):
                            add = button(t("models-add-file"), "nk-btn-quiet", icon_name="folder-plus")
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
                tag("h2", "", t("models-installed"))
                on_disk = size_on_disk([entry.model for entry in entries])
                total = t("models-total", models=t("count-models", count=len(entries)), size=size(on_disk))
                tag("span", "nk-count", total)
            with tag("div", "nk-card nk-list"):
                for entry in entries:
                    self._row(entry)
                if not entries:
                    self._nothing()

    def _nothing(self) -> None:
        with tag("div", "nk-empty"):
            with tag("div", "nk-glyph"):
                icon("box", 20)
            tag("h3", "", t("models-none"))
            todo = t("models-none-admin") if self._is_admin else t("models-none-user")
            tag("p", "", todo)

    # --- a row --------------------------------------------------------------------------------------------------------

    def _row(self, entry: ModelEntry) -> None:
        model, status = entry.model, entry.status
        with tag("div", "nk-mrow"):
            with tag("div"):
                with tag("span", "nk-name"):
                    tag("span", text=model.name)
                    if model.is_default:
                        tag("span", "nk-tag", t("model-default"))
                    if model.is_starter:
                        tag("span", "nk-tag", t("model-starter"))
                    if model.embeds:
                        tag("span", "nk-tag", t("model-embeddings"))
                kind = model.quantisation or model.file_format
                parts = [t("model-of-size", kind=kind, size=size(model.size_bytes)), *map(_adapter, model.adapters)]
                tag("span", "nk-sub", ", ".join(parts))
            with tag("div", "nk-state"):
                kind, word = PILLS[status.state]
                tag("span", f"nk-pill {kind}", t(word))
            with tag("div", "nk-cell nk-memc nk-num"):
                self._memory_cell(entry)
            with tag("div", "nk-cell nk-speed nk-num"):
                tag("b", "", status.info.backend if status.info else "–")
                if status.info:
                    tag("span", text=t("model-device", device=status.info.device.upper()))
            with tag("div", "nk-acts"):
                if self._is_admin:
                    self._actions(entry)
            if engine := self._services.engines.loaded().get(model.id):
                self._figures.append(EngineFigures(engine))
            if status.state is ModelState.FAILED:
                with tag("div", "nk-reason"):
                    hint_bad(in_words(status.reason))
            elif status.reason:
                tag("div", "nk-reason nk-hint", in_words(status.reason))

    def _memory_cell(self, entry: ModelEntry) -> None:
        info = entry.status.info
        if info is None:
            most = entry.model.context_tokens
            tag("b", "", t("model-context", context=context(most)) if most else "–")
            tag("span", text=t("model-context-most"))
            return
        tag("b", "", size(info.weight_bytes + info.kv_bytes + info.cache_bytes))
        kv_type = "" if info.kv_type == "f16" else f", {info.kv_type}"
        length, num_chats = context(info.max_model_len), t("count-chats", count=info.max_num_seqs)
        room = t("model-room-text", context=length) if info.embedding_width else None
        tag("span", text=(room or t("model-room", context=length, chats=num_chats)) + kv_type)

    def _actions(self, entry: ModelEntry) -> None:
        model = entry.model
        match entry.status.state:
            case ModelState.READY:
                button(t("model-unload"), "nk-btn-quiet nk-btn-sm").on("click", self._on(self._unload, entry))
            case ModelState.LOADING:
                button(t("cancel"), "nk-btn-ghost nk-btn-sm").on("click", self._on(self._unload, entry))
            case ModelState.DRAINING:
                tag("span", "nk-spin", role="status", aria_label=t("model-unloading"))
            case ModelState.ON_DISK:
                button(t("model-load"), "nk-btn-quiet nk-btn-sm").on("click", self._on(self._load, entry))
            case ModelState.FAILED:
                button(t("try-again"), "nk-btn-quiet nk-btn-sm").on("click", self._on(self._load, entry))
        if model.is_default and model.is_starter:
            return      # nothing else to be done with it
        with icon_button("ellipsis", t("model-more", model=model.name)), menu("bottom right", "top right"):
            if not model.is_default and not model.embeds:
                menu_item(t("model-set-default"), icon_name="check").on("click", self._on(self._set_default, entry))
            if not model.is_starter:
                remove = menu_item(t("model-remove"), icon_name="trash-2", classes="danger")
                remove.on("click", self._on(self._ask_to_remove, entry))

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
        stops = t(f"model-unload-{'vectors' if entry.model.embeds else 'answers'}", count=num_running)
        with self._body:
            ask(t("model-unload-question", model=entry.model.name), stops, t("model-unload"), unload)

    async def _set_default(self, entry: ModelEntry) -> None:
        await self._services.models.set_default(entry.model.id)

    async def _ask_to_remove(self, entry: ModelEntry) -> None:
        async def remove() -> None:
            await self._services.models.remove(entry.model.id)

        files = await self._services.models.files_that_go_with(entry.model)
        names = ", ".join(path.name for path in files)
        what = t("model-remove-files", files=names) if files else t("model-remove-kept", path=entry.model.path)
        with self._body:
            ask(t("model-remove-question", model=entry.model.name), what, t("model-remove"), remove)

    def _ask_for_file(self) -> None:
        with ui.dialog(value=True) as dialog, tag("div", "nk-dialog"):
            dialog.props["aria-label"] = t("models-add-file")
            tag("h2", "", t("models-add-file"))
            tag("p", "", t("models-add-about"))
            path, problem = field(t("models-add-where"), placeholder="/home/mira/models/qwen3-8b-q4_k_m.gguf")

            async def add() -> None:
                try:
                    await self._services.models.add(Path((path.value or "").strip().strip('"')))
                except (AppError, EngineError, OSError, ValueError) as error:
                    show_problem(problem, told(error))
                    return
                dialog.close()

            path.on("keydown.enter", add)
            with tag("div", "nk-acts"):
                button(t("cancel"), "nk-btn-ghost").on("click", dialog.close)
                button(t("models-add"), "nk-btn-primary").on("click", add)
        dialog.on("hide", dialog.delete)


def _adapter(adapter: Mapping[str, Any]) -> str:
    return t("model-adapter", name=Path(adapter["path"]).name, scale=number(adapter["scale"], None))
