"""The command groups `users`, `keys` and `models`: they work on the data folder itself, whether a server runs or not.

Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from app.services.accounts import AccountService
    from app.services.container import Services
    from app.services.models import ModelService
    from app.settings import Settings
    from store.tables import Model, User

T = TypeVar("T")

HELP_STYLE: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
SHORT_ID_CHARS = 12
STATES = {True: "active", False: "disabled"}
MAX_PASSWORD_BYTES = 2**16      # read of what comes in, which may have no end; far more than a password may have

users = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="Who may sign in.")
keys = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="API keys, for programs.")
models = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="The language models that can be used here.")

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="FOLDER", help="Where accounts, chats and models are kept.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name with which they sign in.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
]


# --- users -----------------------------------------------------------------------------------------------------------


@users.command("add")
def add_user(
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="They may manage people and models.")] = False,
    password_stdin: PasswordStdin = False,
    data_dir: DataDir = None,
) -> None:
    """Let somebody in. The first admin can be made like this, too."""
    password = _password(password_stdin)
    from store.tables import UserRole

    role = UserRole.ADMIN if admin else UserRole.USER
    user = _with_accounts(data_dir, lambda accounts: accounts.add_user(name, password, role))
    print(f"{user.name} can sign in, as {'an admin' if admin else 'a user'}.")


@users.command("list")
def list_users(data_dir: DataDir = None) -> None:
    """Everybody who has an account."""
    everybody = _with_accounts(data_dir, lambda accounts: accounts.list_users())
    print_table(
        ("NAME", "ROLE", "STATE", "SINCE", "LAST HERE"),
        [
            (user.name, user.role.value, STATES[user.is_active], *_days(user.created_at, user.last_seen_at))
            for user in everybody
        ],
    )


@users.command("set-password")
def set_password(name: Name, password_stdin: PasswordStdin = False, data_dir: DataDir = None) -> None:
    """Give somebody a new password. They are signed out everywhere."""
    password = _password(password_stdin)
    _change(name, data_dir, lambda accounts, user_id: accounts.set_password(user_id, password), "has a new password")


@users.command("disable")
def disable_user(name: Name, data_dir: DataDir = None) -> None:
    """Shut somebody out: no sign-in, no keys. Their chats stay."""
    _change(name, data_dir, lambda accounts, user_id: accounts.set_active(user_id, False), "is disabled")


@users.command("enable")
def enable_user(name: Name, data_dir: DataDir = None) -> None:
    """Let a disabled person in again."""
    _change(name, data_dir, lambda accounts, user_id: accounts.set_active(user_id, True), "is enabled")


def _change(
    name: str, data_dir: Path | None, change: Callable[[AccountService, str], Awaitable[None]], done: str
) -> None:
    """`change` something of that person's, by their id, and tell that it is `done`."""

    async def work(accounts: AccountService) -> str:
        user = await user_called(name, accounts)
        await change(accounts, user.id)
        return user.name

    print(f"{_with_accounts(data_dir, work)} {done}.")


# --- keys ------------------------------------------------------------------------------------------------------------


@keys.command("create")
def create_key(
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Whose key it is.")],
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What it is for.")] = "command line",
    data_dir: DataDir = None,
) -> None:
    """Make an API key and print it: this once."""

    async def create(accounts: AccountService) -> str:
        owner = await user_called(user, accounts)
        return (await accounts.create_key(owner.id, name))[1]

    print(_with_accounts(data_dir, create))
    print("Keep it now: it cannot be shown again.", file=sys.stderr)


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """Everybody's keys, by their beginnings and ends."""

    async def collect(accounts: AccountService) -> list[tuple[str, ...]]:
        return [
            (key.id[:SHORT_ID_CHARS], key.hint, user.name, key.name, *_days(key.created_at, key.last_used_at))
            for user in await accounts.list_users()
            for key in await accounts.list_keys(user.id)
        ]

    print_table(("ID", "KEY", "USER", "NAME", "SINCE", "LAST USED"), _with_accounts(data_dir, collect))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it; its beginning will do.")],
    data_dir: DataDir = None,
) -> None:
    """Make a key worthless at once."""

    async def revoke(accounts: AccountService) -> str:
        from app.errors import NotFound
        from app.language import Said

        found = [
            (user, key)
            for user in await accounts.list_users()
            for key in await accounts.list_keys(user.id)
            if key_id and key.id.startswith(key_id)
        ]
        if len(found) != 1:
            raise NotFound(Said("command-key-many" if found else "command-key-none", key=key_id))
        user, key = found[0]
        await accounts.revoke_key(user.id, key.id)
        return f"{key.hint} of {user.name} is revoked."

    print(_with_accounts(data_dir, revoke))


