"""Whether a model fits this machine, in words before any number. On the pages where models are found."""

from __future__ import annotations

from app.services.model_speeds import Speed
from engine.fit import Fit, Verdict
from ui.components.elements import icon, tag
from ui.language import in_words, t
from ui.words import context, number, size

LOOKS = {
    Verdict.FITS: ("", "circle-check"),
    Verdict.TIGHT: ("tight", "triangle-alert"),
    Verdict.TOO_BIG: ("no", "circle-alert"),
    Verdict.UNKNOWN: ("unknown", "circle-help"),
}
WORDS = {
    Verdict.FITS: "fit-fits", Verdict.TIGHT: "fit-tight", Verdict.TOO_BIG: "fit-too-big", Verdict.UNKNOWN: "fit-unknown"
}


def fit_line(fit: Fit, *, is_guess: bool = False, instead: str = "", speed: Speed | None = None) -> None:
    """`instead`: what would fit, where this does not."""
    tone, icon_name = LOOKS[fit.verdict]
    with tag("span", f"nk-fit {tone}".strip()):
        icon(icon_name, 16)
        with tag("span"):
            tag("b", "", t(WORDS[fit.verdict]))
            tag("span", "", f" {_detail(fit, is_guess)}{f' {instead}' if instead else ''}")
            if speed is not None:
                tag("span", "nk-num", f" {about_speed(speed)}")


def fit_in_words(fit: Fit, *, is_guess: bool = False) -> str:
    return f"{t(WORDS[fit.verdict])} {_detail(fit, is_guess)}"


def about_speed(speed: Speed) -> str:
    return t("speed-about", speed=number(speed.told, None))


def _detail(fit: Fit, is_guess: bool) -> str:
    match fit.verdict:
        case Verdict.UNKNOWN:
            return in_words(fit.reason) or t("fit-unknown-open")
        case Verdict.TOO_BIG:
            if not fit.needed_bytes:
                return in_words(fit.reason)
            return t("fit-needs", needed=size(fit.needed_bytes), there=size(fit.has_bytes))
    chats = t("count-chats", count=fit.num_users)
    room = t("fit-room-about" if is_guess else "fit-room", context=context(fit.context_tokens), chats=chats)
    return f"{room}, {_where(fit)}."


def _where(fit: Fit) -> str:
    if not fit.gpu_layers:
        return t("fit-on-cpu")
    if fit.gpu_layers >= fit.num_layers:
        return t("fit-on-gpu")
    return t("fit-on-both", share=round(100 * fit.gpu_layers / fit.num_layers))
