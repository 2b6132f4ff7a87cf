"""A gated model: what its makers want, and the token that says who asks. On a model's page at the hub."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.services.container import Services
from ui.components.dialog import show_problem
from ui.components.elements import button, icon, tag
from ui.components.native import TextField
from ui.components.text import live, put
from ui.language import FORESEEN, t, told


async def gate_notice(services: Services, repo: str, on_set: Callable[[], Awaitable[None]]) -> None:
    """Into the slot that is open when it is called. The token is kept sealed, and never shown again."""
    has_token = await services.hub.tokens.is_set()
    terms = f"{services.settings.hub_endpoint}/{repo}"
    with tag("div", "nk-card nk-gated"):
        with tag("div", "nk-gated-head"):
            icon("lock")
            with tag("div"):
                tag("h2", "", t("gated"))
                tag("p", "", t("gated-about"))
        with tag("a", "nk-btn nk-btn-quiet nk-btn-sm", href=terms, target="_blank", rel="noreferrer"):
            tag("span", text=t("gated-terms"))
            icon("external-link", 16)
        with tag("form", "nk-gated-form") as form:
            label = t("gated-token-other") if has_token else t("gated-token")
            token = TextField(label, kind="password", hint=t("gated-token-about"))
            with tag("div", "nk-row"):
                button(t("gated-keep"), "nk-btn-primary nk-btn-sm", kind="submit")
                done = live("span", "nk-done", role="status")

    async def keep() -> None:
        show_problem(token.problem, None)
        try:
            await services.hub.tokens.set(token.value)
        except FORESEEN as error:
            show_problem(token.problem, told(error))
            return
        put(done, t("gated-kept") if token.value.strip() else t("gated-forgotten"))
        await on_set()

    form.on("submit.prevent", keep, args=[])
