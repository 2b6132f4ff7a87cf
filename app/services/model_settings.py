"""How an admin wants one model run: context, users at once, device and the like, checked with words.

`ModelSettings` is a value; `ModelSettingsService` keeps it in the store, on the event loop. What concerns loading
applies at the next load, how long it stays in memory and its aliases at once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sqlmodel import Session

from app.errors import InvalidInput, ModelNotFound, said, said_of_template
from app.language import Said
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry, Policy
from engine.errors import ModelLoadError
from engine.judge import judge
from engine.memory import KvType, OwnLimits, WeightFormat
from engine.template_doctor import Code, TemplateReport
from store import library, models, settings
from store.database import Database
from store.tables import Model
from store.tables.columns import warn_of_unreadable

LEAST_CONTEXT_TOKENS = 256
MOST_USERS = 256
MOST_THREADS = 1024
MOST_ALIASES = 20
MOST_GIB = 1_000_000
ELSEWHERE = ("context_tokens", "aliases", "preset_id")        # all else is its server's to say
BUDGET_KEY = "memory_budget_gib"      # of the system's settings in the store
KV_TYPES: tuple[KvType, ...] = ("f16", "q8_0")
WEIGHT_FORMATS: tuple[WeightFormat, ...] = ("fp8", "int8", "int4")

_DEVICE = re.compile(r"cpu|gpu([0-9]{1,2})?")
_ALIAS = re.compile(r"[\w][\w.:/@+-]{0,99}")
_UNFIT = (Code.NONE, Code.BROKEN, Code.LOSES_QUESTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """None: as for all models."""

    context_tokens: int | None = None       # of one conversation
    users: int | None = None                # who are answered at once
    kv_type: str | None = None
    weight_format: str | None = None        # of one in safetensors: made while it loads
    device: str | None = None               # "cpu", "gpu", or "gpu1" by number
    layers: int | None = None               # on the GPU; the output counts as one
    threads: int | None = None
    chat_template: str | None = None        # in place of the file's own
    preset_id: str | None = None            # with which new chats begin
    aliases: tuple[str, ...] = ()           # by which programs may name it too
    keep_alive_s: int | None = None         # in memory after its last use
    is_preloaded: bool = False              # at the start
    is_pinned: bool = False                 # it is not unloaded for others

    @classmethod
    def of(cls, model: Model) -> ModelSettings:
        """What another version has stored beside is left out, and what does not fit."""
        values = {name: value for name, value in model.settings.items() if name in _KINDS and _fits(name, value)}
        if len(values) < len(model.settings):
            warn_of_unreadable(f"some of the settings of {model.id}")
        return cls(**values | {"aliases": tuple(values.get("aliases", ()))})

    def to_values(self) -> dict[str, Any]:
        """Of what differs from the rule."""
        rule = ModelSettings()
        values = {name: value for name, value in asdict(self).items() if value != getattr(rule, name)}
        return values | ({"aliases": list(self.aliases)} if self.aliases else {})

    @property
    def own_limits(self) -> OwnLimits:
        number = _gpu_number(self.device)
        return OwnLimits(
            context_tokens=self.context_tokens,
            max_num_seqs=self.users,
            threads=self.threads,
            kv_type=self.kv_type,       # type: ignore[arg-type]    # checked where it was set
            weight_format=self.weight_format,       # type: ignore[arg-type]    # likewise
            gpu_layers=0 if self.device == "cpu" else self.layers,
            main_gpu=number,
        )

    def policy(self, keep_alive_s: int | None) -> Policy:
        """`keep_alive_s` is for those that have none of their own."""
        own = keep_alive_s if self.keep_alive_s is None else self.keep_alive_s
        return Policy(keep_alive_s=own, is_pinned=self.is_pinned)


_KINDS: dict[str, type] = {
    "context_tokens": int, "users": int, "kv_type": str, "weight_format": str, "device": str, "layers": int,
    "threads": int, "chat_template": str, "preset_id": str, "aliases": list, "keep_alive_s": int,
    "is_preloaded": bool, "is_pinned": bool,
}


def _fits(name: str, value: Any) -> bool:
    """In kind: whether the value does is seen to where it is set."""
    if name == "aliases":
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return value is None or type(value) is _KINDS[name]


def _budget_of(value: Any) -> float:
    """GiB. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_GIB:
        raise ValueError(value)
    return float(value)


