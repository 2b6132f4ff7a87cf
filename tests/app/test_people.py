"""What an admin does with others' accounts, who may not, and what ends at once with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from passlib.hash import argon2

from app import security
from app.errors import Conflict, InvalidInput, NotAllowed, NotFound
from app.services import sightings
from app.services.accounts import AccountService
from app.services.changes import Change, Changes
from app.services.people import PeopleService
from app.settings import Settings
from store import accounts, messages
from store.database import Database
from store.tables import User, UserRole
from tests.app.house import turn

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "_hasher", argon2.using(type="ID", memory_cost=64, rounds=1, parallelism=1))


@pytest.fixture
def changes() -> Changes:
    return Changes()


@pytest_asyncio.fixture
async def service(database: Database, tmp_path: Path, changes: Changes) -> AsyncIterator[AccountService]:
    made = AccountService(database, Settings(data_dir=tmp_path), changes)
    yield made
    made.close()


@pytest.fixture
def people(database: Database, service: AccountService) -> PeopleService:
    return PeopleService(database, service)


@pytest.fixture
async def anna(service: AccountService) -> User:
    return await service.set_up(service.setup_token(), "Anna", PASSWORD)


@pytest.fixture
async def ben(service: AccountService, anna: User) -> User:
    return await service.add_user("Ben", PASSWORD)


@pytest.fixture
async def carla(service: AccountService, ben: User) -> User:
    return await service.add_user("Carla", PASSWORD, UserRole.ADMIN)


Asked = Callable[[PeopleService, str, User, Any], Coroutine[Any, Any, object]]
EVERYTHING: dict[str, Asked] = {
    "everybody": lambda people, by, user, key: people.everybody(by),
    "add": lambda people, by, user, key: people.add(by, "Dora", PASSWORD, UserRole.ADMIN),
    "set_password": lambda people, by, user, key: people.set_password(by, user.id, "battery staple"),
    "set_role": lambda people, by, user, key: people.set_role(by, user.id, UserRole.ADMIN),
    "set_active": lambda people, by, user, key: people.set_active(by, user.id, False),
    "belongings": lambda people, by, user, key: people.belongings(by, user.id),
    "remove": lambda people, by, user, key: people.remove(by, user.id, user.name),
    "revoke_key": lambda people, by, user, key: people.revoke_key(by, key),
    "look_again": lambda people, by, user, key: people.look_again(by),
}


def test_everything_that_an_admin_can_do_is_tried_here() -> None:
    assert EVERYTHING.keys() == {name for name in vars(PeopleService) if not name.startswith("_")}


@pytest.mark.parametrize("asked", EVERYTHING.values(), ids=EVERYTHING)
async def test_only_who_is_an_admin_now_can(
    people: PeopleService, service: AccountService, carla: User, ben: User, asked: Asked
) -> None:
    key, secret = await service.create_key(ben.id, "laptop")
    token = await service.start_session(ben)
    disabled = await service.add_user("Emil", PASSWORD, UserRole.ADMIN)
    await service.set_active(disabled.id, False)
    demoted = await service.add_user("Frida", PASSWORD, UserRole.ADMIN)
    await service.set_role(demoted.id, UserRole.USER)
    for by in (ben.id, disabled.id, demoted.id, "nobody", ""):
        with pytest.raises(NotAllowed):
            await asked(people, by, ben, key)
    assert await service.user_of_key(secret) is not None
    user = await service.user_of_session(token)
    assert user is not None and user.role is UserRole.USER
    await asked(people, carla.id, ben, key)


async def test_nobody_does_it_to_themselves(people: PeopleService, anna: User, carla: User) -> None:
    for name in ("set_password", "set_role", "set_active", "belongings", "remove"):
        with pytest.raises(Conflict, match="your own account"):
            await EVERYTHING[name](people, anna.id, anna, None)


async def test_of_two_admins_who_shut_each_other_out_one_stays(
    people: PeopleService, service: AccountService, anna: User, carla: User
) -> None:
    results = await asyncio.gather(
        people.set_role(anna.id, carla.id, UserRole.USER), people.remove(carla.id, anna.id, "anna"),
        return_exceptions=True,
    )
    [refusal] = [result for result in results if result is not None]
    assert type(refusal) in (Conflict, NotAllowed)
    assert sum(user.role is UserRole.ADMIN and user.is_active for user in await service.list_users()) == 1


async def test_a_password_is_taken_or_made_up(people: PeopleService, service: AccountService, anna: User) -> None:
    dora, made = await people.add(anna.id, "Dora", "", UserRole.USER)
    assert len(made) == 19 and set(made) <= {*security.PASSWORD_LETTERS, "-"}
    assert (await service.sign_in("dora", made))[0].id == dora.id
    _, typed = await people.add(anna.id, "Emil", PASSWORD, UserRole.ADMIN)
    assert typed == PASSWORD
    with pytest.raises(InvalidInput, match="at least 8"):
        await people.add(anna.id, "Frida", "short", UserRole.USER)
    with pytest.raises(Conflict, match="taken"):
        await people.add(anna.id, "DORA", "", UserRole.USER)
    token = await service.start_session(dora)
    again = await people.set_password(anna.id, dora.id, "")
    assert again != made
    assert await service.user_of_session(token) is None
    await service.sign_in("Dora", again)


async def test_who_is_disabled_is_out_with_all_their_keys_and_comes_back_with_them(
    people: PeopleService, service: AccountService, anna: User, ben: User
) -> None:
    ended: list[tuple[str, str | None]] = []
    service.on_access_ended(lambda user_id, token_hash: ended.append((user_id, token_hash)))
    token, (_, key) = await service.start_session(ben), await service.create_key(ben.id, "laptop")
    await people.set_active(anna.id, ben.id, False)
    assert ended == [(ben.id, None)]
    assert await service.user_of_session(token) is None and await service.user_of_key(key) is None
    await people.set_active(anna.id, ben.id, True)
    assert await service.user_of_session(token) is None and await service.user_of_key(key) is not None


async def test_who_is_no_longer_an_admin_is_told_of_once(
    people: PeopleService, service: AccountService, anna: User, carla: User
) -> None:
    demoted: list[str] = []
    service.on_demoted(demoted.append)
    await people.set_role(anna.id, carla.id, UserRole.ADMIN)
    assert demoted == []
    await people.set_role(anna.id, carla.id, UserRole.USER)
    assert demoted == [carla.id]


async def test_somebody_is_removed_with_their_chats_once_their_name_was_typed(
    people: PeopleService, service: AccountService, database: Database, anna: User, ben: User
) -> None:
    token, (_, key) = await service.start_session(ben), await service.create_key(ben.id, "laptop")
    for number in range(3):
        await database.run(messages.start_conversation, ben.id, f"Chat {number}", "Hello?", model_id="m")
    belongings = await people.belongings(anna.id, ben.id)
    assert (belongings.num_chats, belongings.num_messages, belongings.num_keys) == (3, 6, 1)
    for typed in ("", "Be", "Anna", "\ud800", "x" * 100_000):
        with pytest.raises(InvalidInput, match="Type Ben") as error:
            await people.remove(anna.id, ben.id, typed)
        assert error.value.field == "name"
    assert await service.user_of_session(token) is not None
    await people.remove(anna.id, ben.id, " bEN ")
    assert await service.user_of_session(token) is None and await service.user_of_key(key) is None
    assert [user.name for user in await service.list_users()] == ["Anna"]
    assert await database.read(lambda session: session.connection().exec_driver_sql(
        "SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM search_document)"
    ).scalar()) == 0
    with pytest.raises(NotFound):
        await people.remove(anna.id, ben.id, "Ben")


async def test_everybodys_keys_are_seen_and_anybodys_revoked(
    people: PeopleService, service: AccountService, anna: User, ben: User
) -> None:
    own, _ = await service.create_key(anna.id, "desk")
    other, secret = await service.create_key(ben.id, "laptop")
    assert [(key.name, key.user_id) for key in (await people.everybody(anna.id)).keys] == [
        ("desk", anna.id), ("laptop", ben.id),
    ]
    await people.revoke_key(anna.id, other)
    assert await service.user_of_key(secret) is None
    assert [key.id for key in (await people.everybody(anna.id)).keys] == [own.id]


async def test_each_change_is_heard_by_open_pages(
    people: PeopleService, service: AccountService, changes: Changes, anna: User, ben: User
) -> None:
    heard: list[Change] = []
    changes.watch(anna.id, heard.append)
    key, _ = await service.create_key(ben.id, "laptop")
    for name in ("add", "set_role", "set_active", "revoke_key", "look_again"):
        await EVERYTHING[name](people, anna.id, ben, key)
    await turn()
    assert heard == [Change("people")] * 6


async def test_when_people_were_here_and_keys_used_is_known_to_a_few_minutes(
    service: AccountService, database: Database, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[set[str], set[str]]] = []
    note_seen = accounts.note_seen

    def noting(session: Any, people: dict[str, Any], keys: dict[str, Any]) -> None:
        written.append((set(people), set(keys)))
        note_seen(session, people, keys)

    monkeypatch.setattr(accounts, "note_seen", noting)
    token, (key, secret) = await service.start_session(ben), await service.create_key(ben.id, "laptop")
    assert (ben.last_seen_at, key.last_used_at) == (None, None)
    for _ in range(3):
        await service.user_of_session(token)
        await service.user_of_key(secret)
        await service.user_of_session("another")
    await database.run(lambda session: None)        # after what was asked to be written
    await _written(service)
    assert written == [({ben.id}, set()), (set(), {key.id})] or written == [({ben.id}, {key.id})]
    (_, seen), (used,) = await service.list_users(), await service.list_keys(ben.id)
    assert seen.last_seen_at is not None and used.last_used_at is not None
    monkeypatch.setattr(sightings, "NOTED_EVERY", timedelta(0))
    await service.user_of_session(token)
    await _written(service)
    _, later = await service.list_users()
    assert later.last_seen_at is not None and later.last_seen_at > seen.last_seen_at


async def test_a_command_that_speaks_to_the_server_is_nobody_who_was_here(
    service: AccountService, anna: User
) -> None:
    user = await service.user_of_session(await service.start_session(anna, is_command=True))
    assert user is not None and user.id == anna.id
    assert service._sightings._writing is None


async def _written(service: AccountService) -> None:
    if (writing := service._sightings._writing) is not None:
        await writing
