"""What the template doctor says of a model, in words: what it can, what is wrong. On the model's own page."""

from __future__ import annotations

from app.errors import said_of_template
from engine.template_doctor import Finding, Level, TemplateReport
from ui.components.elements import icon, tag
from ui.language import in_words, t

LOOKS = {
    Level.FAULT: ("bad", "circle-alert"),
    Level.LOSS: ("warn", "triangle-alert"),
    Level.NOTE: ("note", "circle-help"),
}
IN_ORDER = (Level.FAULT, Level.LOSS, Level.NOTE)


def doctor_card(report: TemplateReport) -> None:
    with tag("div", "nk-card"):
        with tag("div", "nk-card-h"):
            tag("h2", "", t("doctor"))
        with tag("div", "nk-card-b"):
            with tag("div", "nk-row nk-doctor-can"):
                for name in _abilities(report):
                    tag("span", "nk-tag", name)
            tag("p", "nk-doctor-sum", _sum(report))
            if report.findings:
                with tag("ul", "nk-findings"):
                    for finding in sorted(report.findings, key=lambda each: IN_ORDER.index(each.level)):
                        _finding(finding)


def _finding(finding: Finding) -> None:
    tone, icon_name = LOOKS[finding.level]
    with tag("li", f"nk-finding {tone}"):
        icon(icon_name, 16)
        with tag("span"):
            tag("span", "nk-sr", t(f"doctor-level-{finding.level.value}"))
            tag("span", text=in_words(said_of_template(finding)))


def _sum(report: TemplateReport) -> str:
    if not report.is_fit_for_chat:
        return t("doctor-unfit")
    return t("doctor-fit") if report.findings else t("doctor-well")


def _abilities(report: TemplateReport) -> list[str]:
    names = [t("doctor-tools") if report.calls_tools else t("doctor-no-calls")]
    if report.thinks:
        names.append(t(f"doctor-thinks-{report.thinks}"))
    if report.takes_images:
        names.append(t("doctor-images"))
    if report.family:
        names.append(t("doctor-family", family=report.family))
    return names
