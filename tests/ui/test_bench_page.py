"""The Measure page: what is asked for, progress in every tab, curves and tables, money, and the history."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nicegui.element import Element
from nicegui.testing import User

from app.services.bench_status import BenchState, BenchStatus
from app.services.models import STARTER_ID, STARTER_NAME
from app.services.prices import Costs
from engine.backends.scripted import Gate, ScriptedBackend
from store import benchmarks
from tests.app.measured import again, run_of
from tests.ui.conftest import Home, Person
from tests.ui.using import click, elements, press, trigger, until
from ui.bench.money import amount_in
from ui.bench.progress import parts_of
from ui.components.curve import Curve, Point, ticks_up_to
from ui.words import moment

PATH = "/models/bench"


def _texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if element.visible and (text := getattr(element, "text", None))]


def _says(tab: User, text: str) -> bool:
    return any(text in each for each in _texts(tab))


def _field(tab: User, label: str) -> Element:
    """The input or area under this label."""
    name = next(
        each.props["for"] for each in elements(tab, Element)
        if each.tag == "label" and getattr(each, "text", None) == label
    )
    return next(each for each in elements(tab, Element) if each.props.get("id") == name)


def _type(tab: User, label: str, text: str) -> None:
    trigger(_field(tab, label), "change", text)


def _submit(tab: User) -> None:
    (form,) = (each for each in elements(tab, Element) if each.tag == "form" and "nk-settings" in each.classes)
    trigger(form, "submit")


def _charts(tab: User) -> list[str]:
    return [
        str(each.props["aria-label"]) for each in elements(tab, Element) if each.props.get("role") == "img"
    ]


async def test_it_is_for_admins(ben: Person) -> None:
    async with ben.http() as browser:
        assert (await browser.get(PATH)).status_code == 403


async def test_a_model_is_measured_and_every_tab_sees_it_grow(home: Home, ada: Person) -> None:
    gate = Gate()
    await home.shelf.put(home.services, "held", lambda: ScriptedBackend("Yes.", gate=gate))
    tab, other = await ada.at(f"{PATH}?model=held"), await ada.at(PATH)
    assert "You have asked nothing yet, so some of ours are asked." in _texts(tab)
    assert _charts(tab) == []
    _type(tab, "At once", "1, 2")
    _type(tab, "Tokens an answer", "8")
    _type(tab, "Repetitions", "2")
    _submit(tab)
    for each in (tab, other):
        await until(lambda each: "Measuring Held" in _texts(each), each)
    gate.open()
    for each in (tab, other):
        await until(lambda each: "Measured." in _texts(each) and _charts(each), each)
        assert len(_charts(each)) == 2
        assert _charts(each)[0].startswith("Tokens a second. Held: 1: ")
        assert _says(each, "scripted on the CPU, 4k context for 8 at once, KV f16, Inglenook ")
        assert _says(each, "4 built-in questions, about ")
    [row] = await home.services.benchmarks.history()
    assert (row.model_id, row.repetitions, [level["concurrency"] for level in row.levels]) == ("held", 2, [1, 2])


async def test_stop_keeps_nothing(home: Home, ada: Person) -> None:
    gate = Gate()
    await home.shelf.put(home.services, "held", lambda: ScriptedBackend("Yes.", gate=gate))
    tab = await ada.at(f"{PATH}?model=held")
    _submit(tab)
    await until(lambda: "Measuring Held" in _texts(tab))
    click(tab, "Stop")
    await until(lambda: "Stopped. Nothing of it is kept." in _texts(tab))
    gate.open()
    assert await home.services.benchmarks.history() == []


async def test_typed_questions_are_asked_two_models_beside_each_other(home: Home, ada: Person) -> None:
    await home.shelf.put(home.services, "other", "No.")
    tab = await ada.at(f"{PATH}?against=other")
    click(tab, "Typed")
    _type(tab, "Your questions", "One?\nTwo?")
    _type(tab, "At once", "2")
    _type(tab, "Tokens an answer", "8")
    _type(tab, "Repetitions", "1")
    _submit(tab)
    await until(lambda: "Other, the other, beside SmolLM2 135M Instruct, turn by turn" in _texts(tab))
    first, second = sorted(await home.services.benchmarks.history(), key=lambda each: each.created_at)
    assert (first.model_id, second.model_id, first.prompts_source) == (STARTER_ID, "other", "given")
    assert "; Other: 2: " in _charts(tab)[0]


@pytest.mark.parametrize(("label", "text", "words"), [
    ("At once", "many", "Give whole numbers."), ("At once", "0", "each from 1 to 512"),
    ("Tokens an answer", "1", "Give a whole number from 8 to 4,096."), ("Repetitions", "1 2", "Give whole numbers."),
])
async def test_what_cannot_be_is_told_at_its_field(ada: Person, label: str, text: str, words: str) -> None:
    tab = await ada.at(PATH)
    _type(tab, label, text)
    _submit(tab)
    await until(lambda: _says(tab, words))


async def test_no_question_and_the_same_model_twice_are_refused(home: Home, ada: Person) -> None:
    await home.shelf.put(home.services, "other", "No.")
    tab = await ada.at(f"{PATH}?against={STARTER_ID}")
    _submit(tab)
    await until(lambda: _says(tab, "Choose one model, or two different ones."))
    alone = await ada.at(PATH)
    click(alone, "Typed")
    _submit(alone)
    await until(lambda: _says(alone, "Give 1 to 64 prompts"))


async def test_what_became_slower_is_marked_and_an_earlier_run_is_a_click_away(home: Home, ada: Person) -> None:
    row = run_of("parrot", backend="llama.cpp 0.3.36")
    slower = again(row, 0.8, days=3, run_id="second", backend="llama.cpp 0.3.40")
    await home.services.db.run(benchmarks.add, [row, slower])
    tab = await ada.at(PATH)
    told = "20 % slower than on 3 Mar 2026, with 1 at once. Changed since: llama.cpp 0.3.36 → 0.3.40"
    assert _texts(tab).count(told) == 2         # above the curves, and in the history
    assert "On 3 Mar 2026" in _texts(tab)       # its curve, beside the new one
    links = [str(each.props["href"]) for each in elements(tab, Element) if "run=" in str(each.props.get("href"))]
    assert links == [f"{PATH}?run=second", f"{PATH}?run=first"]
    earlier = await ada.at(links[1])
    assert _texts(earlier).count(told) == 1
    assert _charts(earlier)[0] == "Tokens a second. Parrot, Q4_1: 1: 100, 4: 400"


async def test_why_a_run_is_not_compared_is_said(home: Home, ada: Person) -> None:
    row = run_of("parrot")
    other = again(row, 0.8, days=3, run_id="second", prompts_hash="other")
    await home.services.db.run(benchmarks.add, [row, other])
    tab = await ada.at(PATH)
    assert _texts(tab).count("Not compared with the run of 3 Mar 2026: other questions were asked") == 2


async def test_more_than_are_answered_at_once_are_told_beside_the_figure(home: Home, ada: Person) -> None:
    await home.services.db.run(benchmarks.add, [run_of("parrot", (4, 99))])
    tab = await ada.at(PATH)
    assert _texts(tab).count("asked, 8 at once") == 1


async def test_without_costs_money_has_words_and_no_lone_sign(home: Home, ada: Person) -> None:
    await home.services.db.run(benchmarks.add, [run_of("parrot")])
    tab = await ada.at(PATH)
    assert _says(tab, "Type in what this computer takes")
    assert not [each for each in elements(tab, Element) if "nk-bench-sentence" in each.classes]


async def test_a_run_of_the_same_day_is_told_by_its_hour(home: Home, ada: Person) -> None:
    row = run_of("parrot")
    later = again(row, 1.0, run_id="second", id="later", created_at=row.created_at + timedelta(minutes=5))
    await home.services.db.run(benchmarks.add, [row, later])
    assert _says(await ada.at(PATH), f"No faster or slower than on {moment(row.created_at.astimezone())}")


async def test_money_is_kept_and_reckoned_in_every_tab(home: Home, ada: Person) -> None:
    await home.services.db.run(benchmarks.add, [run_of("parrot")])
    tab, other = await ada.at(PATH), await ada.at(PATH)
    assert _says(tab, "Type in what this computer takes") and "A million tokens" not in _texts(tab)
    for label, text in (("Watts", "65"), ("A kilowatt hour", "0,32"), ("Each month", "20"), ("API", "2")):
        _type(tab, label, text)
    for each in (tab, other):
        await until(lambda each: _says(each, "Above 10.07 million tokens a month, which are 7.0 hours"), each)
        assert "A million tokens" in _texts(each)
    assert await home.services.benchmarks.costs() == Costs(watts=65, kwh_price=0.32, per_month=20, api_price=2)
    _type(tab, "Watts", "a lot")
    await until(lambda: _says(tab, "Give an amount of 0 or more"))


async def test_models_lead_there(home: Home, ada: Person) -> None:
    for path in ("/models", f"/models/installed/{STARTER_ID}"):
        tab = await ada.at(path)
        press(tab, f"More for {STARTER_NAME}")
        links = [str(each.props.get("href")) for each in elements(tab, Element)]
        assert f"{PATH}?model={STARTER_ID}" in links, path


async def test_it_speaks_german(home: Home, ada: Person) -> None:
    await home.services.accounts.set_setting(ada.id, "language", "de")
    await home.services.db.run(benchmarks.add, [row := run_of("parrot"), again(row, 0.8, days=3, run_id="second")])
    await home.services.benchmarks.set_costs(Costs(watts=65, kwh_price=0.32))
    tab = await ada.at(PATH)
    assert "20\u00a0% langsamer als am 03.03.2026, bei 1 zugleich" in _texts(tab)
    assert _says(tab, "kostet eine Million Token hier 0,018")


def test_progress_is_told_in_few_words() -> None:
    status = BenchStatus("id", BenchState.LOADING, ("a",), ("A",), 3)
    assert parts_of(status) == ["Loading"]
    status = replace(status, state=BenchState.MEASURING, num_all=40, num_done=10, model_name="A", repetition=1)
    assert parts_of(status) == ["25 %", "Warming up", "10 of 40 answers"]
    status = replace(status, model_names=("A", "B"), concurrency=4, tokens_per_s=84.2, about_s=102.0)
    assert parts_of(status) == ["25 %", "A", "4 at once, 1 of 3", "84 tok/s in the round before", "1 min 42 s left"]


@pytest.mark.parametrize(("text", "amount"), [
    ("", 0.0), ("0,32", 0.32), ("1 200.5", 1200.5), ("€ 3", 3.0), ("-1", None), ("much", None), ("1.2.3", None),
])
def test_an_amount_is_read_as_people_write_it(text: str, amount: float | None) -> None:
    assert amount_in(text) == amount


@pytest.mark.parametrize(("most", "ticks"), [
    (0, [0, 1]), (46, [0, 20, 40, 60]), (100, [0, 25, 50, 75, 100]), (0.9, [0, 0.25, 0.5, 0.75, 1]),
    (3.1, [0, 1, 2, 3, 4]),
])
def test_axes_have_round_numbers(most: float, ticks: list[float]) -> None:
    assert ticks_up_to(most) == pytest.approx(ticks)


def test_a_curve_of_one_point_is_drawn() -> None:
    from ui.components.curve import _Place, drawing

    drawn = drawing([Curve("A", "first", (Point(4, 10, 9, 11),))], [0, 20], _Place(4, 4, 20))
    assert '<path class="dots" d="M50.00 50.00h0.001"/>' in drawn
