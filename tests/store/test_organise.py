"""Folders, pins, the archive and tags: many chats in one step, each step taken back whole."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session, col, select

from store import answers, conversations, folders, messages, organise, sidebar
from store.sidebar import Place
from store.tables import Conversation, ConversationTag, Folder, Tag, TitleSource, User, now
from store.undo import Before, put_back

DAYS, PINNED, ARCHIVE = Place("days"), Place("pinned"), Place("archive")


@pytest.fixture
def chats(session: Session, anna: User) -> list[str]:
    """Five, the first one the newest."""
    made = [conversations.create(session, anna.id, title=title) for title in "ABCDE"]
    for hours, conversation in enumerate(made):
        conversation.updated_at = now() - timedelta(hours=hours)
    session.flush()
    return [conversation.id for conversation in made]


def listed(session: Session, user: User, place: Place) -> str:
    session.flush()
    return "".join(row.title for row in sidebar.page(session, user.id, place, offset=0, limit=99))


def in_folder(folder: Folder) -> Place:
    return Place("folder", folder.id)


def made(session: Session, user: User, name: str, parent: Folder | None = None) -> Folder:
    result = folders.create_folder(session, user.id, name, parent_id=parent.id if parent else None)
    assert result is not None
    return result[0]


def names(session: Session, user: User) -> list[str]:
    known = {folder.id: folder for folder in folders.list_folders(session, user.id)}
    return [
        f"{known[folder.parent_id].name}/{folder.name}" if folder.parent_id else folder.name
        for folder in known.values()
    ]


def undo(session: Session, user: User, before: Before | None) -> None:
    assert before is not None and put_back(session, user.id, before)
    session.flush()


def test_a_chat_stands_in_one_place(session: Session, anna: User, chats: list[str]) -> None:
    folder = made(session, anna, "Work")
    organise.move(session, anna.id, chats[:3], folder.id)
    organise.pin(session, anna.id, chats[1:2])
    organise.archive(session, anna.id, chats[2:3], is_archived=True)
    assert [listed(session, anna, place) for place in (PINNED, in_folder(folder), DAYS, ARCHIVE)] == [
        "B", "A", "DE", "C",
    ]
    counted = sidebar.counts(session, anna.id, [now() - timedelta(hours=3.5), now() - timedelta(days=1)])
    assert counted == sidebar.Counts(1, 1, {folder.id: 1}, 2, (1, 2))
    organise.unpin(session, anna.id, chats[1:2])
    organise.archive(session, anna.id, chats[2:3], is_archived=False)
    assert listed(session, anna, in_folder(folder)) == "ABC"


def test_a_page_is_a_stretch_of_its_list(session: Session, anna: User, chats: list[str]) -> None:
    page = sidebar.page(session, anna.id, DAYS, offset=1, limit=2)
    assert [row.title for row in page] == ["B", "C"]
    assert sidebar.page(session, anna.id, DAYS, offset=5, limit=2) == []


def test_pins_stand_as_they_are_put(session: Session, anna: User, chats: list[str]) -> None:
    a, b, c, d, _ = chats
    organise.pin(session, anna.id, [a, b])
    organise.pin(session, anna.id, [c], before_id=b)
    assert listed(session, anna, PINNED) == "ACB"
    before = organise.pin(session, anna.id, [b, d], before_id=a)
    assert listed(session, anna, PINNED) == "BDAC"
    undo(session, anna, before)
    assert listed(session, anna, PINNED) == "ACB"
    assert listed(session, anna, DAYS) == "DE"


def test_moving_takes_out_of_pins_and_archive_and_all_of_it_comes_back(
    session: Session, anna: User, chats: list[str]
) -> None:
    folder = made(session, anna, "Work")
    organise.pin(session, anna.id, chats[:1])
    organise.archive(session, anna.id, chats[1:2], is_archived=True)
    before = organise.move(session, anna.id, chats[:3], folder.id)
    assert listed(session, anna, in_folder(folder)) == "ABC"
    undo(session, anna, before)
    assert [listed(session, anna, place) for place in (PINNED, in_folder(folder), DAYS, ARCHIVE)] == [
        "A", "", "CDE", "B",
    ]


def test_what_is_not_there_counts_for_nothing(session: Session, anna: User, ben: User, chats: list[str]) -> None:
    of_ben = made(session, ben, "Private")
    organise.delete(session, anna.id, chats[:1])
    assert organise.archive(session, anna.id, [chats[0], "nothing"], is_archived=True) is None
    assert organise.move(session, anna.id, chats, of_ben.id) is None
    assert organise.archive(session, anna.id, [*chats, "nothing"], is_archived=True) is not None
    assert "".join(sorted(listed(session, anna, ARCHIVE))) == "BCDE"


def test_deleting_many_is_undone_in_one_step_and_keeps_what_was_deleted_before(
    session: Session, anna: User, chats: list[str]
) -> None:
    organise.delete(session, anna.id, chats[:1])
    before = organise.delete(session, anna.id, chats)
    assert listed(session, anna, DAYS) == ""
    undo(session, anna, before)
    assert listed(session, anna, DAYS) == "BCDE"


def test_folders_lie_one_in_another_at_most(session: Session, anna: User) -> None:
    work, home = made(session, anna, "Work"), made(session, anna, "Home")
    office = made(session, anna, "Office", work)
    made(session, anna, "Desk", office)
    assert names(session, anna) == ["Work", "Work/Office", "Work/Desk", "Home"]
    assert folders.place_folder(session, anna.id, work.id, parent_id=home.id) is None
    assert folders.place_folder(session, anna.id, home.id, parent_id=office.id) is None
    assert folders.place_folder(session, anna.id, home.id, parent_id=home.id) is None
    before = folders.place_folder(session, anna.id, home.id, parent_id=None, before_id=work.id)
    assert names(session, anna) == ["Home", "Work", "Work/Office", "Work/Desk"]
    undo(session, anna, before)
    assert names(session, anna) == ["Work", "Work/Office", "Work/Desk", "Home"]
    folders.place_folder(session, anna.id, home.id, parent_id=work.id, before_id=office.id)
    assert names(session, anna) == ["Work", "Work/Home", "Work/Office", "Work/Desk"]


def test_a_deleted_folder_leaves_what_was_in_it_and_comes_back_with_it(
    session: Session, anna: User, chats: list[str]
) -> None:
    work = made(session, anna, "Work")
    office = made(session, anna, "Office", work)
    organise.move(session, anna.id, chats[:1], work.id)
    organise.move(session, anna.id, chats[1:2], office.id)
    first = folders.delete_folder(session, anna.id, office.id)
    assert listed(session, anna, in_folder(work)) == "AB"
    second = folders.delete_folder(session, anna.id, work.id)
    assert listed(session, anna, DAYS) == "ABCDE"
    undo(session, anna, second)
    undo(session, anna, first)
    assert names(session, anna) == ["Work", "Work/Office"]
    assert listed(session, anna, Place("folder", office.id)) == "B"
    before = folders.delete_folder(session, anna.id, work.id)
    assert names(session, anna) == ["Office"]
    undo(session, anna, before)
    assert names(session, anna) == ["Work", "Work/Office"]


def test_a_new_folder_can_be_taken_back(session: Session, anna: User, chats: list[str]) -> None:
    created = folders.create_folder(session, anna.id, "Work")
    assert created is not None
    organise.move(session, anna.id, chats[:1], created[0].id)
    undo(session, anna, created[1])
    session.expire_all()
    assert names(session, anna) == []
    assert listed(session, anna, DAYS) == "ABCDE"


def test_tags_are_one_whatever_their_capitals_and_go_with_their_last_chat(
    session: Session, anna: User, chats: list[str]
) -> None:
    organise.tag(session, anna.id, chats[:2], "Work", "work")
    organise.tag(session, anna.id, chats[1:3], "WORK", "work")
    ((tag, number),) = organise.list_tags(session, anna.id)
    assert (tag.name, number) == ("Work", 3)
    organise.untag(session, anna.id, chats[:1], tag.id)
    assert organise.tags_of(session, anna.id, chats) == {chats[1]: ["Work"], chats[2]: ["Work"]}
    before = organise.untag(session, anna.id, chats, tag.id)
    assert session.exec(select(Tag)).all() == []
    undo(session, anna, before)
    assert organise.tags_of(session, anna.id, chats) == {chats[1]: ["Work"], chats[2]: ["Work"]}


def test_what_was_purged_meanwhile_does_not_come_back(session: Session, anna: User, chats: list[str]) -> None:
    organise.tag(session, anna.id, chats[:2], "Work", "work")
    (tag, _), = organise.list_tags(session, anna.id)
    untagged = organise.untag(session, anna.id, chats[:2], tag.id)
    deleted = organise.delete(session, anna.id, chats[:1])
    conversations.purge(session, now() + timedelta(hours=1))
    session.expire_all()
    assert deleted is not None and not put_back(session, anna.id, deleted)
    undo(session, anna, untagged)
    assert organise.tags_of(session, anna.id, chats) == {chats[1]: ["Work"]}
    assert session.exec(select(ConversationTag.conversation_id)).all() == [chats[1]]


def test_nobody_takes_back_what_another_did(session: Session, anna: User, ben: User, chats: list[str]) -> None:
    before = organise.delete(session, anna.id, chats)
    assert before is not None and not put_back(session, ben.id, before)
    assert listed(session, anna, DAYS) == ""


def test_what_else_was_changed_meanwhile_stays(session: Session, anna: User, chats: list[str]) -> None:
    before = organise.archive(session, anna.id, chats[:1], is_archived=True)
    organise.rename(session, anna.id, chats[0], "Z")
    undo(session, anna, before)
    assert listed(session, anna, DAYS) == "ZBCDE"


def test_a_model_names_a_chat_once_and_never_over_a_persons_title(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "What is the", "What is the capital?", model_id=None)
    chat = turn.conversation
    assert conversations.name_by_model(session, anna.id, chat.id, "The capital")
    assert not conversations.name_by_model(session, anna.id, chat.id, "Another")
    assert (chat.title, chat.title_source) == ("The capital", TitleSource.MODEL)
    before = organise.rename(session, anna.id, chat.id, "Mine")
    assert (chat.title, chat.title_source) == ("Mine", TitleSource.PERSON)
    undo(session, anna, before)
    assert (chat.title, chat.title_source) == ("The capital", TitleSource.MODEL)


def test_writing_in_an_archived_chat_brings_it_back(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "A", "?", model_id=None)
    answers.finish(session, turn.answer.id, turn.user_message.status, content="!")
    organise.archive(session, anna.id, [turn.conversation.id], is_archived=True)
    assert conversations.list_recent(session, anna.id, limit=9) == []
    session.expire_all()
    messages.add_turn(session, anna.id, turn.conversation.id, "And?", model_id=None)
    assert listed(session, anna, DAYS) == "A"


def test_a_person_goes_with_all_they_have_kept(session: Session, anna: User, chats: list[str]) -> None:
    work = made(session, anna, "Work")
    organise.move(session, anna.id, chats, made(session, anna, "Office", work).id)
    organise.tag(session, anna.id, chats, "Work", "work")
    session.delete(anna)
    session.flush()
    for table in (Folder, Tag, Conversation):
        assert session.exec(select(col(table.id))).all() == []


def test_an_undo_never_hides_folders_in_one_another(session: Session, anna: User) -> None:
    first, second, third = (made(session, anna, name) for name in ("First", "Second", "Third"))
    folders.place_folder(session, anna.id, first.id, parent_id=second.id)
    out = folders.place_folder(session, anna.id, first.id, parent_id=None)
    folders.place_folder(session, anna.id, second.id, parent_id=first.id)       # in another tab
    undo(session, anna, out)
    assert names(session, anna) == ["First", "First/Second", "Third"]

    folders.place_folder(session, anna.id, second.id, parent_id=None)
    folders.place_folder(session, anna.id, second.id, parent_id=third.id)
    out = folders.place_folder(session, anna.id, second.id, parent_id=None)
    folders.place_folder(session, anna.id, first.id, parent_id=second.id)
    undo(session, anna, out)
    assert sorted(names(session, anna)) == ["Second", "Second/First", "Third"]


def test_a_tag_comes_back_as_the_one_that_was_made_anew_meanwhile(
    session: Session, anna: User, chats: list[str]
) -> None:
    organise.tag(session, anna.id, chats[:1], "Work", "work")
    [(tag, _)] = organise.list_tags(session, anna.id)
    gone = organise.untag(session, anna.id, chats[:1], tag.id)
    organise.tag(session, anna.id, chats[1:2], "work", "work")
    undo(session, anna, gone)
    assert organise.tags_of(session, anna.id, chats) == {chats[0]: ["work"], chats[1]: ["work"]}
    undo(session, anna, gone)
    assert organise.tags_of(session, anna.id, chats) == {chats[0]: ["work"], chats[1]: ["work"]}


def test_undoing_a_new_tag_leaves_it_to_chats_that_got_it_since(
    session: Session, anna: User, chats: list[str]
) -> None:
    new = organise.tag(session, anna.id, chats[:1], "Work", "work")
    organise.tag(session, anna.id, chats[1:2], "Work", "work")
    undo(session, anna, new)
    assert organise.tags_of(session, anna.id, chats) == {chats[1]: ["Work"]}
