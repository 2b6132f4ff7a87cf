"""NiceGUI's elements ask what their handlers take; those of its own that they always ask about have told it."""

from __future__ import annotations

from inspect import signature

from nicegui.classes import Classes
from nicegui.props import Props
from nicegui.style import Style

from tests.ui.conftest import Person
from ui.components.elements import tag
from ui.signatures import tell_signatures


def test_each_handler_carries_the_signature_that_it_has() -> None:
    tell_signatures()
    for kind in (Classes, Style, Props):
        handler = vars(kind)["_update"]
        assert handler.__signature__ is signature(handler)
        assert [*handler.__signature__.parameters] == ["self"]


async def test_what_changes_is_still_sent(ada: Person) -> None:
    tab = await ada.at("/")
    assert tab.client is not None
    with tab.client:
        element = tag("p")
    for change in (element.classes, element.style, element.props):
        tab.client.outbox.updates.clear()
        change("color=red" if change is element.props else "color: red" if change is element.style else "red")
        assert tab.client.outbox.updates.get(element.id) is element
