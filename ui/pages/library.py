"""A person's prompts and presets: made, changed, copied, deleted with a way back, and taken along as a file.

One `LibraryPage` an open browser tab, on the event loop. It follows `Changes`: what is made elsewhere shows here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from app.errors import NotFound
from app.services.absent_models import ModelName
from app.services.container import Services
from app.services.library_files import Imported
from app.services.parameters import BY_NAME
from app.services.setup import ChatSetup
from store.tables import Model, Preset, Prompt
from ui.components.elements import button, icon, icon_button, menu, menu_item, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.library_editors import edit_preset, edit_prompt
from ui.components.library_file import LibraryFile
from ui.components.toast import Toast
from ui.language import FORESEEN, in_words, t, told
from ui.refreshing import show_changes

T = TypeVar("T", Prompt, Preset)

NUM_NAMED = 3           # parameters that a preset's row tells


async def library_page(services: Services, request: Request) -> None:
    page = LibraryPage(services, await Frame.make(services, request))
    await page.build()


class LibraryPage:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._services = services
        self._frame = frame
        self._user_id = frame.user.id
        self._client = ui.context.client
        self._models: dict[str, Model] = {}
        self._names: dict[str, ModelName] = {}

    async def build(self) -> None:
        with self._frame.around(label=t("library-title"), sidebar=rail("/library", self._frame)):
            narrow_head(t("library-title"))
            with tag("div", "nk-page") as self._page, tag("div", "nk-page-in nk-page-narrow"):
                with tag("div", "nk-title"), tag("div"):
                    tag("h1", "", t("library-title"))
                    tag("p", "", t("library-about"))
                self._section(t("library-prompts"), t("library-new-prompt"), self._new_prompt)
                self._prompts = tag("div", "nk-card nk-list")
                self._section(t("library-presets"), t("library-new-preset"), self._new_preset)
                self._presets = tag("div", "nk-card nk-list")
                with tag("div", "nk-sec"):
                    tag("h2", "", t("library-file"))
                with tag("div", "nk-card"):
                    with tag("div", "nk-set"):
                        tag("p", "nk-grow", t("library-file-about"))
                        self._file = LibraryFile(on_read=self._read, on_refused=self._too_large, on_export=self._export)
                    self._result = tag("div", "nk-imported", role="status")
        self._toast = Toast(on_act=self._undo)
        show_changes(self._services, self._client, self._user_id, self._page, {"library", "models"}, self._show)
        await self._show()

    def _section(self, title: str, action: str, on_action: Callable[[], None]) -> None:
        with tag("div", "nk-sec"):
            tag("h2", "nk-grow", title)
            button(action, "nk-btn-quiet nk-btn-sm", icon_name="plus").on("click", on_action, args=[])

    async def _show(self) -> None:
        entries = await self._services.models.list()
        prompts = await self._services.prompts.list(self._user_id)
        presets = await self._services.presets.list(self._user_id)
        self._names = await self._services.models.names()
        self._models = {entry.model.id: entry.model for entry in entries if not entry.model.embeds}
        self._fill(self._prompts, prompts, self._prompt_row, "text-quote", "library-no-prompts")
        self._fill(self._presets, presets, self._preset_row, "sliders-horizontal", "library-no-presets")

    def _fill(
        self, card: Element, items: Sequence[T], row: Callable[[T], None], icon_name: str, none: str
    ) -> None:
        card.clear()
        with card:
            for item in items:
                row(item)
            if not items:
                with tag("div", "nk-empty"):
                    with tag("div", "nk-glyph"):
                        icon(icon_name, 20)
                    tag("p", "", t(none))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _prompt_row(self, prompt: Prompt) -> None:
        with tag("div", "nk-lib-row"):
            with tag("button", "nk-lib-open", type="button") as opened:
                with tag("span", "nk-lib-name"):
                    tag("b", "nk-ell", prompt.name)
                    tag("span", "nk-tag", f"/{prompt.command}")
                tag("span", "nk-lib-about nk-ell", " ".join(prompt.content.split())[:200])
            opened.on("click", lambda: self._edit_prompt(prompt), args=[])
            with icon_button("ellipsis", t("library-more", name=prompt.name)), menu("bottom right", "top right"):
                menu_item(t("library-edit"), "pencil").on("click", lambda: self._edit_prompt(prompt), args=[])
                menu_item(t("library-duplicate"), "copy").on("click", lambda: self._duplicate_prompt(prompt), args=[])
                tag("hr")
                delete = menu_item(t("library-delete"), "trash-2", classes="danger")
                delete.on("click", lambda: self._delete_prompt(prompt), args=[])

    def _preset_row(self, preset: Preset) -> None:
        with tag("div", "nk-lib-row"):
            with tag("button", "nk-lib-open", type="button") as opened:
                with tag("span", "nk-lib-name"):
                    tag("b", "nk-ell", preset.name)
                    if preset.is_default:
                        tag("span", "nk-tag", t("library-default"))
                tag("span", "nk-lib-about nk-ell", self._about(preset))
            opened.on("click", lambda: self._edit_preset(preset), args=[])
            with icon_button("ellipsis", t("library-more", name=preset.name)), menu("bottom right", "top right"):
                menu_item(t("library-edit"), "pencil").on("click", lambda: self._edit_preset(preset), args=[])
                default = "library-no-default" if preset.is_default else "library-set-default"
                menu_item(t(default), "star").on("click", lambda: self._set_default(preset), args=[])
                menu_item(t("library-duplicate"), "copy").on("click", lambda: self._duplicate_preset(preset), args=[])
                tag("hr")
                delete = menu_item(t("library-delete"), "trash-2", classes="danger")
                delete.on("click", lambda: self._delete_preset(preset), args=[])

    def _about(self, preset: Preset) -> str:
        """Its model, what it changes, and how its system prompt begins."""
        about: list[str] = []
        if preset.model_id is not None:
            model = self._names.get(preset.model_id)
            about.append(model.name if model is not None else preset.model_id)
        changed = [(name, value) for name, value in preset.parameters.items() if name in BY_NAME]
        for name, value in changed[:NUM_NAMED]:
            label = t(f"param-{name.replace('_', '-')}")
            about.append(label if isinstance(value, list | bool) else f"{label} {value}")
        if preset.system_prompt:
            about.append(" ".join(preset.system_prompt.split())[:200])
        return " · ".join(about) or t("library-nothing-set")

    # --- what a person does -------------------------------------------------------------------------------------------

    def _new_prompt(self) -> None:
        self._edit_prompt(None)

    def _edit_prompt(self, prompt: Prompt | None) -> None:
        async def save(name: str, command: str, content: str) -> None:
            if prompt is None:
                await self._services.prompts.create(self._user_id, name=name, command=command, content=content)
            else:
                await self._services.prompts.change(
                    self._user_id, prompt.id, name=name, command=command, content=content
                )

        with self._page:
            edit_prompt(prompt, save)

    def _new_preset(self) -> None:
        self._edit_preset(None)

    def _edit_preset(self, preset: Preset | None) -> None:
        async def save(name: str, setup: ChatSetup) -> None:
            if preset is None:
                await self._services.presets.create(self._user_id, name, setup)
            else:
                await self._services.presets.change(self._user_id, preset.id, name, setup)

        with self._page:
            edit_preset(preset, [*self._models.values()], self._names, save, can_be_told=self._can_be_told)

    def _can_be_told(self, model: Model) -> bool:
        """To think first; as far as is known: of one that is not loaded, nothing is."""
        info = self._services.engines.status(model.id).info
        return info is None or info.reasoning_default is not None

    async def _duplicate_prompt(self, prompt: Prompt) -> None:
        await self._try(self._services.prompts.duplicate(self._user_id, prompt.id, t("library-copy", name=prompt.name)))

    async def _duplicate_preset(self, preset: Preset) -> None:
        await self._try(self._services.presets.duplicate(self._user_id, preset.id, t("library-copy", name=preset.name)))

    async def _set_default(self, preset: Preset) -> None:
        await self._try(self._services.presets.set_default(self._user_id, None if preset.is_default else preset.id))

    async def _delete_prompt(self, prompt: Prompt) -> None:
        if await self._try(self._services.prompts.delete(self._user_id, prompt.id)):
            self._offer_undo("library-prompt-deleted", f"prompt {prompt.id}")

    async def _delete_preset(self, preset: Preset) -> None:
        if await self._try(self._services.presets.delete(self._user_id, preset.id)):
            self._offer_undo("library-preset-deleted", f"preset {preset.id}")

    def _offer_undo(self, message_id: str, subject: str) -> None:
        with self._page:        # for its language: the row that was clicked may be gone by now
            self._toast.show(t(message_id), action=t("library-undo"), subject=subject)

    async def _undo(self, subject: str) -> None:
        kind, _, item_id = subject.partition(" ")
        service = self._services.prompts if kind == "prompt" else self._services.presets
        await self._try(service.restore(self._user_id, item_id))

    async def _export(self) -> None:
        text = await self._services.library_files.export(self._user_id)
        self._file.save(f"inglenook-library-{datetime.now().astimezone():%Y-%m-%d}.json", text)

    async def _read(self, text: str) -> None:
        try:
            done = await self._services.library_files.read(self._user_id, text)
        except FORESEEN as error:
            self._tell(told(error), [], is_bad=True)
            return
        skipped = [f"{name}: {in_words(reason)}" if name else in_words(reason) for name, reason in done.skipped]
        self._tell(_outcome(done), skipped, is_bad=False)

    def _too_large(self) -> None:
        self._tell(t("library-too-large"), [], is_bad=True)

    def _tell(self, text: str, more: Sequence[str], *, is_bad: bool) -> None:
        self._result.clear()
        with self._result, tag("div", f"nk-notice {'bad' if is_bad else 'ok'}"):
            icon("circle-alert" if is_bad else "check", 16)
            with tag("div", "nk-grow"):
                tag("span", text=text)
                if more:
                    with tag("ul"):
                        for line in more[:20]:
                            tag("li", "", line)

    async def _try(self, action: Awaitable[object]) -> bool:
        """Whether it could be done. What is gone was deleted in another tab: the page shows what there is."""
        try:
            await action
        except NotFound:
            await self._show()
            return False
        except FORESEEN as error:
            with self._page:        # for its language: the row that was clicked may be gone by now
                self._tell(told(error), [], is_bad=True)
            return False
        return True


def _outcome(done: Imported) -> str:
    sentences = [t("library-imported", prompts=done.num_prompts, presets=done.num_presets)]
    if done.num_known:
        sentences.append(t("library-known", count=done.num_known))
    if done.skipped:
        sentences.append(t("library-skipped", count=len(done.skipped)))
    return " ".join(sentences)
