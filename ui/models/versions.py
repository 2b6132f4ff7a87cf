"""A model's files and where they came from, and its versions: which is in use, and the way back. On its own page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from app.services.container import Services
from app.services.model_facts import paths_of
from app.services.model_origin import Origin
from app.services.model_versions import InstalledVersion
from store.tables import Model
from ui.components.dialog import ask, show_problem
from ui.components.elements import button, tag
from ui.language import FORESEEN, t, told
from ui.models.update_line import UpdateLine
from ui.words import date, size, when

SHORT = 12


class Versions:
    def __init__(self, services: Services, model: Model) -> None:
        self._services = services
        self._model = model

    async def build(self) -> None:
        """Into the slot that is open when it is called."""
        versions = await self._services.model_versions.list(self._model.id)
        with tag("div", "nk-card nk-list") as self._card:
            self._about()
            self._problem = tag("div")
            if self._model.repo:
                await UpdateLine(self._services, self._model, self._problem).build()
            if len(versions) > 1:
                for version in reversed(versions):
                    self._version(version)

    def _about(self) -> None:
        model = self._model
        origin = Origin.from_values(model.origin)
        with tag("div", "nk-card-b"), tag("dl", "nk-facts"):
            if model.repo:
                _fact(t("files-from"), model.repo, href=f"/models/find/{model.repo}")
                _fact(t("files-commit"), model.commit_sha, is_code=True)
            elif origin.app:
                _fact(t("files-from"), t("files-of-app", app=origin.app, name=origin.name or "–"))
                if origin.pin:
                    _fact(t("files-commit"), origin.pin, is_code=True)
            _fact(t("files-kind"), " · ".join(filter(None, [model.file_format.upper(), model.architecture])))
            _fact(t("files-added"), date(model.added_at.astimezone()))
            hashes = {each["path"]: each for each in model.files}
            for path in paths_of(model):
                _file(path, hashes.get(str(path), {}))

    def _version(self, version: InstalledVersion) -> None:
        with tag("div", "nk-set"):
            with tag("div", "nk-grow"):
                with tag("h3", "nk-code-line", version.path.name):
                    if version.is_in_use:
                        tag("span", "nk-tag", t("version-in-use"))
                told_of = [t("version-installed", when=when(version.installed_at)),
                           size(version.size_bytes), version.quantisation]
                tag("p", "nk-num", " · ".join(filter(None, told_of)))
                tag("p", "nk-hint nk-break", version.version)
            if version.is_in_use:
                return
            with tag("div", "nk-row"):
                if version.is_there:
                    button(t("version-use"), "nk-btn-quiet nk-btn-sm").on("click", self._user(version))
                button(t("version-forget"), "nk-btn-danger nk-btn-sm").on("click", self._forgetter(version))

    def _user(self, version: InstalledVersion) -> Callable[[], Awaitable[None]]:
        async def use() -> None:
            await self._tried(self._services.model_versions.roll_back(self._model.id, version.version_id))

        return use

    def _forgetter(self, version: InstalledVersion) -> Callable[[], Awaitable[None]]:
        async def forget() -> None:
            await self._tried(self._services.model_versions.forget(self._model.id, version.version_id))

        async def ask_first() -> None:
            with self._card:
                about = t("version-forget-about", file=version.path.name, size=size(version.size_bytes))
                ask(t("version-forget-question"), about, t("version-forget"), forget)

        return ask_first

    async def _tried(self, doing: Awaitable[Any]) -> None:
        try:
            await doing
        except FORESEEN as error:
            show_problem(self._problem, told(error))


def _fact(label: str, value: str, *, href: str = "", is_code: bool = False) -> None:
    tag("dt", "", label)
    with tag("dd"):
        if href:
            tag("a", "nk-link", value, href=href)
        else:
            tag("span", "nk-mono nk-break" if is_code else "nk-break", value)


def _file(path: Path, known: dict[str, Any]) -> None:
    tag("dt", "", t("files-file"))
    with tag("dd"):
        tag("span", "nk-break", str(path))
        parts = [size(known["size_bytes"])] if known.get("size_bytes") else []
        if known.get("sha256"):
            parts.append(f"sha256 {known['sha256'][:SHORT]}…")
        if parts:
            tag("small", "", " · ".join(parts), **({"title": known["sha256"]} if known.get("sha256") else {}))
