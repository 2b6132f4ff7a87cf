"""Who gets in, who no longer does, and who hears of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from passlib.hash import argon2
from sqlalchemy import update
from sqlmodel import Session, select

from app import security
from app.errors import AppError, Conflict, InvalidInput, NotAllowed, NotFound, TooManyAttempts
from app.services.accounts import AccountService
from app.services.changes import Changes
from app.settings import Settings
from store import accounts
from store.database import Database
from store.tables import ApiKey, LoginSession, User, UserRole, now

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "_hasher", argon2.using(type="ID", memory_cost=64, rounds=1, parallelism=1))


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[AccountService]:
    made = AccountService(database, Settings(data_dir=tmp_path, session_days=30), Changes())
    yield made
    made.close()


@pytest.fixture
async def anna(service: AccountService) -> User:
    return await service.set_up(service.setup_token(), "Anna", PASSWORD)


@pytest.fixture
async def ben(service: AccountService, anna: User) -> User:
    return await service.add_user("Ben", PASSWORD)


@pytest.fixture
def ended(service: AccountService) -> list[tuple[str, str | None]]:
    heard: list[tuple[str, str | None]] = []
    service.on_access_ended(lambda user_id, token_hash: heard.append((user_id, token_hash)))
    return heard


# --- setup -----------------------------------------------------------------------------------------------------------


async def test_whoever_has_the_setup_token_becomes_the_first_admin(service: AccountService) -> None:
    assert await service.needs_setup()
    user = await service.set_up(service.setup_token(), "  Anna ", PASSWORD)
    assert (user.name, user.name_key, user.role) == ("Anna", "anna", UserRole.ADMIN)
    assert not await service.needs_setup()


@pytest.mark.parametrize("token", ["", "wrong", "é", "\ud800"])
async def test_without_the_token_nobody_does(service: AccountService, token: str) -> None:
    with pytest.raises(NotAllowed, match="setup link"):
        await service.set_up(token, "Anna", PASSWORD)
    assert await service.needs_setup()


async def test_of_many_at_once_exactly_one_becomes_admin(service: AccountService, database: Database) -> None:
    results = await asyncio.gather(
        *(service.set_up(service.setup_token(), f"Person {number}", PASSWORD) for number in range(8)),
        return_exceptions=True,
    )
    assert [type(result) for result in results].count(User) == 1
    assert [type(result) for result in results].count(Conflict) == 7
    assert [user.role for user in await service.list_users()] == [UserRole.ADMIN]


async def test_the_token_is_worth_nothing_afterwards(service: AccountService, anna: User) -> None:
    with pytest.raises(Conflict, match="set up already"):
        await service.set_up(service.setup_token(), "Mallory", PASSWORD)


def test_each_start_has_its_own_token(service: AccountService, database: Database, tmp_path: Path) -> None:
    other = AccountService(database, Settings(data_dir=tmp_path), Changes())
    assert other.setup_token() != service.setup_token()
    other.close()


async def test_setup_explains_what_to_correct(service: AccountService) -> None:
    with pytest.raises(InvalidInput) as error:
        await service.set_up(service.setup_token(), " ", PASSWORD)
    assert error.value.field == "name"
    with pytest.raises(InvalidInput) as error:
        await service.set_up(service.setup_token(), "Anna", "short")
    assert error.value.field == "password"
    assert await service.needs_setup()


# --- sessions --------------------------------------------------------------------------------------------------------


async def test_name_and_password_give_a_session(service: AccountService, database: Database, anna: User) -> None:
    user, token = await service.sign_in(" ANNA ", PASSWORD, user_agent="x" * 1000)
    assert user.id == anna.id
    known = await service.user_of_session(token)
    assert known is not None
    assert known.id == anna.id
    (row,) = await database.read(lambda session: session.exec(select(LoginSession)).all())
    assert row.token_hash == security.token_hash(token)
    assert timedelta(days=29) < row.expires_at - now() <= timedelta(days=30)
    assert len(row.user_agent) == 300


@pytest.mark.parametrize(("name", "password"), [
    ("Anna", "wrong horse"), ("Anna", ""), ("Nobody", PASSWORD), ("", ""), ("\ud800", "\ud800"),
    ("Anna", "x" * 100_000), ("x" * 100_000, PASSWORD),
])
async def test_anything_wrong_gets_the_same_answer(
    service: AccountService, anna: User, name: str, password: str
) -> None:
    with pytest.raises(InvalidInput, match="do not match"):
        await service.sign_in(name, password)


async def test_an_unknown_name_costs_one_hash_as_a_known_one_does(
    service: AccountService, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    class Counting:
        def hash(self, secret: bytes) -> str:
            threads.append(threading.current_thread().name)
            return "a hash"

        def verify(self, secret: bytes, hashed: str) -> bool:
            threads.append(threading.current_thread().name)
            return False

    monkeypatch.setattr(security, "_hasher", Counting())
    for name in ("Anna", "Nobody"):
        with pytest.raises(InvalidInput):
            await service.sign_in(name, PASSWORD)
    assert len(threads) == 2
    assert all(thread.startswith("password") for thread in threads)


async def test_guessing_is_slowed_down_for_that_name_and_client_only(
    service: AccountService, anna: User, ben: User
) -> None:
    results = await asyncio.gather(
        *(service.sign_in("anna", "wrong horse", client="10.0.0.9") for _ in range(40)), return_exceptions=True
    )
    assert [type(result) for result in results] == [InvalidInput] * 10 + [TooManyAttempts] * 30
    with pytest.raises(TooManyAttempts) as error:
        await service.sign_in("Anna", PASSWORD, client="10.0.0.9")
    assert error.value.retry_after_s == 2
    await service.sign_in("Anna", PASSWORD, client="10.0.0.1")
    await service.sign_in("Ben", PASSWORD, client="10.0.0.9")


async def test_guessing_from_ever_new_addresses_is_slowed_down_for_the_name(
    service: AccountService, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "verify_password", lambda password, hashed: password == PASSWORD)   # 100 are slow
    results = await asyncio.gather(
        *(service.sign_in("anna", "wrong horse", client=f"10.0.0.{number}") for number in range(120)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [InvalidInput] * 100 + [TooManyAttempts] * 20


async def test_the_right_password_starts_the_count_anew(service: AccountService, anna: User) -> None:
    for _ in range(3):
        for _ in range(9):
            with pytest.raises(InvalidInput):
                await service.sign_in("Anna", "wrong horse")
        await service.sign_in("Anna", PASSWORD)


async def test_signing_out_ends_that_session_at_once(
    service: AccountService, anna: User, ended: list[tuple[str, str | None]]
) -> None:
    token, other = await service.start_session(anna), await service.start_session(anna)
    await service.sign_out(token)
    assert await service.user_of_session(token) is None
    assert await service.user_of_session(other) is not None
    assert ended == [(anna.id, security.token_hash(token))]
    await service.sign_out(token)
    assert len(ended) == 1


@pytest.mark.parametrize("token", ["", "unknown", "é\ud800", "x" * 100_000])
async def test_an_unknown_token_or_key_is_nobodys(service: AccountService, anna: User, token: str) -> None:
    assert await service.user_of_session(token) is None
    assert await service.user_of_key(token) is None


async def test_who_was_named_before_a_rule_forbade_it_still_signs_in(
    service: AccountService, database: Database, anna: User
) -> None:
    name, password_hash = "\u0410nna", security.hash_password(PASSWORD)       # with a Cyrillic A
    with pytest.raises(InvalidInput, match="in one script"):
        await service.add_user(name, PASSWORD)
    await database.run(accounts.add_user, name, security.name_key(name), password_hash, UserRole.USER)
    user, _ = await service.sign_in(name, PASSWORD)
    assert user.name == name != anna.name
    await service.set_active(user.id, False)


async def test_a_session_ends_when_its_time_is_over(service: AccountService, database: Database, anna: User) -> None:
    token = await service.start_session(anna)

    def let_time_pass(session: Session) -> None:
        session.exec(update(LoginSession).values(expires_at=now() - timedelta(seconds=1)))

    await database.run(let_time_pass)
    assert await service.user_of_session(token) is None
    await service.start_session(anna)
    assert len(await database.read(lambda session: session.exec(select(LoginSession)).all())) == 1


# --- passwords -------------------------------------------------------------------------------------------------------


async def test_a_new_password_ends_all_other_sessions(
    service: AccountService, anna: User, ended: list[tuple[str, str | None]]
) -> None:
    mine, other = await service.start_session(anna), await service.start_session(anna)
    await service.change_password(anna.id, PASSWORD, "battery staple", keep_token=mine)
    assert await service.user_of_session(mine) is not None
    assert await service.user_of_session(other) is None
    assert ended == [(anna.id, security.token_hash(other))]
    with pytest.raises(InvalidInput):
        await service.sign_in("Anna", PASSWORD)
    await service.sign_in("Anna", "battery staple")


async def test_the_old_password_is_needed_and_cannot_be_guessed(service: AccountService, anna: User) -> None:
    for _ in range(10):
        with pytest.raises(InvalidInput) as error:
            await service.change_password(anna.id, "wrong horse", "battery staple")
        assert error.value.field == "old"
    with pytest.raises(TooManyAttempts):
        await service.change_password(anna.id, PASSWORD, "battery staple")


async def test_a_bad_new_password_changes_nothing(service: AccountService, anna: User) -> None:
    token = await service.start_session(anna)
    with pytest.raises(InvalidInput, match="at least 8"):
        await service.change_password(anna.id, PASSWORD, "short")
    assert await service.user_of_session(token) is not None


async def test_an_admin_can_give_somebody_a_new_password(service: AccountService, ben: User) -> None:
    token = await service.start_session(ben)
    await service.set_password(ben.id, "battery staple")
    assert await service.user_of_session(token) is None
    await service.sign_in("Ben", "battery staple")
    with pytest.raises(NotFound):
        await service.set_password("nobody", "battery staple")


# --- people ----------------------------------------------------------------------------------------------------------


async def test_people_are_listed_in_the_order_they_came(service: AccountService, ben: User) -> None:
    assert [(user.name, user.role) for user in await service.list_users()] == [
        ("Anna", UserRole.ADMIN), ("Ben", UserRole.USER),
    ]


async def test_a_name_is_taken_however_it_is_written(service: AccountService, anna: User) -> None:
    results = await asyncio.gather(
        *(service.add_user(name, PASSWORD) for name in ("ANNA", "Ｂｅｎ", "ben")), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "Conflict", "User"]


async def test_a_disabled_person_is_out_at_once(
    service: AccountService, ben: User, ended: list[tuple[str, str | None]]
) -> None:
    token = await service.start_session(ben)
    _, key = await service.create_key(ben.id, "laptop")
    await service.set_active(ben.id, False)
    assert ended == [(ben.id, None)]
    assert await service.user_of_session(token) is None
    assert await service.user_of_key(key) is None
    with pytest.raises(InvalidInput, match="is disabled"):
        await service.sign_in("Ben", PASSWORD)
    with pytest.raises(InvalidInput, match="do not match"):
        await service.sign_in("Ben", "wrong horse")
    with pytest.raises(NotAllowed):
        await service.start_session(ben)

    await service.set_active(ben.id, True)
    assert await service.user_of_session(token) is None
    assert await service.user_of_key(key) is not None


async def test_what_another_process_ends_is_ended_here(service: AccountService, database: Database, ben: User) -> None:
    token = await service.start_session(ben)
    assert await service.user_of_session(token) is not None
    command_line = Database.open(database.path)
    command_line.run_sync(accounts.set_active, ben.id, False)
    command_line.close()
    assert await service.user_of_session(token) is None


async def test_the_last_admin_cannot_be_disabled(service: AccountService, anna: User, ben: User) -> None:
    with pytest.raises(Conflict, match="only admin"):
        await service.set_active(anna.id, False)
    carla = await service.add_user("Carla", PASSWORD, UserRole.ADMIN)
    results = await asyncio.gather(
        service.set_active(anna.id, False), service.set_active(carla.id, False), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "NoneType"]


# --- keys and settings -----------------------------------------------------------------------------------------------


async def test_a_key_is_shown_once_and_works_until_revoked(
    service: AccountService, database: Database, ben: User, ended: list[tuple[str, str | None]]
) -> None:
    row, key = await service.create_key(ben.id, " laptop ")
    assert (row.name, row.hint) == ("laptop", f"{key[:5]}…{key[-3:]}")
    stored = await database.read(lambda session: session.exec(select(ApiKey)).one().model_dump_json())
    assert key not in stored
    owner = await service.user_of_key(key)
    assert owner is not None
    assert owner.id == ben.id
    assert await service.user_of_session(key) is None

    await service.revoke_key(ben.id, row.id)
    assert await service.user_of_key(key) is None
    assert await service.list_keys(ben.id) == []
    assert ended == [(ben.id, security.token_hash(key))]


async def test_anothers_key_does_not_exist(service: AccountService, anna: User, ben: User) -> None:
    row, key = await service.create_key(ben.id, "laptop")
    assert await service.list_keys(anna.id) == []
    with pytest.raises(NotFound):
        await service.revoke_key(anna.id, row.id)
    assert await service.user_of_key(key) is not None


@pytest.mark.parametrize("user_id", ["nobody", ""])
async def test_nobody_has_no_keys_or_passwords(service: AccountService, user_id: str) -> None:
    calls = (
        service.create_key(user_id, "laptop"),
        service.change_password(user_id, PASSWORD, "battery staple"),
        service.set_active(user_id, False),
    )
    for call in calls:
        with pytest.raises(AppError, match="no such user"):
            await call


async def test_settings_are_each_ones_own(service: AccountService, anna: User, ben: User) -> None:
    await service.set_setting(anna.id, "theme", "dark")
    await service.set_setting(anna.id, "theme", {"name": "light"})
    assert await service.get_setting(anna.id, "theme") == {"name": "light"}
    assert await service.get_setting(ben.id, "theme", "system") == "system"
    assert await service.get_settings(anna.id) == {"theme": {"name": "light"}}
    assert await service.get_settings(ben.id) == {}
