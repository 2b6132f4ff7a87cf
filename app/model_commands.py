"""`inglenook models found, set, budget, update, rollback, remove`: what there is, how it is run, which version.

Part of `app.cli`, which explains exit codes and late imports. Where a server runs on the data folder, changes go
through it: see model_desk.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import SHORT_ID_CHARS, DataDir, ModelId, print_table, with_services
from app.model_show_command import settings_told
from app.numbers import decimal_number, whole_number
from engine.sizes import size

if TYPE_CHECKING:
    from app.services.container import Services

AS_FOR_ALL = ("auto", "default", "none", "")


def found(data_dir: DataDir = None) -> None:
    """Models of Ollama, LM Studio, Jan and Hugging Face's tools here. `models add NAME` uses one where it lies."""

    async def collect(services: Services) -> list[tuple[str, ...]]:
        return [
            (
                offer.found.name,
                offer.found.app,
                size(offer.found.size_bytes),
                f"here, as {offer.model_id}" if offer.model_id else offer.found.problem or "can be added",
            )
            for offer in await services.found_models.list()
        ]

    rows = with_services(data_dir, collect)
    if rows:
        print_table(("NAME", "APP", "SIZE", "STATE"), rows)
    else:
        print("No other app has models here. `inglenook models add FILE` takes a GGUF file from anywhere.")


def change(
    model: ModelId,
    context: Annotated[str | None, typer.Option(metavar="TOKENS", help="Of one conversation.")] = None,
    users: Annotated[str | None, typer.Option(metavar="N", help="How many are answered at once.")] = None,
    kv_type: Annotated[str | None, typer.Option("--kv-type", metavar="TYPE", help="f16, or q8_0: half of it.")] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Of a model in safetensors: fp8, int8 or int4, made at load.")
    ] = None,
    device: Annotated[str | None, typer.Option(metavar="DEVICE", help="cpu, gpu, or gpu0, gpu1 by number.")] = None,
    layers: Annotated[str | None, typer.Option(metavar="N", help="On the GPU.")] = None,
    threads: Annotated[str | None, typer.Option(metavar="N", help="Processor threads to use.")] = None,
    template: Annotated[str | None, typer.Option(metavar="FILE", help="A chat template in place of its own.")] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name that programs may use for it. May be repeated."),
    ] = None,
    keep_alive: Annotated[
        str | None, typer.Option("--keep-alive", metavar="TIME", help="In memory after its last use: 30s, 10m, 2h.")
    ] = None,
    preload: Annotated[bool | None, typer.Option("--preload/--no-preload", help="Load it at the start.")] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="An admin's preset, with which everybody's new chats begin.")
    ] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Never unload it for others.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Say how a model is run. `auto` takes a setting back. What concerns loading counts from the next load on."""
    asked: tuple[tuple[str, Any, Callable[[Any], Any]], ...] = (
        ("context_tokens", context, _number), ("users", users, _number), ("kv_type", kv_type, _word),
        ("weight_format", weights, _word), ("device", device, _word), ("layers", layers, _number),
        ("threads", threads, _number),
        ("chat_template", template, _read_template), ("aliases", alias, _aliases),
        ("keep_alive_s", keep_alive, _seconds), ("is_preloaded", preload, bool), ("is_pinned", pin, bool),
    )
    changes = {name: read(value) for name, value, read in asked if value is not None}
    if not changes and preset is None:
        raise typer.BadParameter("say what is to change; see `inglenook models set --help`")

    async def work(services: Services) -> list[str]:
        from app.model_desk import open_desk

        await services.models.register_starter()
        row = await services.models.find(model)
        if preset is not None:
            changes["preset_id"] = await _preset_id(services, preset)
        async with open_desk(services) as desk:
            await desk.change(row.id, changes)
        settings = await services.model_settings.of(row.id)
        return [f"{row.name}: {await settings_told(services, settings)}."]

    print("\n".join(with_services(data_dir, work)))


def budget(
    gib: Annotated[
        str | None,
        typer.Argument(metavar="GIB", help="As 12.5; auto: as much as the machine has. If left out it is shown."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """How much memory all loaded models together may take. A running server follows with its next load."""
    wanted = None if gib is None or gib.lower() in AS_FOR_ALL else _float(gib)

    async def work(services: Services) -> float | None:
        from app.model_desk import open_desk

        if gib is not None:
            async with open_desk(services) as desk:
                await desk.set_budget(wanted)
        return await services.model_settings.memory_budget_gib()

    value = with_services(data_dir, work)
    print("As much as the machine has." if value is None else f"{value:g} GiB for all models together.")


def update(
    model: ModelId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A newer file of the same model. It stays where it is.")],
    data_dir: DataDir = None,
) -> None:
    """Use a newer file from the next load on, under the same ID. `models rollback` goes back to what it was."""

    async def work(services: Services) -> str:
        from app.model_desk import open_desk
        from app.services.model_facts import version_of

        row = await services.models.find(model)
        async with open_desk(services) as desk:
            await desk.update(row.id, await asyncio.to_thread(file.expanduser().absolute))
        row = await services.models.find(row.id)
        return f"{row.name} is {version_of(row)} from its next load on."

    print(with_services(data_dir, work))


def roll_back(
    model: ModelId,
    version: Annotated[
        str, typer.Option("--to", metavar="ID", help="A version's, as `models show` lists them; else the one before.")
    ] = "",
    data_dir: DataDir = None,
) -> None:
    """Take an update back. The version before it is used from the next load on; the update stays beside it."""

    async def work(services: Services) -> str:
        from app.model_desk import open_desk

        row = await services.models.find(model)
        async with open_desk(services) as desk:
            await desk.roll_back(row.id, version)
        used = next(each for each in await services.model_versions.list(row.id) if each.is_in_use)
        return f"{row.name} is {used.version} again."

    print(with_services(data_dir, work))


def remove(
    model: ModelId,
    yes: Annotated[bool, typer.Option("--yes", help="Its files in the models folder go, too.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the answers that a running server writes with it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Forget a model. Its files in the models folder go; one that was added from elsewhere stays where it is.

    A running server unloads it first; while that answers with it, the model stays, unless `--stop` is given.
    """

    async def work(services: Services) -> str:
        from app.errors import Conflict
        from app.language import Said
        from app.model_desk import open_desk

        row = await services.models.find_here(model)
        removal = await services.models.removal(row)
        if removal.deleted and not yes and not row.is_starter:
            files = ", ".join(map(str, removal.deleted))
            raise Conflict(Said("command-remove-files", model=row.name, files=files))
        async with open_desk(services, is_removal=True) as desk:
            await desk.remove(row.id, stops_answers=stop)
        told = [f"{row.name} ({row.id}) is no longer known here.", *map(str, removal.sentences)]
        if row.is_default:
            now = await services.models.default()
            told.append(f"New chats begin with {now.name} now." if now else "There is no model for new chats now.")
        return "\n".join(told)

    print(with_services(data_dir, work))


