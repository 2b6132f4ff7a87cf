"""One model's page from the hub: its files and which of them fit here, what it wants, its card. For admins.

One `HubModelPage` an open browser tab, on the event loop. The page is there at once; what the hub says follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import Request
from nicegui import background_tasks, ui
from nicegui.element import Element

from app.errors import AppError
from app.hub.client import ModelPage
from app.hub.files import Variant, is_usual
from app.services.container import Services
from engine.fit import Fit, Verdict
from ui.components.card import CardText
from ui.components.elements import button, icon, tag
from ui.components.frame import Frame, narrow_head, rail
from ui.components.text import live, put
from ui.language import in_words, t, told
from ui.models.fit_line import fit_line
from ui.models.gate_notice import gate_notice
from ui.models.get_button import GetButton, Wanted, show_gets
from ui.models.head import FIND, INSTALLED, back_link
from ui.models.model_card import readable
from ui.models.names import repo_name
from ui.models.results import about, parameters
from ui.refreshing import on_gone, show_changes
from ui.words import context, size


async def hub_model_page(services: Services, request: Request, repo: str) -> bool:
    page = HubModelPage(services, await Frame.make(services, request), repo)
    page.build()
    return True


class HubModelPage:
    def __init__(self, services: Services, frame: Frame, repo: str) -> None:
        self._services = services
        self._frame = frame
        self._client = ui.context.client
        self._repo = repo
        self._buttons: list[GetButton] = []
        self._fits: dict[str, Element] = {}     # where each file's verdict stands

    def build(self) -> None:
        name = repo_name(self._repo)
        ui.page_title(t("page-title", page=name))
        with self._frame.around(label=t("models"), sidebar=rail(INSTALLED, self._frame)):
            narrow_head(t("models"))
            with tag("div", "nk-page"), tag("div", "nk-page-in") as place:
                back_link(FIND, t("find"))
                with tag("div", "nk-title"):
                    with tag("div"):
                        tag("h1", "", name)
                        self._about = tag("p", "", self._repo)
                        self._tags = tag("div", "nk-row nk-hub-tags")
                    with tag("div", "nk-end"):
                        address = f"{self._services.settings.hub_endpoint}/{self._repo}"
                        outside = tag("a", "nk-btn nk-btn-quiet", href=address, target="_blank",
                                      rel="noreferrer")
                        with outside:
                            tag("span", text=t("hub-open"))
                            icon("external-link", 16)
                self._body = tag("div", aria_live="polite")
        with self._body, tag("div", "nk-waiting"):
            tag("span", "nk-spin nk-spin-ember")
            tag("span", text=t("hub-asking"))
        show_changes(self._services, self._client, self._frame.user.id, place, {"downloads", "models"}, self._show_gets)
        reading = background_tasks.create(self._load(), name="refresh hub model", context=place)
        on_gone(self._client, reading.cancel)

    async def _load(self) -> None:
        try:
            page = await self._services.hub.page(self._repo)
        except AppError as error:
            if not self._client.is_deleted:
                self._show_problem(told(error))
            return
        if self._client.is_deleted:
            return
        self._show_head(page)
        self._body.clear()
        self._buttons.clear()
        with self._body:
            if page.model.is_gated:
                await gate_notice(self._services, self._repo, self._judge_again(page))
            self._show_files(page)
            card = tag("div")
        await self._show_gets()
        await asyncio.gather(self._judge(page), self._show_card(page, card))

    def _show_problem(self, problem: str) -> None:
        self._body.clear()
        with self._body, tag("div", "nk-notice warn", role="alert"):
            icon("unplug", 16)
            tag("span", "nk-grow", problem)
            button(t("try-again"), "nk-btn-quiet nk-btn-sm").on("click", self._load)

    def _show_head(self, page: ModelPage) -> None:
        model = page.model
        self._tags.clear()
        with self._tags:
            if model.num_parameters:
                tag("span", "nk-tag", t("hub-parameters", count=parameters(model.num_parameters)))
            if model.context_tokens:
                tag("span", "nk-tag", t("model-context", context=context(model.context_tokens)))
            tag("span", "nk-tag", t("hub-licence", licence=model.licence) if model.licence else t("hub-no-licence"))
            if model.is_gated:
                tag("span", "nk-tag", t("find-gated"))
        with self._tags:
            tag("span", "nk-hub-about", about(model))

    # --- its files ----------------------------------------------------------------------------------------------------

    def _show_files(self, page: ModelPage) -> None:
        with tag("div", "nk-sec"):
            tag("h2", "", t("hub-files"))
            tag("span", "nk-count", t("hub-files-about") if page.variants else "")
        self._fits.clear()
        with tag("div", "nk-card nk-list"):
            for variant in page.variants:
                self._file(page, variant)
            if not page.variants:
                with tag("div", "nk-empty"):
                    with tag("div", "nk-glyph"):
                        icon("file-text", 20)
                    tag("h3", "", t("hub-no-files"))
                    tag("p", "", t("hub-no-files-about"))
        self._rests_on = live("p", "nk-hint")       # what the expected speeds rest on

    def _file(self, page: ModelPage, variant: Variant) -> None:
        with tag("div", "nk-hub"):
            with tag("div"):
                with tag("span", "nk-name"):
                    tag("span", "nk-break", variant.label)
                    if is_usual(variant, page.variants):
                        tag("span", "nk-tag nk-tag-good", t("hub-usual"))
                    if len(variant.weight_files) > 1:
                        tag("span", "nk-tag", t("hub-parts", count=len(variant.weight_files)))
                self._fits[variant.label] = tag("div", "nk-facts-line")
                problem = tag("div")
            with self._fits[variant.label]:
                tag("span", "nk-fit-wait", t("hub-judging"))
            with tag("div", "nk-get"):
                tag("span", "nk-size nk-num", size(variant.size_bytes))
                wanted = Wanted(self._repo, variant.files[0].name, variant.label, variant.files[0].name)
                name = f"{repo_name(self._repo)} {variant.label}"
                is_off = bool(variant.missing)
                self._buttons.append(GetButton(self._services, wanted, name, problem, is_off=is_off))

    def _judge_again(self, page: ModelPage) -> Callable[[], Awaitable[None]]:
        async def again() -> None:
            await self._judge(page)

        return again

    async def _judge(self, page: ModelPage) -> None:
        fits = await self._services.hub.fits(page)
        speeds = await self._services.model_speeds.of_fits(fits)
        if self._client.is_deleted:
            return
        put(self._rests_on, in_words(next((each.rests_on for each in speeds.values()), "")))
        would_fit = _best_that_fits(page, fits)
        for label, place in self._fits.items():
            fit = fits[label]
            instead = t("fit-try", label=would_fit) if fit.verdict is Verdict.TOO_BIG and would_fit else ""
            place.clear()
            with place:
                missing = next((each.missing for each in page.variants if each.label == label and each.missing), ())
                if missing:
                    fit_line(Fit(verdict=Verdict.UNKNOWN, reason=t("hub-missing", file=missing[0])))
                else:
                    fit_line(fit, instead=instead, speed=speeds.get(label))

    async def _show_card(self, page: ModelPage, place: Element) -> None:
        try:
            card = await self._services.hub.card(page)
        except AppError:            # the files are what matters
            return
        text = readable(card, self._repo, self._services.settings.hub_endpoint, page.commit_sha)
        if not text or self._client.is_deleted:
            return
        with place:
            with tag("div", "nk-sec"):
                tag("h2", "", t("hub-card"))
                tag("span", "nk-count", t("hub-card-about"))
            with tag("div", "nk-card nk-card-page"):
                CardText(text)

    async def _show_gets(self) -> None:
        await show_gets(self._services, self._buttons)


def _best_that_fits(page: ModelPage, fits: dict[str, Fit]) -> str:
    """The largest file that fits; "" where none does."""
    good = [each for each in page.variants if fits[each.label].verdict in (Verdict.FITS, Verdict.TIGHT)]
    return max(good, key=lambda each: each.size_bytes).label if good else ""
