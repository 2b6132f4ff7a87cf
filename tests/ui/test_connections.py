"""Models elsewhere on the pages: what an admin enters and switches, and what each chat says of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nicegui.element import Element
from nicegui.elements.dialog import Dialog
from nicegui.testing import User

from app.services.connections import Entered
from app.services.models import STARTER_ID, STARTER_NAME
from tests.engine.upstream import KEY, Upstream
from tests.ui.conftest import Home, Person
from tests.ui.using import choose, click, elements, one, trigger, until
from ui.components.composer import Composer
from ui.components.menu_choices import MenuChoices


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(about={"max_model_len": 8192}, wants_key=True)
    yield server
    server.close()


def entered(upstream: Upstream, name: str = "Office") -> Entered:
    return Entered(name=name, base_url=upstream.url, key=KEY)


def texts(tab: User) -> list[str]:
    """As far as they can be seen: what is around them is shown, too."""
    return [
        text for element in elements(tab, Element)
        if (text := getattr(element, "text", None)) and all(each.visible for each in (element, *element.ancestors()))
    ]


def fill(tab: User, **values: str) -> None:
    """Fields of the form, by their labels."""
    for label, value in values.items():
        name = next(
            each.props["for"] for each in elements(tab, Element)
            if each.tag == "label" and getattr(each, "text", "") == label
        )
        trigger(next(each for each in elements(tab, Element) if each.props.get("id") == name), "change", value)


def submit(tab: User) -> None:
    forms = [each for each in elements(tab, Element) if each.tag == "form" and "nk-stack" in each.classes]
    trigger(forms[-1], "submit")


def switch(tab: User) -> Element:
    return next(each for each in elements(tab, Element) if each.props.get("role") == "switch")


async def test_at_first_it_is_off_and_nothing_can_be_added(home: Home, ada: Person) -> None:
    tab = await ada.at("/models")
    assert "Let models elsewhere be used" in texts(tab) and "Add a connection" not in texts(tab)
    trigger(switch(tab), "click")
    await until(lambda: "Add a connection" in texts(tab))
    assert await home.services.connections.is_allowed()
    assert any(text.startswith("No connections yet.") for text in texts(tab))


async def test_a_connection_is_entered_tested_and_removed(home: Home, ada: Person, upstream: Upstream) -> None:
    await home.services.connections.set_allowed(True)
    tab = await ada.at("/models")
    click(tab, "Add a connection")
    await until(lambda: "Headers and session" in texts(tab))
    submit(tab)
    await until(lambda: any(text.startswith("Give an address like") for text in texts(tab)))
    fill(tab, Name="Office", Address=upstream.url, Key="wrong")
    submit(tab)
    await until(lambda: any("does not take the key" in text for text in texts(tab)))
    fill(tab, Key=KEY)
    submit(tab)
    await until(lambda: "Answers" in texts(tab))
    assert {"Office", "vLLM", upstream.url, "1 model", "big"} <= set(texts(tab))
    assert "answered today" in texts(tab)
    assert "8k context" in texts(tab) and KEY not in str(texts(tab))
    upstream.routes["/v1/models"] = {"no": "models"}
    click(tab, "Test it")
    await until(lambda: "Not working" in texts(tab))
    assert any("lists no models" in text for text in texts(tab))
    del upstream.routes["/v1/models"]
    click(tab, "Test it")
    await until(lambda: "It answers, and has 1 model." in texts(tab))
    click(tab, "Switch off")
    await until(lambda: "Switched off" in texts(tab))
    assert "Switch on" in texts(tab) and "Switch off" not in texts(tab)
    await home.services.connections.remove((await home.services.connections.list())[0].connection.id)
    await until(lambda: "Office" not in texts(tab))


async def test_changing_a_connection_keeps_its_key_unless_it_leads_elsewhere(
    home: Home, ada: Person, upstream: Upstream
) -> None:
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ada.at("/models")
    click(tab, "Change it")
    await until(lambda: "There is one. Leave this empty to keep it." in texts(tab))
    fill(tab, Name="Kitchen", Address="http://127.0.0.1:9/v1")
    submit(tab)
    await until(lambda: any("enter its key and headers again" in text for text in texts(tab)))
    fill(tab, Address=upstream.url)
    submit(tab)
    await until(lambda: "Kitchen" in texts(tab))
    assert upstream.asked[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_what_was_kept_can_be_dropped(home: Home, ada: Person) -> None:
    upstream = Upstream()           # which takes who has no key
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(Entered(
        name="Office", base_url=upstream.url, key=KEY, headers={"X-Team": "kitchen"},
    ))
    tab = await ada.at("/models")
    click(tab, "Change it")
    await until(lambda: "Forget the headers that are kept" in texts(tab))
    fill(tab, Headers="Authorization: Bearer other")
    submit(tab)
    await until(lambda: any("only one can be sent" in text for text in texts(tab)))
    fill(tab, Headers="")
    for what in ("key", "headers"):
        _turn(tab, f"Forget the {what} that {'is' if what == 'key' else 'are'} kept")
    shown = one(tab, Dialog)
    submit(tab)
    await until(lambda: not shown.value)
    entry = (await home.services.connections.list())[0]
    assert not entry.has_key and not entry.connection.sealed_headers
    assert not {"authorization", "x-team"} & {name.lower() for name in upstream.asked[-1].headers}
    upstream.close()


def _turn(tab: User, label: str) -> None:
    words = next(each for each in elements(tab, Element) if getattr(each, "text", "") == label)
    trigger(next(
        each for each in elements(tab, Element) if each.props.get("aria-labelledby") == words.props["id"]
    ), "click")


async def test_how_many_of_a_server_s_models_cannot_be_used_is_said(
    home: Home, ada: Person, upstream: Upstream
) -> None:
    await home.services.connections.set_allowed(True)
    added = await home.services.connections.add(Entered(name="Office", base_url=upstream.url, key=KEY))
    assert added.num_left_out == 0
    tab = await ada.at("/models")
    await until(lambda: "Office" in texts(tab))
    upstream.raw_routes["/v1/models"] = b'{"data": [{"id": "big"}, {"id": "a\\ud83d"}]}'
    click(tab, "Test it")
    said = "1 more of its list cannot be used: its name cannot be read, or the list is too long."
    await until(lambda: f"It answers, and has 1 model. {said}" in texts(tab))
    again = await ada.at("/models")
    await until(lambda: said in texts(again))


async def test_while_all_are_off_no_connection_offers_to_be_switched(
    home: Home, ada: Person, upstream: Upstream
) -> None:
    """What it is and what can be done with it are not to be taken for each other."""
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ada.at("/models")
    assert "Switch off" in texts(tab)
    await home.services.connections.set_allowed(False)
    await until(lambda: "All switched off" in texts(tab))
    assert not {"Switch off", "Switch on"} & set(texts(tab))


async def test_a_chat_says_before_and_after_that_words_leave(home: Home, ben: Person, upstream: Upstream) -> None:
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ben.at("/")
    assert "Nothing you write leaves this computer." in texts(tab)
    choose(tab, "big")
    of_models, *_ = elements(tab, MenuChoices)
    assert any("Elsewhere, over Office" in item["about"] for item in of_models.props["items"])
    leaves = "What you write goes to Office and leaves this computer."
    await until(lambda: leaves in texts(tab))
    assert "Nothing you write leaves this computer." not in texts(tab)
    composer = next(iter(elements(tab, Composer)))
    assert composer.props["placeholder"] == "Ask anything. It goes to Office."
    choose(tab, "SmolLM2 135M Instruct")
    await until(lambda: "Nothing you write leaves this computer." in texts(tab))


async def test_a_temporary_chat_says_so_too(home: Home, ben: Person, upstream: Upstream) -> None:
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    sent = await home.services.chat.send(ben.id, None, "Hello", model_id="big")
    generation = home.services.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    tab = await ben.at(f"/c/{sent.conversation_id}")
    assert "What you write goes to Office and leaves this computer." in texts(tab)
    await home.services.connections.set_allowed(False)
    stays = "What you write now stays on this computer. Answers above came over Office."
    await until(lambda: stays in texts(tab))


async def test_what_an_answer_from_elsewhere_knew_does_not_count_as_kept_here(
    home: Home, ben: Person, upstream: Upstream
) -> None:
    """Whichever model is chosen now; and of a branch without such an answer it is not said."""
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    sent = await home.services.chat.send(ben.id, None, "Hello", model_id="big")
    generation = home.services.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    tab = await ben.at(f"/c/{sent.conversation_id}")
    choose(tab, STARTER_NAME)
    mixed = "What you write now stays on this computer. Answers above came over Office."
    await until(lambda: mixed in texts(tab))
    await home.services.chat.regenerate(ben.id, sent.answer_id, model_id=STARTER_ID)
    await until(lambda: "Stays on this computer. Check what matters." in texts(tab))


async def test_hundreds_of_models_are_listed_when_they_are_asked_for(
    home: Home, ada: Person, upstream: Upstream
) -> None:
    upstream.models = tuple(f"org/model-{number:03}" for number in range(300))
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ada.at("/models")
    await until(lambda: "295 more" in texts(tab))
    assert "org/model-004" in texts(tab) and "org/model-005" not in texts(tab)
    rest = next(each for each in elements(tab, Element) if each.tag == "details" and "nk-find-rest" in each.classes)
    for _ in range(2):
        trigger(rest, "toggle")
        await until(lambda: "org/model-299" in texts(tab))
    assert texts(tab).count("org/model-299") == 1


async def test_others_than_admins_see_no_connections(ben: Person) -> None:
    async with ben.http() as browser:
        assert (await browser.get("/models")).status_code == 403


async def test_a_model_elsewhere_has_no_page_of_its_own(home: Home, ada: Person, upstream: Upstream) -> None:
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    async with ada.http() as browser:
        assert (await browser.get("/models/installed/big")).status_code == 404
