"""Who goes takes all of theirs along and nothing else; who stays last is kept; who was seen is noted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session, SQLModel, select

from store import accounts, answers, conversations, folders, library, messages, organise, settings
from store.belongings import Belongings, belongings
from store.errors import LastAdmin
from store.tables import ApiKey, Conversation, MessageStatus, Preset, Prompt, User, UserRole, now


def furnish(session: Session, user: User) -> None:
    """Three chats, one of them deleted, in a folder with a tag; a prompt, a preset, a key, a session, a setting."""
    chats = []
    for title in ("Walnut", "Pearwood", "Gone"):
        turn = messages.start_conversation(session, user.id, title, "What is it?", model_id="m")
        answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content=f"A {title}.")
        chats.append(turn.conversation.id)
    organise.delete(session, user.id, [chats[2]])
    made = folders.create_folder(session, user.id, "Trees")
    assert made is not None
    organise.move(session, user.id, chats[:1], made[0].id)
    organise.tag(session, user.id, chats[:1], "wood", "wood")
    library.add_item(session, user.id, Prompt, {"name": "P", "command": "p", "content": "x"})
    library.add_item(session, user.id, Preset, {"name": "P"})
    accounts.add_key(session, user.id, "laptop", f"hash of {user.name}", "sk-…")
    accounts.add_session(session, user.id, f"token of {user.name}", user_agent="", expires_at=now() + timedelta(days=1))
    settings.set_of_user(session, user.id, "theme", "dark")
    session.flush()


def num_rows(session: Session) -> dict[str, int]:
    names = [*SQLModel.metadata.tables, "search_document", "search_fts"]
    count = "SELECT count(*) FROM \"{}\""
    return {name: session.connection().exec_driver_sql(count.format(name)).scalar_one() for name in names}


def test_it_is_told_what_goes_with_somebody(session: Session, anna: User, ben: User) -> None:
    furnish(session, anna)
    assert belongings(session, anna.id) == Belongings(num_chats=2, num_messages=4, num_prompts=2, num_keys=1)
    assert belongings(session, ben.id) == Belongings(0, 0, 0, 0)


@pytest.mark.parametrize("in_steps", [True, False])
def test_who_goes_takes_all_of_theirs_along_and_nothing_else(
    session: Session, anna: User, in_steps: bool
) -> None:
    furnish(session, anna)
    before = num_rows(session)
    ben = accounts.add_user(session, "Ben", "ben", "a hash", UserRole.USER)
    assert ben is not None
    furnish(session, ben)
    if in_steps:
        assert [conversations.erase_some(session, ben.id, 2) for _ in range(3)] == [2, 1, 0]
    assert accounts.remove_user(session, ben.id)
    session.expire_all()
    assert num_rows(session) == before
    assert len(session.exec(select(Conversation).where(Conversation.user_id == anna.id)).all()) == 3
    assert not accounts.remove_user(session, ben.id)


def test_the_last_active_admin_stays_one(session: Session, anna: User, ben: User) -> None:
    for take_away in (
        lambda: accounts.set_active(session, anna.id, False),
        lambda: accounts.set_role(session, anna.id, UserRole.USER),
        lambda: accounts.remove_user(session, anna.id),
    ):
        with pytest.raises(LastAdmin):
            take_away()
    accounts.set_role(session, ben.id, UserRole.ADMIN)
    accounts.set_active(session, ben.id, False)
    with pytest.raises(LastAdmin):          # one who is disabled lets nobody in
        accounts.set_role(session, anna.id, UserRole.USER)
    accounts.set_active(session, ben.id, True)
    accounts.set_role(session, anna.id, UserRole.USER)
    assert [user.role for user in accounts.list_users(session)] == [UserRole.USER, UserRole.ADMIN]


def test_who_was_seen_is_noted_and_who_is_gone_left_out(session: Session, anna: User) -> None:
    key = accounts.add_key(session, anna.id, "laptop", "a hash", "sk-…")
    assert key is not None
    at = now()
    accounts.note_seen(session, {anna.id: at, "nobody": at}, {key.id: at, "nothing": at})
    session.expire_all()
    assert (session.get_one(User, anna.id).last_seen_at, session.get_one(ApiKey, key.id).last_used_at) == (at, at)
