"""Whether the model names new chats: a switch on the settings page, which calls `titles_setting`. On the event loop."""

from __future__ import annotations

from app.services.container import Services
from store.tables import User
from ui.components.elements import tag
from ui.language import t


async def titles_setting(services: Services, user: User) -> None:
    """A row of a card."""
    is_on = await services.titles.is_wanted(user.id)

    def show() -> None:
        switch.props["aria-checked"] = "true" if is_on else "false"
        switch.classes(add="on") if is_on else switch.classes(remove="on")

    async def flip() -> None:
        nonlocal is_on
        is_on = not is_on
        show()
        await services.titles.set_wanted(user.id, is_on)

    with tag("div", "nk-set"):
        with tag("div"):
            tag("h3", "", t("sidebar-titles"))
            tag("p", "", t("sidebar-titles-about"))
        switch = tag("button", "nk-switch", type="button", role="switch", aria_label=t("sidebar-titles"))
        switch.on("click", flip, args=[])
    show()
