"""Downloads as they go on: how far, how fast, how long still, and what to do about them. On the models page.

Each row stays in place while its numbers change, so that a button keeps the focus. Every open tab has its own.
"""

from __future__ import annotations

from nicegui.element import Element

from app.services.container import Services
from app.services.download_status import DownloadStatus
from engine.sizes import GIB
from store.tables import DownloadState
from ui.components.dialog import ask, show_problem
from ui.components.elements import icon, icon_button, tag
from ui.components.text import live, put
from ui.language import FORESEEN, in_words, t, told
from ui.models.names import repo_name
from ui.words import long_time, number, percent, rate, size

MOVING = (DownloadState.DOWNLOADING, DownloadState.VERIFYING)
HELD = (DownloadState.PAUSED, DownloadState.FAILED)


class DownloadList:
    """Of those that are not done: what is done stands among the installed models."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._rows: dict[str, DownloadRow] = {}
        self._shown: dict[str, DownloadStatus] = {}

    def build(self) -> None:
        self._section = tag("section", aria_label=t("downloads"))
        with self._section:
            with tag("div", "nk-sec"):
                tag("h2", "", t("downloads"))
                self._count = live("span", "nk-count")
            self._list = tag("div", "nk-card nk-list")
        self._said = live("div", "nk-sr", role="status")
        self.show()

    def show(self) -> None:
        statuses = {each.id: each for each in self._services.downloads.list()}
        due = {each.id: each for each in statuses.values() if each.state is not DownloadState.ON_DISK}
        for download_id in [each for each in self._rows if each not in due]:
            self._rows.pop(download_id).delete()
            if download_id in statuses:         # done, not given up: said once, for who does not see it go
                self._said.set_text(t("download-done", model=repo_name(statuses[download_id].repo)))
        for download_id, status in due.items():
            if download_id not in self._rows:
                with self._list:
                    self._rows[download_id] = DownloadRow(self._services, status)
            self._rows[download_id].show(status)
        put(self._count, t("downloads-count", count=len(due)) if len(due) > 1 else "")
        self._section.set_visibility(bool(due))


class DownloadRow:
    def __init__(self, services: Services, status: DownloadStatus) -> None:
        self._services = services
        self._status = status
        name = repo_name(status.repo)
        with tag("div", "nk-dl") as self._row:
            with tag("div", "nk-top"):
                with tag("div", "nk-grow"):
                    with tag("a", "nk-name nk-plain", href=f"/models/find/{status.repo}"):
                        tag("span", text=name)
                    tag("span", "nk-tag", status.label)
                self._action = tag("button", "nk-btn nk-btn-quiet nk-btn-sm", type="button")
                with self._action:
                    self._icons = {each: icon(each, 16) for each in ("pause", "play")}
                    self._word = live("span")
                self._action.on("click", self._act)
                cancel = icon_button("x", t("download-cancel", model=name))
                cancel.on("click", self._ask_to_cancel)
            with tag("div", "nk-meter", role="progressbar", aria_label=t("download-meter", model=name)) as self._meter:
                self._bar = tag("i")
            with tag("div", "nk-bot nk-num"):
                self._parts = [live("span") for _ in range(4)]
            self._problem = tag("div")
        self._told = ""

    def delete(self) -> None:
        self._row.delete()

    def show(self, status: DownloadStatus) -> None:
        self._status = status
        is_held = status.state in HELD
        self._icons["play"].set_visibility(is_held)
        self._icons["pause"].set_visibility(not is_held)
        put(self._word, t(_action_of(status.state)))
        share = round(100 * status.fraction, 1)
        self._bar.style(f"width: {share}%")
        calm = status.state not in MOVING
        self._meter.classes(add="calm") if calm else self._meter.classes(remove="calm")
        _set(self._meter, "aria-valuenow", str(round(share)))
        parts = parts_of(status)
        for element, text in zip(self._parts, [*parts, "", "", "", ""], strict=False):
            put(element, text)
        self._tell(in_words(status.reason) if status.state is DownloadState.FAILED else "")

    def _tell(self, problem: str) -> None:
        if problem != self._told:
            self._told = problem
            show_problem(self._problem, problem)

    async def _act(self) -> None:
        downloads = self._services.downloads
        try:
            if self._status.state in HELD:
                await downloads.resume(self._status.id)
            else:
                await downloads.pause(self._status.id)
        except FORESEEN as error:
            self._tell(told(error))

    async def _ask_to_cancel(self) -> None:
        status = self._status

        async def cancel() -> None:
            try:
                await self._services.downloads.cancel(status.id)
            except FORESEEN as error:
                self._tell(told(error))

        with self._row:
            gone = size(status.done_bytes)
            about = t("download-cancel-about", size=gone) if status.done_bytes else t("download-cancel-nothing")
            ask(t("download-cancel-question", model=repo_name(status.repo)), about, t("download-cancel-yes"), cancel)


def parts_of(status: DownloadStatus) -> list[str]:
    """What stands under the bar, most important first; at most four."""
    so_far = t(
        "download-so-far", done=number(status.done_bytes / GIB, 2 if status.total_bytes < GIB else 1),
        total=number(status.total_bytes / GIB, 2 if status.total_bytes < GIB else 1),
    )
    match status.state:
        case DownloadState.DOWNLOADING:
            parts = [so_far]
            if status.bytes_per_s:
                parts.append(rate(status.bytes_per_s))
            if status.remaining_s is not None:
                parts.append(t("download-left", time=long_time(status.remaining_s)))
            if status.reason:
                parts.append(in_words(status.reason))
            elif len(parts) == 3:
                parts.append(t("download-goes-on"))
            return parts
        case DownloadState.VERIFYING:
            return [t("download-verifying", percent=percent(status.fraction) or "")]
        case DownloadState.QUEUED:
            return [t("download-queued"), so_far, *filter(None, [in_words(status.reason)])]
        case DownloadState.PAUSED:
            return [t("download-paused"), so_far, *filter(None, [in_words(status.reason)])]
    return [t("download-stopped"), so_far]


def _action_of(state: DownloadState) -> str:
    return {
        DownloadState.PAUSED: "download-resume", DownloadState.FAILED: "try-again",
    }.get(state, "download-pause")


def _set(element: Element, name: str, value: str) -> None:
    if element.props.get(name) != value:
        element.props[name] = value