# --- models ----------------------------------------------------------------------------------------------------------


@models.command("list")
def list_models(data_dir: DataDir = None) -> None:
    """What is there: models that answer, and models that make embeddings. A star marks the one that new chats take."""

    async def collect(service: ModelService) -> list[tuple[str, ...]]:
        await service.register_starter()
        default = await service.default()
        return [
            (
                ("* " if default and entry.model.id == default.id else "  ") + entry.model.id,
                entry.model.quantisation,
                "elsewhere" if entry.is_elsewhere else f"{entry.model.size_bytes / 1e6:,.0f} MB",
                f"{entry.model.context_tokens:,}",
                "embeddings" if entry.model.embeds else "answers",
                entry.problem or ", ".join(entry.connections) or " + ".join(
                    [entry.model.path, *(f"{each['path']}={each['scale']:g}" for each in entry.model.adapters)]
                ),
            )
            for entry in await service.list()
        ]

    print_table(("  ID", "FORMAT", "SIZE", "CONTEXT", "MAKES", "FILE"), _with_models(data_dir, collect))


@models.command("add")
def add_model(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A GGUF file, or a name of `models found`. It stays where it is.")
    ],
    lora: Annotated[
        list[str] | None,
        typer.Option(metavar="ADAPTER[=SCALE]", help="A LoRA adapter over it, 1 strong if not said. May be repeated."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What it is called; its id is made of that.")] = "",
    data_dir: DataDir = None,
) -> None:
    """Make a file on this machine known as a model. With adapters it is another model beside the plain one."""
    from engine.lora import Adapter

    adapters = [Adapter(*_path_and_scale(each)) for each in lora or ()]

    async def add(services: Services) -> Model:
        if adapters or name or file.is_absolute() or await asyncio.to_thread(Path.exists, file):
            return await services.models.add(file, name=name, adapters=adapters)
        return await services.found_models.add(file.as_posix())

    model = with_services(data_dir, add)
    print(f"{model.name} is there, as {model.id}.")


def _path_and_scale(text: str) -> tuple[Path, float]:
    """Of `style.gguf=0.5`. A name that itself ends like that needs a scale after it."""
    path, equals, scale = text.rpartition("=")
    try:
        return (Path(path), float(scale)) if equals else (Path(text), 1.0)
    except ValueError:
        return Path(text), 1.0


# --- what the commands share -----------------------------------------------------------------------------------------


def load_settings(**flags: Any) -> Settings:
    """Raises as `Settings.load`."""
    from app.settings import Settings

    return Settings.load(**flags)


def _with_accounts(data_dir: Path | None, work: Callable[[AccountService], Awaitable[T]]) -> T:
    settings = load_settings(data_dir=data_dir)
    from app.services.accounts import AccountService
    from app.services.changes import Changes
    from store.database import Database

    with closing(Database.open(settings.database_path)) as db, closing(AccountService(db, settings, Changes())) as own:
        return asyncio.run(_awaited(work(own)))


def _with_models(data_dir: Path | None, work: Callable[[ModelService], Awaitable[T]]) -> T:
    return with_services(data_dir, lambda services: work(services.models))


def with_services(data_dir: Path | None, work: Callable[[Services], Awaitable[T]]) -> T:
    settings = load_settings(data_dir=data_dir)
    from app.services.container import Services
    from engine.load import load_engine

    with closing(Services.open(settings, load_engine)) as services:
        return asyncio.run(_awaited(work(services)))


def _days(*moments: datetime | None) -> list[str]:
    return [f"{at:%Y-%m-%d}" if at is not None else "never" for at in moments]


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def user_called(name: str, accounts: AccountService) -> User:
    from app.errors import NotFound
    from app.language import Said
    from app.security import name_key

    wanted = name_key(name)
    for user in await accounts.list_users():
        if user.name_key == wanted:
            return user
    raise NotFound(Said("command-no-user", name=name))


def _password(from_stdin: bool) -> str:
    if sys.stdin is None:       # closed by who called us
        raise typer.BadParameter("standard input is closed; give the password there, with --password-stdin")
    if not from_stdin:
        if not sys.stdin.isatty():
            raise typer.BadParameter("there is no terminal to ask for the password; give it with --password-stdin")
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    try:
        return sys.stdin.buffer.read(MAX_PASSWORD_BYTES).decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise typer.BadParameter("the password is not UTF-8 text") from error


def print_table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]
    for row in (titles, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