def _gpu_number(device: str | None) -> int | None:
    digits = (device or "").removeprefix("gpu")
    return int(digits) if digits.isascii() and digits.isdigit() else None


class ModelSettingsService:
    def __init__(
        self, db: Database, engines: EngineRegistry, changes: Changes, *, keep_alive_s: int | None = None
    ) -> None:
        self._db = db
        self._engines = engines
        self._changes = changes
        self._keep_alive_s = keep_alive_s
        self._one_change = asyncio.Lock()       # each changes what the one before has left

    async def of(self, model_id: str) -> ModelSettings:
        return ModelSettings.of(await self._find(model_id))

    async def preloaded(self) -> list[Model]:
        """Those to be loaded at the start."""
        return [model for model in await self._db.read(models.list_all) if ModelSettings.of(model).is_preloaded]

    async def change(self, model_id: str, changes: Mapping[str, Any]) -> ModelSettings:
        """Only what is named changes; None takes a setting back. Raises ModelNotFound, or InvalidInput whose `field`
        names the setting.
        """
        async with self._one_change:
            return await self._change(await self._find(model_id), changes)

    async def _change(self, model: Model, changes: Mapping[str, Any]) -> ModelSettings:
        wanted = _changed(ModelSettings.of(model), changes)
        _check(wanted, model, changes)
        await self._check_preset(changes.get("preset_id"))
        template = TemplateReport.from_values(model.template)
        if "chat_template" in changes and not model.is_elsewhere:
            template = await asyncio.to_thread(_examined, model, wanted.chat_template)

        await self._db.run(_keep, model, wanted)
        if "chat_template" in changes:
            await self._db.run(models.set_template, model.id, template.to_values())
        self._engines.set_policy(model.id, wanted.policy(self._keep_alive_s))
        if model.is_elsewhere:              # nothing is loaded for it: its next answer can have another window
            self._engines.retire(model.id)
        self._changes.announce_all(Change("models"))
        return wanted

    async def memory_budget_gib(self) -> float | None:
        """For all models together, as an admin has set it here. None: what the machine has."""
        return await self._db.read(settings.fitting, BUDGET_KEY, _budget_of, None)

    async def set_memory_budget(self, gib: float | None) -> None:
        """From the next load on. Raises InvalidInput."""
        try:
            gib = None if gib is None else _budget_of(gib)
        except ValueError as error:
            raise InvalidInput(Said("error-budget", count=MOST_GIB), field="gib") from error
        await self._db.run(settings.set_of_system, BUDGET_KEY, gib)
        self._engines.budget_bytes = None if gib is None else int(gib * 2**30)
        self._changes.announce_all(Change("models"))

    async def apply_memory_budget(self) -> None:
        """At start: what was set here counts where no flag, variable or file says another."""
        if self._engines.budget_bytes is None and (gib := await self.memory_budget_gib()) is not None:
            self._engines.budget_bytes = int(gib * 2**30)

    async def _find(self, model_id: str) -> Model:
        """By its id or an alias, also of one that cannot be used now."""
        model = await self._db.read(_named, model_id)
        if model is None:
            raise ModelNotFound(Said("error-no-such-model", model=model_id[:200]))
        return model

    async def _check_preset(self, preset_id: object) -> None:
        """One that is newly chosen. It may be deleted later, which its model does not mind."""
        known = {each.id for each in await self._db.read(library.list_of_admins)}
        if preset_id is not None and not (isinstance(preset_id, str) and preset_id in known):
            raise InvalidInput(Said("error-preset-of-admin"), field="preset_id")


def _named(session: Session, name: str) -> Model | None:
    if (model := models.get(session, name)) is not None:
        return model
    return next((each for each in models.list_all(session) if name in ModelSettings.of(each).aliases), None)


def _keep(session: Session, model: Model, wanted: ModelSettings) -> None:
    """In one transaction with the look at others' names: models come, too. Raises InvalidInput."""
    taken: dict[str, str] = {}
    for each in models.list_all(session):
        if each.id != model.id:
            taken |= dict.fromkeys((each.id, *ModelSettings.of(each).aliases), each.name)
    for alias in wanted.aliases:
        if alias in taken or alias == model.id:
            message = Said("error-alias-taken", alias=alias, model=taken.get(alias, model.name))
            raise InvalidInput(message, field="aliases")
    models.set_settings(session, model.id, wanted.to_values())


