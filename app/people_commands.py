"""The command groups `users` and `keys`. Where a server runs on the data folder they go through it: see people_desk.py.

Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.commands import HELP_STYLE, SHORT_ID_CHARS, DataDir, load_settings, print_table, user_called

if TYPE_CHECKING:
    from app.people_desk import Desk, Office
    from store.belongings import Belongings
    from store.tables import User

T = TypeVar("T")

STATES = {True: "active", False: "disabled"}
ROLES = ("admin", "user")
MAX_PASSWORD_BYTES = 2**16      # read of what comes in, which may have no end; far more than a password may have

users = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="Who may sign in.")
keys = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="API keys, for programs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name with which they sign in.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
]
MadeUp = Annotated[bool, typer.Option("--make-up", help="Make a password up, and print it: this once.")]


# --- users -----------------------------------------------------------------------------------------------------------


@users.command("add")
def add_user(
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="They may manage people and models.")] = False,
    password_stdin: PasswordStdin = False,
    made_up: MadeUp = False,
    data_dir: DataDir = None,
) -> None:
    """Let somebody in. The first admin can be made like this, too."""
    password = _password(password_stdin, made_up)
    from app.security import clean_name
    from store.tables import UserRole

    role = UserRole.ADMIN if admin else UserRole.USER

    async def add(office: Office) -> None:
        async with office.desk() as desk:
            await desk.add(name, password, role)

    _at_office(data_dir, add)
    print(f"{clean_name(name)} can sign in, as {'an admin' if admin else 'a user'}.")
    _show_made_up(password, made_up)


@users.command("list")
def list_users(data_dir: DataDir = None) -> None:
    """Everybody who has an account."""
    everybody = _at_office(data_dir, lambda office: office.accounts.list_users())
    print_table(
        ("NAME", "ROLE", "STATE", "SINCE", "LAST HERE"),
        [
            (user.name, user.role.value, STATES[user.is_active], *_days(user.created_at, user.last_seen_at))
            for user in everybody
        ],
    )


@users.command("set-password")
def set_password(
    name: Name, password_stdin: PasswordStdin = False, made_up: MadeUp = False, data_dir: DataDir = None
) -> None:
    """Give somebody a new password. They are signed out everywhere."""
    password = _password(password_stdin, made_up)
    _change(name, data_dir, lambda desk, user: desk.set_password(user, password), "has a new password")
    _show_made_up(password, made_up)


@users.command("role")
def set_role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="admin: they may manage people and models; or user.")],
    data_dir: DataDir = None,
) -> None:
    """Make somebody an admin, or take that back. The last admin stays one."""
    if role not in ROLES:
        raise typer.BadParameter(f"a role is one of: {', '.join(ROLES)}")
    from store.tables import UserRole

    done = "is an admin" if role == UserRole.ADMIN else "is no admin"
    _change(name, data_dir, lambda desk, user: desk.set_role(user, UserRole(role)), done)


@users.command("disable")
def disable_user(name: Name, data_dir: DataDir = None) -> None:
    """Shut somebody out: no sign-in, no keys. Their chats stay."""
    _change(name, data_dir, lambda desk, user: desk.set_active(user, False), "is disabled")


@users.command("enable")
def enable_user(name: Name, data_dir: DataDir = None) -> None:
    """Let a disabled person in again."""
    _change(name, data_dir, lambda desk, user: desk.set_active(user, True), "is enabled")


@users.command("delete")
def delete_user(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Remove somebody for good. Their chats, prompts and keys go, too; `users disable` only shuts them out."""

    async def look(office: Office) -> tuple[User, Belongings]:
        user = await user_called(name, office.accounts)
        return user, await office.belongings(user)

    user, theirs = _at_office(data_dir, look)
    if not yes:
        _ask_before(user, theirs)
    _change(user.name, data_dir, lambda desk, user: desk.remove(user), "is deleted")


