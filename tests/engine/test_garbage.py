"""Who is loaded keeps the collector out; who goes brings it back, but not to those that stay."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from engine import garbage

FULL = 2            # the oldest generation


class Knot:
    """Refers to itself, as only a full look finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that other tests keep are left out of it; the collector is as usual before and after."""
    monkeypatch.setattr(garbage, "_models", garbage._Models())
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*garbage._USUAL_THRESHOLDS)


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """The generation of each look that is taken."""
    taken: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            taken.append(info["generation"])

    gc.callbacks.append(note)
    yield taken
    gc.callbacks.remove(note)


def test_what_is_loaded_is_looked_through_no_more_until_it_goes() -> None:
    garbage.keep_out("large", 1000)
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] == 1000 * garbage.OBJECTS_A_ROW
    garbage.look_again("large")
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == garbage._USUAL_THRESHOLDS


def test_of_two_one_goes_without_a_look_and_the_other_stays_frozen(looks: list[int]) -> None:
    garbage.keep_out("small", 200)
    garbage.keep_out("large", 1000)
    looks.clear()
    garbage.look_again("large")
    assert not looks, "who is answered by the other would wait for it"
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] == 200 * garbage.OBJECTS_A_ROW


def test_what_many_models_have_left_is_found_though_one_stays(looks: list[int]) -> None:
    garbage.keep_out("small", 200)
    knot = Knot()
    lives = weakref.ref(knot)
    garbage.keep_out("large", 1000)
    del knot
    garbage.look_again("large")
    for _ in range(garbage.MODELS_A_LOOK - 1):
        assert FULL not in looks and lives() is not None
        garbage.keep_out("large", 1000)
        garbage.look_again("large")
    assert lives() is None
    assert looks.count(FULL) == 1
    assert gc.get_freeze_count() > 0


def test_going_twice_is_going_once() -> None:
    garbage.keep_out("small", 200)
    garbage.look_again("large")
    assert gc.get_freeze_count() > 0


def test_where_all_go_at_once_no_look_is_taken_for_each(looks: list[int]) -> None:
    three = ("small", "large", "third")
    for each in three:
        garbage.keep_out(each, 200)
    garbage.stand_down()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == garbage._USUAL_THRESHOLDS
    for each in three:
        garbage.look_again(each)
    assert FULL not in looks
