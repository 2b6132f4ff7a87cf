"""`inglenook models found, show, set, budget, update, rollback, remove`: what there is, how it is run, which version.

Part of `app.cli`, which explains exit codes and late imports. Where a server runs on the data folder, changes go
through it: see model_desk.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import SHORT_ID_CHARS, DataDir, print_table, with_services

if TYPE_CHECKING:
    from app.services.container import Services
    from app.services.model_settings import ModelSettings
    from app.services.model_speeds import Speed
    from app.services.model_versions import InstalledVersion
    from engine.template_doctor import TemplateReport
    from store.tables import Model

AS_FOR_ALL = ("auto", "default", "none", "")
GIB = 2**30

ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="Its ID, as `models list` shows it, or an alias.")]


def found(data_dir: DataDir = None) -> None:
    """Models of Ollama, LM Studio, Jan and Hugging Face's tools here. `models add NAME` uses one where it lies."""

    async def collect(services: Services) -> list[tuple[str, ...]]:
        return [
            (
                offer.found.name,
                offer.found.app,
                f"{offer.found.size_bytes / 1e6:,.0f} MB",
                f"here, as {offer.model_id}" if offer.model_id else offer.found.problem or "can be added",
            )
            for offer in await services.found_models.list()
        ]

    rows = with_services(data_dir, collect)
    if rows:
        print_table(("NAME", "APP", "SIZE", "STATE"), rows)
    else:
        print("No other app has models here. `inglenook models add FILE` takes a GGUF file from anywhere.")


def show(model: ModelId, data_dir: DataDir = None) -> None:
    """Everything about a model: its file, what its chat template can, how it is run, whether it fits, its versions."""

    async def collect(services: Services) -> list[str]:
        await services.models.register_starter()
        await services.model_settings.apply_memory_budget()
        row = await services.models.find(model)
        report = None if row.embeds or row.is_elsewhere else await _template(services, row)
        versions = await services.model_versions.list(row.id)
        settings = await services.model_settings.of(row.id)
        told = _settings(settings, await _preset_name(services, settings))
        speed = await services.model_speeds.of(row)
        return _about(row, "" if row.is_elsewhere else await _fit(services, row), report, told, versions, speed)

    print("\n".join(with_services(data_dir, collect)))


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
    threads: Annotated[str | None, typer.Option(metavar="N", help="Of the processor.")] = None,
    template: Annotated[str | None, typer.Option(metavar="FILE", help="A chat template in place of its own.")] = None,
    alias: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="By which programs may call it. May be repeated.")
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
        return [f"{row.name}: {_settings(settings, await _preset_name(services, settings))}."]

    print("\n".join(with_services(data_dir, work)))


def budget(
    gib: Annotated[str, typer.Argument(metavar="GIB", help="As 12.5; auto: as much as the machine has.")],
    data_dir: DataDir = None,
) -> None:
    """How much memory all loaded models together may take. A running server follows with its next load."""
    value = None if gib.lower() in AS_FOR_ALL else _float(gib)

    async def work(services: Services) -> None:
        from app.model_desk import open_desk

        async with open_desk(services) as desk:
            await desk.set_budget(value)

    with_services(data_dir, work)
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
    """Take an update back: the version before it is used from the next load on. The update stays beside it."""

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


# --- what is told ----------------------------------------------------------------------------------------------------


async def _template(services: Services, row: Model) -> TemplateReport | str:
    from app.errors import Conflict

    try:
        return await services.models.template(row.id)
    except Conflict as error:
        return str(error)


async def _fit(services: Services, row: Model) -> str:
    from app.errors import ModelUnavailable
    from engine.errors import ModelLoadError

    try:
        plan = await services.engines.plan(row.id)
    except (ModelUnavailable, ModelLoadError) as error:
        return str(error)
    where = f", {plan.gpu_layers} layers on {plan.gpu.name}" if plan.gpu else ""
    for_whom = "each text" if row.embeds else f"{plan.max_num_seqs} at once"
    fits = f"fits: {plan.max_model_len:,} tokens for {for_whom}, {plan.everywhere_bytes / GIB:.1f} GiB at most{where}"
    return f"{fits}. {plan.gpu_note}" if plan.gpu_note else fits


