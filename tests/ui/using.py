"""How a test uses a page that was built without a browser: find, click, and wait for what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

from nicegui.element import Element
from nicegui.events import GenericEventArguments, handle_event
from nicegui.testing import User

from ui.components.menu_choices import MenuChoices

E = TypeVar("E", bound=Element)
Ts = TypeVarTuple("Ts")

PATIENCE_S = 60
POLL_S = 0.005


def elements(tab: User, kind: type[E]) -> list[E]:
    assert tab.client is not None
    return [element for element in tab.client.elements.values() if isinstance(element, kind)]


def has(tab: User, kind: type[Element]) -> bool:
    return bool(elements(tab, kind))


def one(tab: User, kind: type[E]) -> E:
    (element,) = elements(tab, kind)
    return element


def trigger(element: Element, event: str, args: object = None) -> None:
    """As if the browser had sent it; modifiers are its affair."""
    listeners = [each for each in element._event_listeners.values() if each.type.split(".")[0] == event]
    assert listeners, f"nobody listens for {event} on {element}"
    with element:
        for listener in listeners:
            handle_event(listener.handler, GenericEventArguments(sender=element, client=element.client, args=args))


def click(tab: User, text: str) -> None:
    """What carries exactly this text, or the nearest thing around it that listens."""
    around = [_clickable(element) for element in elements(tab, Element) if getattr(element, "text", None) == text]
    found = {element for element in around if element is not None}
    assert len(found) == 1, f"{len(found)} things to click on say {text!r}"
    trigger(found.pop(), "click")


def press(tab: User, label: str) -> None:
    """The button with a symbol alone, of this name."""
    buttons = [each for each in elements(tab, Element) if each.tag == "button"]
    (button,) = [each for each in buttons if each.props.get("aria-label") == label]
    trigger(button, "click")


def _clickable(element: Element) -> Element | None:
    for each in (element, *element.ancestors()):
        if any(listener.type.split(".")[0] == "click" for listener in each._event_listeners.values()):
            return each
    return None


def choose(tab: User, name: str) -> None:
    """In the chat's picker of models and presets, which is made as it opens."""
    click(tab, "Model: ")
    offered = [(menu, item) for menu in elements(tab, MenuChoices) for item in menu.props["items"]]
    found = [(menu, item["id"]) for menu, item in offered if item["name"] == name]
    assert len(found) == 1, f"{len(found)} choices are called {name!r}"
    trigger(found[0][0], "choose", found[0][1])


def told(tab: User, word: str) -> list[str]:
    """The scripts sent to this page that have the word in them."""
    assert tab.client is not None
    sent: list[tuple[Any, str, dict[str, Any]]] = [message for _, _, message in tab.client.outbox.message_history]
    return [data["code"] for _, kind, data in sent if kind == "run_javascript" and word in data["code"]]


async def until(condition: Callable[[*Ts], object], *of: *Ts) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition(*of):      # noqa: ASYNC110 - a page gives no sign when it is done
            await asyncio.sleep(POLL_S)
