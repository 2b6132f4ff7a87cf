"""A secret that is shown once, and the button that copies it. Used where keys and passwords are made."""

from __future__ import annotations

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from ui.components.elements import button, tag
from ui.components.text import live, put
from ui.language import t

# With the bundle that has it for answers, too: it knows how to where a browser keeps its clipboard from pages.
_COPY = """async (event) => {
  const secret = event.currentTarget.parentElement.querySelector(".nk-secret").textContent;
  const { copyText } = await import("inglenook-markdown");
  emit(await copyText(secret));
}"""


def secret(text: str) -> Element:
    """The button."""

    def told(event: GenericEventArguments) -> None:
        put(outcome, t("chat-copied" if event.args else "markdown-not-copied"))

    with tag("div", "nk-secret-row"):
        tag("p", "nk-secret", text)
        copy = button(t("chat-copy"), "nk-btn-quiet nk-btn-sm", icon_name="copy").on("click", told, js_handler=_COPY)
        outcome = live("span", "nk-done", role="status")
    return copy
