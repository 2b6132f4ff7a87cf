"""Chats as files, on the settings page: export of all, and import with its progress and its result. On the event loop.

The import belongs to the server; this shows the one that runs or ran last, here or in another tab.
"""

from __future__ import annotations

from nicegui import ui

from app.formats.reader import Skipped
from app.schemas import EXPORT_PATH, IMPORT_PATH
from app.services.changes import Change
from app.services.container import Services
from app.services.imports import Import, ImportState
from store.imports import Merged
from store.tables import UserRole
from ui.components.elements import button, icon, tag
from ui.components.file_drop import FileDrop
from ui.components.frame import Frame
from ui.components.text import live, put
from ui.language import in_words, t
from ui.refreshing import on_gone
from ui.words import size

NUM_SHOWN = 100         # of what was skipped


class ChatFiles:
    def __init__(self, services: Services, frame: Frame) -> None:
        self._imports = services.imports
        self._while_role = frame.while_role
        self._user = frame.user
        self._client = ui.context.client
        self._shown: tuple[Import | None, ImportState | None] = (None, None)
        on_gone(self._client, services.changes.watch(self._user.id, self._on_change))

    def build(self) -> None:
        with tag("div", "nk-set"):
            with tag("div", "nk-grow"):
                tag("h3", "", t("settings-export"))
                tag("p", "", t("settings-export-about"))
            with tag("div", "nk-row"):
                for name, form in (("JSON", "json"), ("Markdown", "markdown")):
                    link = tag("a", "nk-btn nk-btn-quiet", href=f"{EXPORT_PATH}?form={form}", download="",
                               aria_label=t("settings-export-as", form=name))
                    with link:
                        tag("span", text=name)
        with tag("div", "nk-set"):
            with tag("div", "nk-grow"):
                tag("h3", "", t("settings-import"))
                about = live("p")
                self._while_role(lambda: put(about, self._about()))
            self._drop = FileDrop(url=IMPORT_PATH, max_bytes=self._imports.max_bytes, accept=".json,.zip")
        self._status = tag("div")
        self._build_stage(None)
        self._show()

    def _about(self) -> str:
        about = t("settings-import-about", size=size(self._imports.max_bytes))
        return f"{about} {t('settings-import-limit')}" if self._user.role is UserRole.ADMIN else about

    def _on_change(self, change: Change) -> None:
        if change.kind == "import" and not self._client.is_deleted:
            self._show()

    def _show(self) -> None:
        latest = self._imports.latest(self._user.id)
        self._drop.show(busy=latest is not None and latest.is_running)
        wanted = (latest, latest.state if latest is not None else None)
        if wanted[0] is not self._shown[0] or wanted[1] is not self._shown[1]:
            self._shown = wanted
            self._build_stage(latest)       # else it is brought up to date in place: its button may have the focus
        if latest is not None and latest.state is ImportState.READING:
            percent = round(latest.fraction * 100)
            num_chats = sum(latest.counts.values())
            self._so_far.set_text(t("settings-import-so-far", count=num_chats, percent=percent))
            self._bar.style(f"width: {percent}%")
            self._meter.props["aria-valuenow"] = str(percent)

    def _build_stage(self, latest: Import | None) -> None:
        self._status.clear()
        is_over = latest is not None and not latest.is_running
        self._status.props["aria-live"] = "polite" if is_over else "off"        # progress is not read out
        with self._status:
            if latest is None or latest.state is ImportState.RECEIVING:
                return
            if latest.is_running:
                self._build_progress(latest)
            else:
                self._show_result(latest)

    def _build_progress(self, ongoing: Import) -> None:
        with tag("div", "nk-set"):
            with tag("div", "nk-grow"):
                tag("h3", "", t("settings-import-reading", file=ongoing.file_name))
                self._so_far = ui.label().classes("nk-so-far nk-num")
                with tag("div", "nk-meter", role="progressbar", aria_label=t("settings-import-meter")) as self._meter:
                    self._bar = tag("i")
            button(t("cancel"), "nk-btn-quiet").on("click", lambda: self._imports.cancel(self._user.id))

    def _show_result(self, done: Import) -> None:
        outcome, tone, icon_name = {
            ImportState.DONE: ("done", "ok", "check"),
            ImportState.CANCELLED: ("cancelled", "", "square"),
            ImportState.FAILED: ("failed", "bad", "circle-alert"),
        }[done.state]
        with tag("div", "nk-set"), tag("div", f"nk-notice nk-grow {tone}"):
            icon(icon_name, 16)
            with tag("span", "nk-grow"):
                tag("b", "", t(f"settings-import-{outcome}"))
                tag("span", "", " ".join(["", *filter(None, [in_words(done.problem), _told(done)])]))
            hide = button(t("settings-import-hide"), "nk-btn-ghost nk-btn-sm")
            hide.on("click", lambda: self._imports.forget(self._user.id))
        if done.skipped:
            self._show_skipped(done)

    def _show_skipped(self, done: Import) -> None:
        with tag("details", "nk-skipped"):
            tag("summary", "", t("settings-import-skipped", count=done.num_skipped))
            with tag("ul"):
                for each in done.skipped[:NUM_SHOWN]:
                    with tag("li"):
                        reason = in_words(each.reason)
                        tag("b", "", each.title or _place(each))
                        placed = t("settings-import-place", place=_place(each), reason=reason) if each.title else reason
                        tag("span", "", placed)
                if done.num_skipped > NUM_SHOWN:
                    tag("li", "", t("settings-import-more", count=done.num_skipped - NUM_SHOWN))


def _told(done: Import) -> str:
    added, updated, known = (done.counts[each] for each in (Merged.ADDED, Merged.UPDATED, Merged.KNOWN))
    sentences = [t("settings-import-added", count=added)] if added or not done.problem else []
    if updated:
        sentences.append(t("settings-import-updated", count=updated))
    if known:
        sentences.append(t("settings-import-known", count=known))
    return " ".join(sentences)


def _place(skipped: Skipped) -> str:
    if skipped.position and skipped.file:
        return t("settings-import-entry-of", number=skipped.position, file=skipped.file)
    if skipped.position:
        return t("settings-import-entry", number=skipped.position)
    return skipped.file or t("settings-import-file")