def _changed(before: ModelSettings, changes: Mapping[str, Any]) -> ModelSettings:
    rules = ModelSettings()
    for name in changes:
        if name not in _CHECKS and name not in ("chat_template", "preset_id", "aliases"):
            raise InvalidInput(Said("error-setting-none", name=name[:100]), field=name)
    values = {name: getattr(rules, name) if value is None else value for name, value in changes.items()}
    if "aliases" in values:
        aliases = values["aliases"]
        if not isinstance(aliases, list | tuple) or not all(isinstance(each, str) for each in aliases):
            raise InvalidInput(Said("error-must-be-texts", name="aliases"), field="aliases")
        values["aliases"] = tuple(dict.fromkeys(aliases))
    return replace(before, **values)


def _whole(low: int, high: int, what_id: str) -> Callable[[Any], Said | None]:
    def check(value: Any) -> Said | None:
        is_good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if is_good else Said("error-setting-number", what=Said(what_id), low=low, high=high)

    return check


def _yes_or_no(what_id: str) -> Callable[[Any], Said | None]:
    return lambda value: None if isinstance(value, bool) else Said("error-setting-yes-no", what=Said(what_id))


_CHECKS: Mapping[str, Callable[[Any], Said | None]] = {
    "context_tokens": _whole(LEAST_CONTEXT_TOKENS, 1 << 24, "error-setting-context"),
    "users": _whole(1, MOST_USERS, "error-setting-users"),
    "kv_type": lambda value: None if value in KV_TYPES else Said("error-setting-kv", known=", ".join(KV_TYPES)),
    "weight_format": lambda value: (
        None if value in WEIGHT_FORMATS else Said("error-setting-weights", known=", ".join(WEIGHT_FORMATS))
    ),
    "device": lambda value: (
        None if isinstance(value, str) and _DEVICE.fullmatch(value) else Said("error-setting-device")
    ),
    "layers": _whole(0, 1000, "error-setting-layers"),
    "threads": _whole(1, MOST_THREADS, "error-setting-threads"),
    "keep_alive_s": _whole(0, 10 * 365 * 86_400, "error-setting-keep-alive"),
    "is_preloaded": _yes_or_no("error-setting-preloaded"),
    "is_pinned": _yes_or_no("error-setting-pinned"),
}


def _check(wanted: ModelSettings, model: Model, changes: Mapping[str, Any]) -> None:
    if model.is_elsewhere and any(changes[name] is not None for name in changes if name not in ELSEWHERE):
        raise InvalidInput(Said("error-setting-elsewhere", model=model.name))
    for name, check in _CHECKS.items():
        value = getattr(wanted, name)
        if value is not None and (problem := check(value)):
            raise InvalidInput(problem, field=name)
    if wanted.context_tokens and model.context_tokens and wanted.context_tokens > model.context_tokens:
        message = Said("error-setting-trained", model=model.name, count=model.context_tokens)
        raise InvalidInput(message, field="context_tokens")
    if wanted.weight_format and model.file_format != "safetensors":
        raise InvalidInput(Said("error-setting-weights-gguf", model=model.name), field="weight_format")
    if wanted.device == "cpu" and wanted.layers:
        raise InvalidInput(Said("error-setting-cpu-layers"), field="layers")
    if model.embeds and (wanted.users or wanted.kv_type or wanted.chat_template or wanted.preset_id):
        raise InvalidInput(Said("error-setting-embeds", model=model.name))
    if len(wanted.aliases) > MOST_ALIASES:
        raise InvalidInput(Said("error-aliases-many", count=MOST_ALIASES), field="aliases")
    for alias in wanted.aliases:
        if not isinstance(alias, str) or not _ALIAS.fullmatch(alias):
            raise InvalidInput(Said("error-alias-odd", alias=str(alias)[:100]), field="aliases")


def _examined(model: Model, template: str | None) -> TemplateReport:
    """Raises InvalidInput for a template that cannot be used."""
    if template is not None and not isinstance(template, str):
        raise InvalidInput(Said("error-template-text"), field="chat_template")
    try:
        report = judge(Path(model.path)).examine_template(template)
    except ModelLoadError as error:
        raise InvalidInput(said(error), field="chat_template") from error
    unfit = next((each for each in report.findings if each.code in _UNFIT), None)
    if template is not None and unfit is not None:
        raise InvalidInput(Said("error-template-unfit", detail=said_of_template(unfit)), field="chat_template")
    return report
