"""How chats are kept: lists in numbers and pages, search by folder and tag, each for its owner alone, all undone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.errors import InvalidInput, NotFound
from app.services.changes import Change
from app.services.container import Services
from app.services.listing import day_groups
from store.sidebar import Place
from store.tables import Conversation
from tests.app.house import PASSWORD, turn

NOW = datetime(2026, 11, 30, 15, 20, tzinfo=UTC)


@pytest.fixture
async def ids(services: Services, user_id: str) -> list[str]:
    made = [await services.conversations.create(user_id, title=title) for title in ("Heating", "Lease", "Movers")]
    return [conversation.id for conversation in made]


async def titles(services: Services, user_id: str, kind: str, folder_id: str | None = None) -> list[str]:
    page = await services.listing.page(user_id, Place(kind, folder_id), offset=0, limit=99)
    return [row.title for row in page]


async def test_chats_are_kept_in_folders_and_the_outline_counts_them(
    services: Services, user_id: str, ids: list[str]
) -> None:
    folder, _ = await services.organise.create_folder(user_id, "  Moving   office ")
    inner, _ = await services.organise.create_folder(user_id, "Quotes", parent_id=folder.id)
    await services.organise.move(user_id, ids[:1], folder.id)
    await services.organise.move(user_id, ids[2:], inner.id)
    outline = await services.listing.outline(user_id)
    assert [(each.name, number) for each, number in outline.folders] == [("Moving office", 1), ("Quotes", 1)]
    assert [(group.kind, group.num_chats) for group in outline.days] == [("today", 1)]
    assert await titles(services, user_id, "folder", folder.id) == ["Heating"]
    assert [hit.title for hit in (await services.searching.find(user_id, "in:moving")).hits] == ["Movers", "Heating"]
    assert [hit.title for hit in (await services.searching.find(user_id, 'in:"Quotes" mov')).hits] == ["Movers"]
    assert (await services.searching.find(user_id, "in:elsewhere")).hits == []


async def test_tags_are_found_by_their_beginnings(services: Services, user_id: str, ids: list[str]) -> None:
    await services.organise.tag(user_id, ids[:2], "#Work")
    await services.organise.tag(user_id, ids[:1], "Workshop")
    assert await services.organise.tags_of(user_id, ids) == {ids[0]: ["Work", "Workshop"], ids[1]: ["Work"]}
    assert [hit.title for hit in (await services.searching.find(user_id, "tag:WORK")).hits] == ["Lease", "Heating"]
    assert [hit.title for hit in (await services.searching.find(user_id, "tag:works")).hits] == ["Heating"]
    assert (await services.searching.find(user_id, "tag:none lease")).hits == []
    page = await services.listing.page(user_id, Place("days"), offset=1, limit=1)
    assert [(row.title, row.tags) for row in page] == [("Lease", ("Work",))]


async def test_a_search_says_when_there_is_more(services: Services, user_id: str, ids: list[str]) -> None:
    found = await services.searching.find(user_id, "is:active", limit=2)
    assert len(found.hits) == 2 and found.has_more
    assert not (await services.searching.find(user_id, "is:active", limit=3)).has_more


async def test_each_step_can_be_undone_once_more_than_once(services: Services, user_id: str, ids: list[str]) -> None:
    before = await services.organise.pin(user_id, ids)
    await services.organise.undo(user_id, before)
    await services.organise.undo(user_id, before)
    assert await titles(services, user_id, "pinned") == []
    before = await services.organise.rename(user_id, ids[0], "Warmth")
    await services.organise.undo(user_id, before)
    assert "Heating" in await titles(services, user_id, "days")


async def test_what_is_being_written_in_deleted_chats_stops(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, "Please count")
    await services.organise.delete(user_id, [sent.conversation_id])
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass
    assert generation.is_ended


async def test_open_pages_hear_of_every_chat_that_was_moved(services: Services, user_id: str, ids: list[str]) -> None:
    heard: list[Change] = []
    services.changes.watch(user_id, heard.append)
    await services.organise.archive(user_id, ids[:2])
    await turn()
    assert {change.conversation_id for change in heard} == set(ids[:2])


async def test_another_persons_chats_and_folders_do_not_exist(services: Services, user_id: str, ids: list[str]) -> None:
    folder, made = await services.organise.create_folder(user_id, "Work")
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    mine = (await services.conversations.create(ben, title="Mine")).id
    for attempt in (
        services.organise.delete(ben, ids), services.organise.tag(ben, ids, "x"), services.organise.pin(ben, ids),
        services.organise.move(ben, [mine], folder.id), services.organise.rename_folder(ben, folder.id, "x"),
        services.organise.delete_folder(ben, folder.id), services.organise.undo(ben, made),
        services.organise.create_folder(ben, "x", parent_id=folder.id),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert (await services.listing.outline(ben)).folders == []
    assert await titles(services, ben, "folder", folder.id) == []


async def test_names_are_asked_for(services: Services, user_id: str, ids: list[str]) -> None:
    for attempt in (
        services.organise.create_folder(user_id, " \n"), services.organise.tag(user_id, ids, " # "),
        services.organise.rename(user_id, ids[0], "\t"),
    ):
        with pytest.raises(InvalidInput):
            await attempt


def test_days_become_months_and_months_years() -> None:
    groups = [(group.kind, f"{group.start:%Y-%m-%d}") for group in day_groups(NOW)]
    assert groups[:6] == [
        ("today", "2026-11-30"), ("yesterday", "2026-11-29"), ("week", "2026-11-23"), ("days", "2026-10-31"),
        ("month", "2026-10-01"), ("month", "2026-09-01"),
    ]
    assert ("month", "2026-01-01") in groups and ("year", "2025-01-01") in groups
    assert groups == sorted(groups, key=lambda group: group[1], reverse=True)
    january = day_groups(NOW.replace(month=1, day=2))
    assert [group.kind for group in january][:5] == ["today", "yesterday", "week", "days", "year"]


async def test_every_chat_is_counted_once_however_old(services: Services, user_id: str, ids: list[str]) -> None:
    ages = [timedelta(days=days) for days in (0, 1, 5, 20, 60, 400, 40 * 365)]
    with services.db.session() as session:
        for age in ages:
            session.add(Conversation(user_id=user_id, title="x", updated_at=NOW - age, created_at=NOW - age))
        for conversation_id in ids:
            session.delete(session.get_one(Conversation, conversation_id))
    outline = await services.listing.outline(user_id, NOW)
    assert [(group.kind, group.num_chats) for group in outline.days] == [
        ("today", 1), ("yesterday", 1), ("week", 1), ("days", 1), ("month", 1), ("year", 1), ("year", 1),
    ]
