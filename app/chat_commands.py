"""`inglenook export` and `inglenook import`: a person's chats as files. They work on the data folder itself, and tell a
server that runs on it.

Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.commands import FAILED, DataDir, user_called, with_services

if TYPE_CHECKING:
    from app.services.container import Services
    from app.services.imports import Import
    from store.tables import User

T = TypeVar("T")


Owner = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose chats they are.")]


class Form(StrEnum):
    JSON = "json"
    MARKDOWN = "markdown"


def export_chats(
    user: Owner,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="To write. It must not be there yet.")],
    form: Annotated[
        Form, typer.Option("--format", help="A JSON list, as Open WebUI has it; or a ZIP of Markdown files.")
    ] = Form.JSON,
    data_dir: DataDir = None,
) -> None:
    """Write all chats of one person into a file."""
    from app.errors import Conflict
    from app.language import Said
    from app.services.exports import ExportFormat

    async def write(services: Services, owner: User) -> int:
        download = await services.exports.everything(owner.id, ExportFormat(form))
        file = to.open("xb")
        try:
            with file:              # what waits is written at its end, and a full disk may not take that either
                return sum([file.write(chunk) async for chunk in download.chunks])
        except BaseException:
            to.unlink()             # half a file would pass for a whole one
            raise

    if to.exists():
        raise Conflict(Said("command-file-there", path=str(to)))
    num_bytes = _with_owner(data_dir, user, write)
    print(f"{to}: {num_bytes:,} bytes.")


def import_chats(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Of ChatGPT (JSON or the ZIP), Open WebUI or Inglenook.")
    ],
    user: Owner,
    data_dir: DataDir = None,
) -> None:
    """Add the chats in a file to one person's. Those that are there already are known again.

    It ends with 1 where the file could not be read, or nothing in it could.
    """
    from app.names import in_plain

    async def read(services: Services, owner: User) -> Import:
        result = await services.imports.read_here(owner.id, file)
        await _tell_changed(services, owner)
        return result

    result = _with_owner(data_dir, user, read)
    for skipped in result.skipped:
        where = ", ".join(filter(None, [skipped.file, f"entry {skipped.position}" if skipped.position else ""]))
        line = f"skipped: {where}: {skipped.title or 'without a title'}: {skipped.reason}"
        print(in_plain(line), file=sys.stderr)
    if not result.problem or any(result.counts.values()):       # else there is only the problem to tell
        print(_sentence(result))
    if result.problem:
        print(f"inglenook: {in_plain(result.problem)}", file=sys.stderr)
    if result.problem or (result.num_skipped and not any(result.counts.values())):
        sys.exit(FAILED)


def _sentence(result: Import) -> str:
    counts = ", ".join(f"{number:,} {name}" for name, number in result.counts.items())
    return f"{counts}, {result.num_skipped:,} skipped."


async def _tell_changed(services: Services, owner: User) -> None:
    """The pages that they have open. Where the server cannot be told, the chats are there all the same."""
    from app.errors import AppError
    from app.people_desk import Office

    with suppress(AppError):
        async with Office(services.settings, services.db, services.accounts).desk() as desk:
            await desk.tell_chats_changed(owner)


def _with_owner(data_dir: Path | None, name: str, work: Callable[[Services, User], Awaitable[T]]) -> T:
    async def run(services: Services) -> T:
        return await work(services, await user_called(name, services.accounts))

    return with_services(data_dir, run)
