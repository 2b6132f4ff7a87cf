"""`inglenook models updates, rules`: whether the hub has newer versions of what came from it, how downloads run.

Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import FAILED, DataDir, load_settings, print_table, with_services
from app.numbers import decimal_number
from engine.sizes import MIB, size

if TYPE_CHECKING:
    from app.download_desk import Desk
    from app.services.container import Services
    from app.services.model_updates import Update

NO_RULE = ("none", "always", "auto", "")
SHORT_COMMIT_CHARS = 8


def updates(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="Its ID, or an alias; else all that came from the hub.")
    ] = "",
    daily: Annotated[
        bool | None, typer.Option("--daily/--no-daily", help="Have a server ask once a day; at first it never does.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Ask the hub whether it has newer versions. Nothing is downloaded: `models pull` does that."""
    if daily is not None:
        async def look_daily(services: Services) -> None:
            from app.model_desk import open_desk

            await services.model_updates.set_looks_daily(daily)
            async with open_desk(services) as desk:
                await desk.tell_changed()

        with_services(data_dir, look_daily)
        print("A server asks the hub once a day." if daily else "The hub is asked only when somebody wants to know.")
        return

    async def ask(services: Services) -> list[tuple[str, ...]]:
        from app.errors import AppError

        try:
            if model:
                row = await services.models.find(model)
                found: dict[str, Update | AppError] = {row.id: await services.model_updates.look(row.id)}
            else:
                found = await services.model_updates.look_at_all()
            repos = {entry.model.id: entry.model.repo for entry in await services.models.list()}
        finally:
            await services.hub.close()
        return [
            (model_id, *(("not known", str(each)) if isinstance(each, AppError) else _told(repos[model_id], each)))
            for model_id, each in found.items()
        ]

    rows = with_services(data_dir, ask)
    if rows:
        print_table(("MODEL", "STATE", ""), rows)
    else:
        print("No model here came from the hub.")
    if rows and all(state == "not known" for _, state, _ in rows):
        sys.exit(FAILED)


def rules(
    limit: Annotated[
        str | None, typer.Option(metavar="MIB", help="Of all downloads together, a second, as 2.5; none: no limit.")
    ] = None,
    hours: Annotated[
        str | None, typer.Option(metavar="HOURS", help="When they may run, as 22:00-06:00; always.")
    ] = None,
    place: Annotated[
        str | None, typer.Option(metavar="PLACE", help="own: the models folder; shared: Hugging Face's cache.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or say how downloads may run. A running server follows at once."""
    changes: dict[str, Any] = {}
    if limit is not None:
        changes["bytes_per_s"] = None if limit.lower() in NO_RULE else _bytes_per_s(limit)
    if hours is not None:
        changes["hours"] = "" if hours.lower() in NO_RULE else hours
    if place is not None:
        changes["layout"] = place.lower()
    settings = load_settings(data_dir=data_dir)
    from app.download_desk import at_desk

    async def work(desk: Desk) -> dict[str, Any]:
        return await desk.set_rules(changes) if changes else await desk.rules()

    now = at_desk(settings, work)
    most = now["bytes_per_s"]
    print("Limit  ", f"{most / MIB:g} MiB/s" if most else "none")
    print("Hours  ", now["hours"] or "always")
    print("Place  ", settings.hub_cache_dir if now["layout"] == "shared" else settings.models_dir)


def _bytes_per_s(mib: str) -> int:
    try:
        return round(decimal_number(mib) * MIB)
    except ValueError as error:
        raise typer.BadParameter(f"{mib} is no number of MiB") from error


def _told(repo: str, update: Update) -> tuple[str, str]:
    match update.newness.value:
        case "newer":
            commit = update.commit_sha[:SHORT_COMMIT_CHARS]
            return f"newer: {commit}, {size(update.size_bytes)}", f"inglenook models pull {repo}/{update.file}"
        case "here":
            return "newer, and here already", "see `models show`; `models rollback --to` uses it"
        case "gone":
            return "gone from the hub", ""
    return "newest", ""