def _ask_before(user: User, theirs: Belongings) -> None:
    """Raises Conflict where nobody can be asked, and where another name is typed."""
    from app.errors import Conflict, InvalidInput
    from app.language import Said
    from app.security import name_key

    what = (
        f"{_count(theirs.num_chats, 'chat')} with {_count(theirs.num_messages, 'message')}, "
        f"{_count(theirs.num_prompts, 'prompt or preset', 'prompts or presets')}, {_count(theirs.num_keys, 'API key')}"
    )
    if not _can_ask():
        raise Conflict(Said("command-delete-user", name=user.name, what=what))
    print(f"With {user.name} this goes for good: {what}.")
    if name_key(str(typer.prompt("To be sure, type their name"))) != user.name_key:
        raise InvalidInput(Said("error-name-typed", name=user.name))


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _change(name: str, data_dir: Path | None, change: Callable[[Desk, User], Awaitable[None]], done: str) -> None:
    """`change` something of that person's, and tell that it is `done`."""

    async def work(office: Office) -> str:
        user = await user_called(name, office.accounts)
        async with office.desk(about=user) as desk:
            await change(desk, user)
        return user.name

    print(f"{_at_office(data_dir, work)} {done}.")


# --- keys ------------------------------------------------------------------------------------------------------------


@keys.command("create")
def create_key(
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Whose key it is.")],
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="What it is for.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make an API key and print it: this once."""
    from app.security import TERMINAL_KEY_NAME

    async def create(office: Office) -> None:
        owner = await user_called(user, office.accounts)
        _, key = await office.accounts.create_key(owner.id, TERMINAL_KEY_NAME if name is None else name)
        if not owner.is_active:
            print(f"{owner.name} is disabled: the key is good once they are enabled again.", file=sys.stderr)
        print(key, flush=True)          # it is good from here on, whatever becomes of telling a server
        async with office.desk() as desk:
            await desk.tell_changed()

    _at_office(data_dir, create)
    print("Keep it now: it cannot be shown again.", file=sys.stderr)


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """Everybody's keys, by their beginnings and ends."""

    async def collect(office: Office) -> list[tuple[str, ...]]:
        return [
            (key.id[:SHORT_ID_CHARS], key.hint, user.name, key.name, *_days(key.created_at, key.last_used_at))
            for user in await office.accounts.list_users()
            for key in await office.accounts.list_keys(user.id)
        ]

    print_table(("ID", "KEY", "USER", "NAME", "SINCE", "LAST USED"), _at_office(data_dir, collect))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it; its beginning will do.")],
    data_dir: DataDir = None,
) -> None:
    """Make a key worthless at once."""

    async def revoke(office: Office) -> str:
        from app.errors import NotFound
        from app.language import Said

        found = [
            (user, key)
            for user in await office.accounts.list_users()
            for key in await office.accounts.list_keys(user.id)
            if key_id and key.id.startswith(key_id)
        ]
        if len(found) != 1:
            raise NotFound(Said("command-key-many" if found else "command-key-none", key=key_id))
        user, key = found[0]
        async with office.desk() as desk:
            await desk.revoke_key(key)
        return f"{key.hint} of {user.name} is revoked."

    print(_at_office(data_dir, revoke))


# --- what both share -------------------------------------------------------------------------------------------------


def _at_office(data_dir: Path | None, work: Callable[[Office], Awaitable[T]]) -> T:
    settings = load_settings(data_dir=data_dir)
    from app.people_desk import at_office

    return at_office(settings, work)


def _days(*moments: datetime | None) -> list[str]:
    return [f"{at:%Y-%m-%d}" if at is not None else "never" for at in moments]


def _password(from_stdin: bool, made_up: bool) -> str:
    if made_up:
        if from_stdin:
            raise typer.BadParameter("a password is made up or read, not both")
        from app.security import new_password

        return new_password()
    if sys.stdin is None:       # closed by who called us
        raise typer.BadParameter("standard input is closed; give the password there, with --password-stdin")
    if not from_stdin:
        if not _can_ask():
            raise typer.BadParameter("there is no terminal to ask for the password; give it with --password-stdin")
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    try:
        return sys.stdin.buffer.read(MAX_PASSWORD_BYTES).decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise typer.BadParameter("the password is not UTF-8 text") from error


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _show_made_up(password: str, made_up: bool) -> None:
    if made_up:
        print(f"Their password: {password}")
        print("Pass it on now: it cannot be shown again. In Settings they can change it.", file=sys.stderr)
