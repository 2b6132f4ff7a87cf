"""One installed model: its state as it changes, and what an admin does with it. On the models page and on its own.

A row stays in place while its words change, so that its button keeps the focus from "Load" to "Unload".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from app.services.container import Services
from app.services.engines import ModelState
from app.services.model_settings import ModelSettings
from app.services.models import ModelEntry
from engine.engine import Engine
from ui.components.dialog import ask, show_problem
from ui.components.elements import menu_item, menu_link, tag
from ui.components.engine_figures import EngineFigures
from ui.components.row_menu import RowMenu
from ui.components.tags import Tags
from ui.components.text import live, put
from ui.language import FORESEEN, in_words, t, told
from ui.models.head import BENCH
from ui.words import context, number, size

PILLS = {
    ModelState.READY: ("ok", "model-ready"),
    ModelState.LOADING: ("hot", "model-loading"),
    ModelState.DRAINING: ("warn", "model-unloading"),
    ModelState.ON_DISK: ("idle", "model-on-disk"),
    ModelState.FAILED: ("bad", "model-failed"),
}
ACTIONS = {
    ModelState.READY: "model-unload",
    ModelState.LOADING: "cancel",
    ModelState.DRAINING: "model-unloading",
    ModelState.ON_DISK: "model-load",
    ModelState.FAILED: "try-again",
}
TAGS = ("model-default", "model-pinned", "model-starter", "model-embeddings")


class ModelRow:
    """`on_removed` is called when an admin has removed it here."""

    def __init__(
        self, services: Services, entry: ModelEntry, *, is_alone: bool = False,
        on_removed: Callable[[], None] = lambda: None,
    ) -> None:
        self._services = services
        self._entry = entry
        self._on_removed = on_removed
        self._is_alone = is_alone
        self._engine: Engine | None = None
        self._figures: EngineFigures | None = None
        self._told = ""
        self._pill_kind = ""
        self._offered: list[str] = []           # in its menu
        with tag("div", "nk-mrow") as self._row:
            with tag("div"):
                with tag("span", "nk-name"):
                    self._name = live("span") if is_alone else live("a", "nk-plain", href=details_path(entry.model.id))
                    self._tags = Tags()
                self._about = live("span", "nk-sub")
            with tag("div", "nk-state"):
                self._pill = live("span", "nk-pill")
            with tag("div", "nk-cell nk-memc nk-num"):
                self._memory, self._room = live("b"), live("span")
            with tag("div", "nk-cell nk-speed nk-num"):
                self._backend, self._device = live("b"), live("span")
            with tag("div", "nk-acts"):
                self._action = tag("button", "nk-btn nk-btn-quiet nk-btn-sm", type="button").on("click", self._act)
                with self._action:
                    self._spin = tag("span", "nk-spin")
                    self._word = live("span")
                self._menu = RowMenu(t("model-more", model=entry.model.name), self._fill_menu)
            self._figures_place = tag("div", "nk-contents")
            self._reason = tag("div", "nk-reason")
        self.show(entry)

    def delete(self) -> None:
        self._row.delete()

    def move_to(self, index: int) -> None:
        self._row.move(target_index=index)

    # --- what it shows ------------------------------------------------------------------------------------------------

    def show(self, entry: ModelEntry) -> None:
        self._entry = entry
        model, status = entry.model, entry.status
        kind = model.quantisation or model.file_format
        put(self._name, kind if self._is_alone else model.name)       # alone its name stands above, as the page's
        self._show_tags(entry)
        on_disk = size(model.size_bytes)
        of_size = t("model-size", size=on_disk) if self._is_alone else t("model-of-size", kind=kind, size=on_disk)
        put(self._about, ", ".join([of_size, *map(_adapter, model.adapters)]))
        self._show_state(entry)
        self._show_memory(entry)
        put(self._backend, status.info.backend if status.info else "–")
        put(self._device, t("model-device", device=status.info.device.upper()) if status.info else "")
        self._show_figures()
        offered = self._offers()
        if offered != self._offered:
            self._offered = offered
            self._menu.renew()

    def tick(self) -> None:
        """What a loaded model does changes with each of its steps, which nobody announces."""
        if self._figures is not None:
            self._figures.show()

    def _show_tags(self, entry: ModelEntry) -> None:
        model = entry.model
        are_so = (model.is_default, ModelSettings.of(model).is_pinned, model.is_starter, model.embeds)
        due = [name for name, is_so in zip(TAGS, are_so, strict=True) if is_so]
        self._tags.show(due)

    def _show_state(self, entry: ModelEntry) -> None:
        status = entry.status
        kind, word = PILLS[status.state]
        if kind != self._pill_kind:
            self._pill.classes(remove=self._pill_kind, add=kind)
            self._pill_kind = kind
        is_told = status.state is ModelState.LOADING and status.share_loaded
        put(self._pill, t("model-loading-share", percent=round(100 * status.share_loaded)) if is_told else t(word))
        is_idle = status.state is ModelState.DRAINING
        put(self._word, t(ACTIONS[status.state]))
        self._spin.set_visibility(is_idle)
        if bool(self._action.props.get("aria-disabled")) != is_idle:
            self._action.props(add="aria-disabled=true") if is_idle else self._action.props(remove="aria-disabled")
        is_bad = status.state is ModelState.FAILED or bool(entry.problem)
        reason = status.reason or entry.problem
        told_now = f"{is_bad}{reason}"
        if told_now != self._told:
            self._told = told_now
            show_problem(self._reason, in_words(reason) if is_bad else None)
            if reason and not is_bad:
                with self._reason:
                    tag("span", "nk-hint", in_words(reason))

    def _show_memory(self, entry: ModelEntry) -> None:
        info = entry.status.info
        if info is None:
            most = entry.model.context_tokens
            put(self._memory, t("model-context", context=context(most)) if most else "–")
            put(self._room, t("model-context-most") if most else "")
            return
        put(self._memory, size(info.weight_bytes + info.kv_bytes + info.cache_bytes))
        kv_type = "" if info.kv_type in ("f16", "") else f", {info.kv_type}"
        length, num_chats = context(info.max_model_len), t("count-chats", count=info.max_num_seqs)
        room = t("model-room-text", context=length) if info.embedding_width else None
        put(self._room, (room or t("model-room", context=length, chats=num_chats)) + kv_type)

    def _show_figures(self) -> None:
        engine = self._services.engines.loaded().get(self._entry.model.id)
        if engine is self._engine:
            return
        self._engine, self._figures = engine, None
        self._figures_place.clear()
        if engine is not None:
            with self._figures_place:
                self._figures = EngineFigures(engine)

    # --- its menu -----------------------------------------------------------------------------------------------------

    def _offers(self) -> list[str]:
        model = self._entry.model
        is_pinned = ModelSettings.of(model).is_pinned
        return [
            *([] if self._is_alone else ["details"]),
            *([] if model.embeds else ["bench"]),
            *([] if model.is_default or model.embeds else ["default"]),
            "unpin" if is_pinned else "pin",
            *([] if model.is_starter else ["remove"]),
        ]

    def _fill_menu(self) -> None:
        for name in self._offered:
            self._item(name)

    def _item(self, name: str) -> None:
        match name:
            case "details":
                menu_link(t("model-details"), "sliders-horizontal", details_path(self._entry.model.id))
            case "bench":
                menu_link(t("bench"), "gauge", bench_path(self._entry.model.id))
            case "default":
                menu_item(t("model-set-default"), icon_name="check").on("click", self._set_default)
            case "pin":
                menu_item(t("model-pin"), icon_name="pin").on("click", self._pinner(True))
            case "unpin":
                menu_item(t("model-unpin"), icon_name="pin-off").on("click", self._pinner(False))
            case "remove":
                remove = menu_item(t("model-remove"), icon_name="trash-2", classes="danger")
                remove.on("click", self._ask_to_remove)

    # --- what an admin does -------------------------------------------------------------------------------------------

    async def _act(self) -> None:
        match self._entry.status.state:
            case ModelState.READY:
                await self._unload()
            case ModelState.LOADING:
                await self._services.engines.unload(self._entry.model.id)
            case ModelState.ON_DISK | ModelState.FAILED:
                await self.load()

    async def load(self) -> None:
        try:
            await self._services.engines.load(self._entry.model.id)
        except FORESEEN as error:
            if not self._services.engines.status(self._entry.model.id).reason:      # else the row says why
                self._say(told(error))

    async def _unload(self) -> None:
        model = self._entry.model

        async def unload() -> None:
            await self._services.engines.unload(model.id)

        engine = self._services.engines.loaded().get(model.id)
        num_running = engine.metrics().num_running if engine else 0
        if num_running == 0:
            await unload()
            return
        stops = t(f"model-unload-{'vectors' if model.embeds else 'answers'}", count=num_running)
        with self._row:
            ask(t("model-unload-question", model=model.name), stops, t("model-unload"), unload)

    async def _set_default(self) -> None:
        await self._tried(self._services.models.set_default(self._entry.model.id))

    def _pinner(self, is_pinned: bool) -> Callable[[], Awaitable[None]]:
        async def pin() -> None:
            changes = {"is_pinned": is_pinned}
            await self._tried(self._services.model_settings.change(self._entry.model.id, changes))

        return pin

    async def _ask_to_remove(self) -> None:
        model = self._entry.model

        async def remove() -> None:
            if await self._tried(self._services.models.remove(model.id)):
                self._on_removed()

        removal = await self._services.models.removal(model)
        with self._row:
            what = " ".join(in_words(each) for each in removal.sentences)
            ask(t("model-remove-question", model=model.name), what, t("model-remove"), remove)

    async def _tried(self, doing: Awaitable[Any]) -> bool:
        try:
            await doing
        except FORESEEN as error:
            self._say(told(error))
            return False
        return True

    def _say(self, problem: str) -> None:
        self._told = problem
        show_problem(self._reason, problem)


def bench_path(model_id: str) -> str:
    return f"{BENCH}?{urlencode({'model': model_id})}"


def details_path(model_id: str) -> str:
    return f"/models/installed/{model_id}"


def _adapter(adapter: Mapping[str, Any]) -> str:
    return t("model-adapter", name=Path(adapter["path"]).name, scale=number(adapter["scale"], None))