# --- what is given ---------------------------------------------------------------------------------------------------


async def _preset_id(services: Services, name: str) -> str | None:
    """By its name or its id, or the beginning of that. Raises NotFound."""
    from app.errors import NotFound
    from app.language import Said

    if name.lower() in AS_FOR_ALL:
        return None
    offered = await services.model_presets.offered()
    found = [each for each in offered if each.name.casefold() == name.casefold()] or [
        each for each in offered if each.id.startswith(name)
    ]
    if len(found) != 1:
        known = ", ".join(f"{each.name} ({each.id[:SHORT_ID_CHARS]})" for each in found or offered) or "-"
        raise NotFound(Said("command-preset-many" if found else "command-preset-none", preset=name, known=known))
    return found[0].id


def _word(text: str) -> str | None:
    return None if text.lower() in AS_FOR_ALL else text.lower()


def _number(text: str) -> Any:
    """A text that is none goes on as it is: the check of the setting says what is due."""
    word = _word(text)
    try:
        return None if word is None else whole_number(word)
    except ValueError:
        return word


def _float(text: str) -> float:
    """Raises BadParameter."""
    try:
        return decimal_number(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text} is no number of GiB") from error


def _seconds(text: str) -> Any:
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86_400}.get(text[-1:].lower())
    count = _number(text[:-1]) if unit else None
    return count * unit if unit and isinstance(count, int) else _number(text)


def _aliases(names: list[str]) -> list[str] | None:
    """One that is `auto` takes all back."""
    return None if any(name.lower() in AS_FOR_ALL for name in names) else names


def _read_template(file: str) -> str | None:
    if file.lower() in AS_FOR_ALL:
        return None
    with Path(file).open(encoding="utf-8", errors="replace") as text:
        return text.read(1 << 20)
