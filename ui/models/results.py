"""What a search at the hub has found, and the models to begin with, each judged before its size. On the find page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.hub.client import FoundModel
from app.services.container import Services
from app.services.hub import rough_of
from app.services.model_speeds import Speed
from app.services.starters import Starter
from engine.fit import Fit, Verdict
from ui.components.elements import icon, tag
from ui.language import t
from ui.models.fit_line import fit_line
from ui.models.get_button import GetButton, Wanted
from ui.models.names import repo_name, repo_owner
from ui.words import number, size, when


def starter_row(
    services: Services, starter: Starter, fit: Fit, speed: Speed | None, *, is_recommended: bool
) -> GetButton:
    with tag("div", "nk-hub"):
        with tag("div"):
            with tag("span", "nk-name"):
                tag("a", "nk-plain", starter.name, href=f"/models/find/{starter.repo}")
                tag("span", "nk-tag", starter.wanted)
                for each in starter.does:
                    tag("span", "nk-tag", t(f"does-{each}"))
                if is_recommended:
                    tag("span", "nk-tag nk-tag-good", t("find-best"))
            tag("p", "nk-desc", t(f"starter-{starter.id}"))
            with tag("div", "nk-facts-line"):
                fit_line(fit, is_guess=True, speed=speed)
            problem = tag("div")
        with tag("div", "nk-get"):
            tag("span", "nk-size nk-num", size(starter.size_bytes))
            wanted = Wanted(starter.repo, starter.wanted, starter.wanted)
            return GetButton(services, wanted, starter.name, problem, is_off=fit.verdict is Verdict.TOO_BIG)


def result_rows(found: Sequence[FoundModel], fits: Mapping[str, Fit], installed: set[str], file_format: str) -> None:
    for each in found:
        _result_row(each, fits.get(each.repo), is_here=each.repo in installed, file_format=file_format)


def _result_row(found: FoundModel, fit: Fit | None, *, is_here: bool, file_format: str) -> None:
    path = f"/models/find/{found.repo}"
    with tag("div", "nk-hub"):
        with tag("div"):
            with tag("span", "nk-name"):
                tag("a", "nk-plain", repo_name(found.repo), href=path)
                if found.num_parameters:
                    tag("span", "nk-tag", parameters(found.num_parameters))
                if found.licence:
                    tag("span", "nk-tag", found.licence)
                if found.is_gated:
                    with tag("span", "nk-tag"):
                        icon("lock", 14)
                        tag("span", text=t("find-gated"))
                if is_here:
                    tag("span", "nk-tag nk-tag-good", t("get-installed"))
            tag("p", "nk-desc", about(found))
            with tag("div", "nk-facts-line"):
                fit_line(fit or Fit(verdict=Verdict.UNKNOWN), is_guess=True)
        with tag("div", "nk-get"):
            rough = rough_of(found, file_format)
            told = t("size-about", size=size(rough.weight_bytes)) if rough else ""
            tag("span", "nk-size nk-num", told)
            with tag("a", "nk-btn nk-btn-quiet", href=path, aria_label=t("find-choose-named", model=found.repo)):
                tag("span", text=t("find-choose"))


def about(found: FoundModel) -> str:
    parts = [t("find-by", owner=repo_owner(found.repo)), t("find-downloads", count=found.downloads,
                                                           number=number(found.downloads))]
    if found.modified_at is not None:
        parts.append(t("find-changed", when=when(found.modified_at)))
    return " · ".join(parts)


def parameters(num: int) -> str:
    """"8.2B", "135M"."""
    if num >= 10**9:
        return t("parameters-billion", number=number(num / 1e9, 1 if num < 10**11 else 0))
    return t("parameters-million", number=number(num / 1e6))
