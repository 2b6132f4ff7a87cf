"""`inglenook models show`: everything about one model.

Part of `app.cli`, which explains exit codes and late imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.commands import SHORT_ID_CHARS, DataDir, ModelId, with_services
from engine.sizes import size

if TYPE_CHECKING:
    from app.services.container import Services
    from app.services.model_settings import ModelSettings
    from app.services.model_speeds import Speed
    from app.services.model_versions import InstalledVersion
    from engine.template_doctor import TemplateReport
    from store.tables import Model



def show(model: ModelId, data_dir: DataDir = None) -> None:
    """Everything about a model. Its file, what its chat template can, how it is run, whether it fits, its versions."""

    async def collect(services: Services) -> list[str]:
        await services.models.register_starter()
        await services.model_settings.apply_memory_budget()
        row = await services.models.find(model)
        report = None if row.embeds or row.is_elsewhere else await _template(services, row)
        versions = await services.model_versions.list(row.id)
        settings = await services.model_settings.of(row.id)
        told = await settings_told(services, settings)
        speed = await services.model_speeds.of(row)
        return _about(row, "" if row.is_elsewhere else await _fit(services, row), report, told, versions, speed)

    from app.names import in_plain

    print("\n".join(map(in_plain, with_services(data_dir, collect))))


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
    fits = f"fits: {plan.max_model_len:,} tokens for {for_whom}, {size(plan.everywhere_bytes)} at most{where}"
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
        "Size": size(row.size_bytes) if row.size_bytes else "",
        "Context": f"trained for {row.context_tokens:,} tokens",
        "Memory": fit,
        "Speed": f"about {speed.told:g} tok/s. {speed.rests_on}" if speed else "",
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


async def settings_told(services: Services, settings: ModelSettings) -> str:
    words = {
        "context_tokens": "{:,} tokens of context", "users": "{} at once", "kv_type": "KV in {}",
        "weight_format": "weights in {}", "device": "on the {}",
        "layers": "{} layers on the GPU", "threads": "{} threads", "keep_alive_s": "stays {} s after its last use",
    }
    told = [text.format(value) for name, text in words.items() if (value := getattr(settings, name)) is not None]
    told += ["a chat template of its own"] if settings.chat_template else []
    preset_name = await _preset_name(services, settings)
    told += [f"new chats begin with the preset {preset_name}"] if preset_name else []
    told += ["loaded at the start"] if settings.is_preloaded else []
    told += ["pinned in memory"] if settings.is_pinned else []
    told += [f"also called {', '.join(settings.aliases)}"] if settings.aliases else []
    return "; ".join(told) or "as for all models"


async def _preset_name(services: Services, settings: ModelSettings) -> str:
    """"" also where it was deleted since."""
    offered = await services.model_presets.offered() if settings.preset_id else []
    return next((each.name for each in offered if each.id == settings.preset_id), "")
