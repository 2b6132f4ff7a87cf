"""Gets one model from the hub: a button that becomes its progress, and then says that it is here. On the pages where
models are found; each follows the downloads of all tabs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nicegui.element import Element

from app.services.container import Services
from app.services.download_status import DownloadStatus
from store.tables import DownloadState, Model
from ui.components.dialog import show_problem
from ui.components.elements import icon, tag
from ui.components.text import live, put
from ui.language import FORESEEN, t, told
from ui.models.row import details_path
from ui.words import percent


@dataclass(frozen=True, slots=True)
class Wanted:
    """`wanted` as downloads are asked for; `label` and `file` tell them again."""

    repo: str
    wanted: str
    label: str
    file: str = ""              # its name at the hub; "" where only the label is known

    def is_download(self, status: DownloadStatus) -> bool:
        return status.repo == self.repo and status.label == self.label

    def is_model(self, model: Model) -> bool:
        if model.repo != self.repo:
            return False
        if self.file:
            return Path(model.path).name == PurePosixPath(self.file).name
        return model.quantisation.upper() == self.label.upper()


async def show_gets(services: Services, buttons: Sequence[GetButton]) -> None:
    """What has become of the models behind them, by now."""
    statuses = services.downloads.list()
    models = [entry.model for entry in await services.models.list()]
    for each in buttons:
        each.show(statuses, models)


class GetButton:
    def __init__(self, services: Services, wanted: Wanted, name: str, problem: Element, *, is_off: bool) -> None:
        """`name` is for who hears the page; `is_off`: it is too big, or cannot be used here."""
        self._services = services
        self._wanted = wanted
        self._problem = problem
        self._is_off = is_off
        with tag("span", "nk-get-one"):
            off = {"aria-disabled": "true"} if is_off else {}
            look = "nk-btn" if is_off else "nk-btn nk-btn-quiet"
            self._get = tag("button", look, type="button", aria_label=t("get-named", model=name))
            self._get.props.update(off)
            with self._get.on("click", self._ask):
                icon("download")
                tag("span", text=t("get"))
            with tag("a", "nk-btn nk-btn-ghost nk-getting", href="/models") as self._going:
                tag("span", "nk-spin")
                self._so_far = live("span", "nk-num")
            with tag("a", "nk-btn nk-btn-ghost", href="/models") as self._here:
                icon("check")
                tag("span", text=t("get-installed"))
        self.show([], [])

    def show(self, statuses: Sequence[DownloadStatus], models: Sequence[Model]) -> None:
        model = next((each for each in models if self._wanted.is_model(each)), None)
        going = next((
            each for each in statuses
            if self._wanted.is_download(each) and each.state is not DownloadState.ON_DISK
        ), None)
        if model is not None:
            self._here.props["href"] = details_path(model.id)
        if going is not None:
            is_held = going.state in (DownloadState.PAUSED, DownloadState.FAILED)
            put(self._so_far, t("get-held") if is_held else percent(going.fraction) or "")
        for element, is_shown in (
            (self._going, going is not None), (self._here, going is None and model is not None),
            (self._get, going is None and model is None),
        ):
            if element.visible != is_shown:
                element.set_visibility(is_shown)

    async def _ask(self) -> None:
        if self._is_off:
            return
        show_problem(self._problem, None)
        try:
            await self._services.downloads.request(self._wanted.repo, self._wanted.wanted)
        except FORESEEN as error:
            show_problem(self._problem, told(error))
