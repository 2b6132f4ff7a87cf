"""Presets and prompts in the store: a person's own, one default, deleted with a way back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session

from store import library
from store.tables import Preset, Prompt, User, WhenFull, now


@pytest.fixture
def preset(session: Session, anna: User) -> Preset:
    return library.add_item(session, anna.id, Preset, {"name": "Translator", "parameters": {"temperature": 0.2}})


def test_a_preset_keeps_what_it_was_given(session: Session, anna: User, preset: Preset) -> None:
    session.expire_all()
    found = library.get_item(session, anna.id, Preset, preset.id)
    assert found is not None
    assert (found.name, found.parameters, found.when_full) == ("Translator", {"temperature": 0.2}, WhenFull.LEAVE_OUT)


def test_items_stand_in_the_order_of_their_names(session: Session, anna: User) -> None:
    for name in ("b", "A", "c"):
        library.add_item(session, anna.id, Prompt, {"name": name, "command": name, "content": name})
    assert [prompt.name for prompt in library.list_items(session, anna.id, Prompt)] == ["A", "b", "c"]


def test_one_preset_is_the_default(session: Session, anna: User, preset: Preset) -> None:
    other = library.add_item(session, anna.id, Preset, {"name": "Coder"})
    assert library.find_default(session, anna.id) is None
    for each in (preset, other):
        assert library.set_default(session, anna.id, each.id)
        assert library.find_default(session, anna.id) is each
    assert library.set_default(session, anna.id, None)
    assert library.find_default(session, anna.id) is None


def test_the_default_of_one_person_is_not_anothers(session: Session, anna: User, ben: User, preset: Preset) -> None:
    of_ben = library.add_item(session, ben.id, Preset, {"name": "Ben's"})
    library.set_default(session, anna.id, preset.id)
    library.set_default(session, ben.id, of_ben.id)
    assert library.find_default(session, anna.id) is preset


def test_what_is_deleted_can_be_brought_back_until_it_is_purged(session: Session, anna: User, preset: Preset) -> None:
    assert library.mark_item_deleted(session, anna.id, Preset, preset.id)
    assert library.list_items(session, anna.id, Preset) == []
    assert library.purge(session, now() - timedelta(days=1)) == 0
    assert library.restore_item(session, anna.id, Preset, preset.id) is preset
    assert library.list_items(session, anna.id, Preset) == [preset]
    library.mark_item_deleted(session, anna.id, Preset, preset.id)
    assert library.purge(session, now() + timedelta(days=1)) == 1
    assert library.restore_item(session, anna.id, Preset, preset.id) is None


def test_a_default_that_comes_back_leaves_the_place_to_who_has_it(session: Session, anna: User, preset: Preset) -> None:
    library.set_default(session, anna.id, preset.id)
    library.mark_item_deleted(session, anna.id, Preset, preset.id)
    other = library.add_item(session, anna.id, Preset, {"name": "Coder", "is_default": True})
    library.restore_item(session, anna.id, Preset, preset.id)
    assert library.find_default(session, anna.id) is other
