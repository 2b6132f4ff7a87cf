"""The command group `models`, which works on the data folder itself, and tells a server that runs on it; and what the
commands share. Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from app.numbers import decimal_number
from engine.sizes import size

if TYPE_CHECKING:
    from app.services.accounts import AccountService
    from app.services.container import Services
    from app.services.models import ModelService
    from app.settings import Settings
    from engine.lora import Adapter
    from store.tables import Model, User

T = TypeVar("T")

HELP_STYLE: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
FAILED = 1                      # exit code: see `app.cli`
SHORT_ID_CHARS = 12

models = typer.Typer(**HELP_STYLE, no_args_is_help=True, help="The language models that can be used here.")

ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="Its ID, as `models list` shows it, or an alias.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="FOLDER", help="Where accounts, chats and models are kept.")
]


# --- models ----------------------------------------------------------------------------------------------------------


@models.command("list")
def list_models(data_dir: DataDir = None) -> None:
    """The models that are there. Some answer, some make embeddings; a star marks the one that new chats take."""

    async def collect(service: ModelService) -> list[tuple[str, ...]]:
        await service.register_starter()
        default = await service.default()
        return [
            (
                ("* " if default and entry.model.id == default.id else "  ") + entry.model.id,
                entry.model.quantisation,
                "elsewhere" if entry.is_elsewhere else size(entry.model.size_bytes),
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
    adapters = [_adapter(each) for each in lora or ()]

    async def add(services: Services) -> Model:
        from app.model_desk import open_desk

        if adapters or name or file.is_absolute() or await asyncio.to_thread(Path.exists, file):
            added = await services.models.add(file, name=name, adapters=adapters)
        else:
            added = await services.found_models.add(file.as_posix())
        async with open_desk(services) as desk:
            await desk.tell_changed()
        return added

    model = with_services(data_dir, add)
    print(f"{model.name} is there, as {model.id}.")


def _adapter(text: str) -> Adapter:
    """Of `style.gguf=0.5`. A name that itself ends like that needs a scale after it. Raises ModelLoadError."""
    from engine.lora import Adapter, scale_refused

    path, equals, scale = text.rpartition("=")
    try:
        return Adapter(Path(path), decimal_number(scale)) if equals else Adapter(Path(text))
    except ValueError as error:
        if Path(path).is_file() and not Path(text).exists():           # what was meant is a scale, and is none
            raise scale_refused(Path(path), scale) from error
        return Adapter(Path(text))


# --- what the commands share -----------------------------------------------------------------------------------------


def load_settings(**flags: Any) -> Settings:
    """Raises as `Settings.load`."""
    from app.settings import Settings

    return Settings.load(**flags)


def _with_models(data_dir: Path | None, work: Callable[[ModelService], Awaitable[T]]) -> T:
    return with_services(data_dir, lambda services: work(services.models))


def with_services(data_dir: Path | None, work: Callable[[Services], Awaitable[T]]) -> T:
    settings = load_settings(data_dir=data_dir)
    from app.services.container import Services
    from engine.load import load_engine

    with closing(Services.open(settings, load_engine)) as services:
        return asyncio.run(_awaited(work(services)))


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


def print_table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from app.names import in_plain

    lines = [titles, *(tuple(map(in_plain, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    for row in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
