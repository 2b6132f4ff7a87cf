"""`inglenook users` and `keys`: alone on the data folder, and beside a server, where what ends must end at once."""

from __future__ import annotations

import re
from pathlib import Path
from queue import Queue

import httpx
import pytest

from app import people_commands
from app.security import SESSION_COOKIE
from app.services.changes import Change
from app.services.endings import Ending
from store.tables import User, UserRole
from tests.app.command_line import Inglenook
from tests.app.elsewhere import chatgpt_conversation, write_json
from tests.app.house import PASSWORD, House, Person


@pytest.fixture
def anna(inglenook: Inglenook) -> str:
    assert inglenook("users", "add", "Anna", "--admin", "--password-stdin", stdin=PASSWORD).exit_code == 0
    return "Anna"


@pytest.fixture
def ben(inglenook: Inglenook, anna: str) -> str:
    assert inglenook("users", "add", "Ben", "--password-stdin", stdin=PASSWORD).exit_code == 0
    return "Ben"


class TestAlone:
    def test_somebody_is_made_an_admin_and_none_again(self, inglenook: Inglenook, ben: str) -> None:
        assert inglenook("users", "role", "ben", "admin").out == "Ben is an admin.\n"
        assert re.search(r"^Ben +admin +active", inglenook("users", "list").out, re.MULTILINE)
        assert inglenook("users", "role", "ben", "user").out == "Ben is no admin.\n"
        assert inglenook("users", "role", "ben", "emperor").exit_code == 2

    def test_the_last_admin_stays(self, inglenook: Inglenook, anna: str) -> None:
        for command in (("role", anna, "user"), ("disable", anna), ("delete", anna, "--yes")):
            done = inglenook("users", *command)
            assert (done.exit_code, done.err) == (1, "inglenook: This is the only admin. Make another one first.\n")

    def test_somebody_is_deleted_once_it_is_said_to_be_meant(self, inglenook: Inglenook, ben: str) -> None:
        inglenook("keys", "create", "--user", ben)
        done = inglenook("users", "delete", "ben")
        assert done.exit_code == 1
        assert "With Ben this goes for good: 0 chats with 0 messages, 0 prompts or presets, 1 API key." in done.err
        assert "--yes" in done.err and "users disable" in done.err
        assert inglenook("users", "delete", "ben", "--yes").out == "Ben is deleted.\n"
        assert "Ben" not in inglenook("users", "list").out
        assert inglenook("users", "delete", "ben", "--yes").err.startswith("inglenook: There is no user called ben.")

    def test_in_a_terminal_their_name_is_asked_for(
        self, inglenook: Inglenook, ben: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(people_commands, "_can_ask", lambda: True)
        assert "This is not their name. Type Ben." in inglenook("users", "delete", ben, stdin="Anna\n").err
        assert "Ben" in inglenook("users", "list").out
        done = inglenook("users", "delete", ben, stdin=" bEN\n")
        assert done.exit_code == 0 and done.out.endswith("Ben is deleted.\n")

    def test_a_password_is_made_up_and_printed_once(self, inglenook: Inglenook, anna: str) -> None:
        for command in (("add", "Carla"), ("set-password", "Carla")):
            done = inglenook("users", *command, "--make-up")
            assert done.exit_code == 0
            assert re.search(r"^Their password: (\w{4}-){3}\w{4}$", done.out, re.MULTILINE)
        assert inglenook("users", "add", "Dora", "--make-up", "--password-stdin", stdin=PASSWORD).exit_code == 2


class TestBesideAServer:
    def test_open_pages_hear_of_each_change(self, inglenook: Inglenook, beside: House, heard: list[Change]) -> None:
        for command in (
            ("users", "add", "Nora", "--make-up"), ("users", "role", "nora", "admin"), ("users", "disable", "nora"),
            ("users", "enable", "nora"), ("keys", "create", "--user", "nora", "--name", "laptop"),
            ("keys", "revoke", _key_id(inglenook, "Nora")), ("users", "delete", "nora", "--yes"),
        ):
            heard.clear()
            arguments = [_key_id(inglenook, "Nora") if each == "" else each for each in command]
            done = inglenook(*arguments)
            assert done.exit_code == 0, done.err
            assert Change("people") in heard, command
        assert "Nora" not in {user.name for user in beside.do(beside.services.accounts.list_users())}

    def test_the_pages_of_whose_chats_come_from_a_file_hear_of_it(
        self, inglenook: Inglenook, beside: House, tmp_path: Path
    ) -> None:
        cleo, dan = beside.person("Cleo Beside"), beside.person("Dan Beside")
        source = write_json(tmp_path / "elsewhere.json", [chatgpt_conversation("c1")])
        hers, his = Queue[Change](), list[Change]()

        async def watch() -> None:
            beside.services.changes.watch(cleo.user_id, hers.put)
            beside.services.changes.watch(dan.user_id, his.append)

        beside.do(watch())
        done = inglenook("import", str(source), "--user", cleo.name)
        assert (done.exit_code, done.out) == (0, "1 added, 0 updated, 0 known, 0 skipped.\n")
        assert hers.get(timeout=60) == Change("import")     # the last is told after the command has heard of its end
        assert Change("import") not in his

    def test_what_ends_ends_at_once_and_the_sign_in_page_says_why(self, inglenook: Inglenook, beside: House) -> None:
        carl = beside.person("Carl Beside")
        ended: list[tuple[str, str | None]] = []
        beside.services.accounts.on_access_ended(lambda user_id, token_hash: ended.append((user_id, token_hash)))
        assert inglenook("users", "disable", carl.name).out == f"{carl.name} is disabled.\n"
        assert (carl.user_id, None) in ended
        assert beside.services.accounts.ending_of(carl.session) is Ending.DISABLED
        with carl.client() as program:
            assert program.get("/v1/models").status_code == 403
            assert inglenook("users", "enable", carl.name).exit_code == 0
            assert program.get("/v1/models").status_code == 200
        session = beside.do(beside.services.accounts.start_session(_user(beside, carl.name)))
        assert inglenook("users", "set-password", carl.name, "--make-up").exit_code == 0
        assert beside.services.accounts.ending_of(session) is Ending.PASSWORD
        assert inglenook("users", "delete", carl.name, "--yes").exit_code == 0
        assert beside.services.accounts.ending_of(session) is Ending.DELETED

    def test_who_is_no_longer_an_admin_loses_the_pages_of_one(self, inglenook: Inglenook, beside: House) -> None:
        eve = beside.person("Eve Beside")
        demoted: list[str] = []
        beside.services.accounts.on_demoted(demoted.append)
        assert inglenook("users", "role", eve.name, "admin").exit_code == 0
        assert inglenook("users", "role", eve.name, "user").exit_code == 0
        assert demoted == [eve.user_id]

    def test_the_only_admin_gets_a_new_password_by_whoever_is_at_the_machine(
        self, inglenook: Inglenook, beside: House
    ) -> None:
        (only,) = (user for user in beside.do(beside.services.accounts.list_users()) if user.role is UserRole.ADMIN)
        done = inglenook("users", "set-password", only.name, "--password-stdin", stdin=PASSWORD)
        assert (done.exit_code, done.out) == (0, f"{only.name} has a new password.\n")
        assert "only admin" in inglenook("users", "disable", only.name).err

    def test_no_session_of_the_command_line_is_left(self, inglenook: Inglenook, beside: House) -> None:
        before = _num_sessions(beside)
        inglenook("users", "add", "Zora", "--make-up")
        inglenook("users", "delete", "Zora", "--yes")
        assert _num_sessions(beside) == before


ROUTES = [
    ("POST", "/accounts", {"name": "Mallory", "password": "", "role": "admin"}),
    ("POST", "/accounts/changed", None),
    ("POST", "/accounts/{id}/chats/changed", None),
    ("PUT", "/accounts/{id}/password", {"password": ""}),
    ("PUT", "/accounts/{id}/role", {"role": "admin"}),
    ("PUT", "/accounts/{id}/active", {"active": False}),
    ("DELETE", "/accounts/{id}", {"name": "Ben"}),
    ("DELETE", "/accounts/{id}/keys/x", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_over_http_only_admins_get_in_and_by_session_only(
    house: House, admin: Person, method: str, path: str, body: dict[str, object] | None
) -> None:
    people = house.do(house.services.accounts.list_users())
    fay = house.person(f"Fay {len(people)}")
    target = path.format(id=admin.user_id)
    with fay.browser() as browser, fay.client() as program, httpx.Client(base_url=house.url) as nobody:
        refused = browser.request(method, target, json=body)
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
        assert program.request(method, target, json=body).status_code == 401
        assert nobody.request(method, target, json=body).status_code == 401
        other = nobody.request(
            method, target, json=body, headers={"Origin": "http://evil.example", "Cookie": f"{SESSION_COOKIE}=x"}
        )
        assert other.status_code == 403
    assert len(house.do(house.services.accounts.list_users())) == len(people) + 1


@pytest.mark.parametrize(("method", "path", "body"), [
    ("POST", "/accounts", {"name": "Gil", "role": "emperor"}), ("POST", "/accounts", {"name": 5, "role": "user"}),
    ("PUT", "/accounts/x/password", {}), ("PUT", "/accounts/x/password", {"pasword": "long enough"}),
    ("DELETE", "/accounts/x", {}), ("POST", "/accounts", {"name": "Gil", "role": "user", "pasword": "long enough"}),
    ("PUT", "/accounts/x/active", {"active": "yes"}), ("PUT", "/accounts/x/role", {}),
])
def test_what_is_no_wish_is_a_400(
    house: House, admin: Person, method: str, path: str, body: dict[str, object]
) -> None:
    (first, *_) = (user for user in house.do(house.services.accounts.list_users()) if user.role is UserRole.ADMIN)
    with house.signed_in(first).browser() as browser:
        assert browser.request(method, path, json=body).status_code == 400


def _user(house: House, name: str) -> User:
    return next(user for user in house.do(house.services.accounts.list_users()) if user.name == name)


def _key_id(inglenook: Inglenook, name: str) -> str:
    lines = [line.split() for line in inglenook("keys", "list").out.splitlines() if f" {name} " in line]
    return lines[0][0] if lines else ""


def _num_sessions(house: House) -> int:
    count = house.services.db.read(
        lambda session: session.connection().exec_driver_sql("SELECT count(*) FROM login_session").scalar()
    )
    return int(house.do(count) or 0)