def _about(
    row: Model, fit: str, report: TemplateReport | str | None, settings: str, versions: list[InstalledVersion],
    speed: Speed | None,
) -> list[str]:
    from app.services.model_facts import problem_of, version_of
    from app.services.model_origin import Origin

    origin = Origin.from_values(row.origin)
    facts = {
        "Version": version_of(row),
        "File": " + ".join([row.path, *(f"{each['path']}={each['scale']:g}" for each in row.adapters)]),
        "Problem": problem_of(row),
        "From": f"{origin.app}, {origin.name}".strip(", "),
        "Format": ", ".join(filter(None, (row.file_format, row.quantisation, row.architecture))),
        "Size": f"{row.size_bytes / 1e6:,.0f} MB" if row.size_bytes else "",
        "Context": f"trained for {row.context_tokens:,} tokens",
        "Memory": fit,
        "Speed": f"about {speed.told:g} tokens/s. {speed.rests_on}" if speed else "",
        "Makes": "embeddings" if row.embeds else "answers",
        "Settings": settings,
        "Template": "" if report is None else report if isinstance(report, str) else _abilities(report),
    }
    lines = [f"{row.name} ({row.id})", *(f"  {name:<10}{value}" for name, value in facts.items() if value)]
    if report is not None and not isinstance(report, str):
        lines += [f"            {'!' if each.level.value == 'fault' else '-'} {each}" for each in report.findings]
    if len(versions) > 1:
        lines += ["  Versions", *(_version(each) for each in versions)]
    return lines


def _abilities(report: TemplateReport) -> str:
    can = ["fit for chat" if report.is_fit_for_chat else "not fit for chat"]
    can += [f"calls tools, as {report.family} does"] if report.calls_tools else []
    can += ["takes images"] if report.takes_images else []
    can += [{"maybe": "may think first", "always": "always thinks first"}[report.thinks]] if report.thinks else []
    return ", ".join(can)


def _version(each: InstalledVersion) -> str:
    state = "in use" if each.is_in_use else "can be gone back to" if each.is_there else "its file is gone"
    return f"    {each.version_id[:SHORT_ID_CHARS]}  {each.installed_at:%Y-%m-%d}  {each.version}, {state}"


def _settings(settings: ModelSettings, preset_name: str) -> str:
    words = {
        "context_tokens": "{:,} tokens of context", "users": "{} at once", "kv_type": "KV in {}",
        "weight_format": "weights in {}", "device": "on the {}",
        "layers": "{} layers on the GPU", "threads": "{} threads", "keep_alive_s": "stays {} s after its last use",
    }
    told = [text.format(value) for name, text in words.items() if (value := getattr(settings, name)) is not None]
    told += ["a chat template of its own"] if settings.chat_template else []
    told += [f"new chats begin with the preset {preset_name}"] if preset_name else []
    told += ["loaded at the start"] if settings.is_preloaded else []
    told += ["pinned in memory"] if settings.is_pinned else []
    told += [f"also called {', '.join(settings.aliases)}"] if settings.aliases else []
    return "; ".join(told) or "as for all models"


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


async def _preset_name(services: Services, settings: ModelSettings) -> str:
    """"" also where it was deleted since."""
    offered = await services.model_presets.offered() if settings.preset_id else []
    return next((each.name for each in offered if each.id == settings.preset_id), "")


def _word(text: str) -> str | None:
    return None if text.lower() in AS_FOR_ALL else text.lower()


def _number(text: str) -> Any:
    """A text that is none goes on as it is: the check of the setting says what is due."""
    word = _word(text)
    return int(word) if word is not None and word.lstrip("-").isdigit() else word


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text} is no number of GiB") from error


def _seconds(text: str) -> Any:
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86_400}.get(text[-1:].lower())
    return int(text[:-1]) * unit if unit and text[:-1].isdigit() else _number(text)


def _aliases(names: list[str]) -> list[str] | None:
    """One that is `auto` takes all back."""
    return None if any(name.lower() in AS_FOR_ALL for name in names) else names


def _read_template(file: str) -> str | None:
    if file.lower() in AS_FOR_ALL:
        return None
    with Path(file).open(encoding="utf-8", errors="replace") as text:
        return text.read(1 << 20)
