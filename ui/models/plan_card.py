"""What one model takes of the memory: while it is loaded what it has, else what the next load would take. Exact.
And how fast it writes, as far as that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nicegui import background_tasks
from nicegui.element import Element

from app.errors import said_by_engine
from app.services.container import Services
from app.services.models import ModelEntry
from engine.engine import EngineInfo
from engine.memory import WORKING_BYTES, MemoryPlan
from engine.told import Told
from store.tables import Model
from ui.components.elements import icon, tag
from ui.language import FORESEEN, in_words, t, told
from ui.models.fit_line import about_speed
from ui.words import context, size


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    value: str
    note: str = ""


async def plan_card(services: Services, entry: ModelEntry) -> None:
    """Into the slot that is open when it is called."""
    info = entry.status.info
    lines: list[Line] = []
    problem = ""
    if info is not None:
        lines = list(_of_loaded(info))
    else:
        try:
            lines = list(_of_plan(await services.engines.plan(entry.model.id), embeds=entry.model.embeds))
        except FORESEEN as error:
            problem = told(error)
    with tag("div", "nk-card"):
        with tag("div", "nk-card-h"):
            tag("h2", "", t("memory"))
            tag("span", "nk-end", t("plan-now") if info else t("plan-next"))
        with tag("div", "nk-card-b"):
            if problem:
                with tag("div", "nk-notice bad"):
                    icon("circle-alert", 16)
                    tag("span", "nk-grow", problem)
            with tag("dl", "nk-facts nk-num") as facts:
                for line in lines:
                    tag("dt", "", line.label)
                    with tag("dd"):
                        tag("b", "", line.value)
                        if line.note:
                            tag("span", "", line.note)
    background_tasks.create(_show_speed(services, entry.model, facts), name="speed of a model", context=facts)


async def _show_speed(services: Services, model: Model, facts: Element) -> None:
    """The first time this machine's memory is measured for it, for which the page does not wait."""
    speed = await services.model_speeds.of(model)
    if speed is None or facts.is_deleted:
        return
    with facts:
        tag("dt", "", t("plan-speed"))
        with tag("dd"):
            tag("b", "", about_speed(speed))
            tag("span", "", in_words(speed.rests_on))


def _of_loaded(info: EngineInfo) -> Iterator[Line]:
    yield Line(t("plan-weights"), size(info.weight_bytes))
    if not info.embedding_width:
        yield Line(t("plan-chats"), size(info.kv_bytes), _room(info.max_model_len, info.max_num_seqs, info.kv_type))
        yield Line(t("plan-kept"), size(info.cache_bytes))
    if info.gpu_layers:
        yield Line(t("plan-gpu"), t("plan-layers", count=info.gpu_layers), info.device)
    elif info.gpu_note:
        yield _without_gpu(info.gpu_note)
    yield Line(t("plan-all"), size(info.weight_bytes + info.kv_bytes + info.cache_bytes))


def _of_plan(plan: MemoryPlan, *, embeds: bool) -> Iterator[Line]:
    yield Line(t("plan-weights"), size(plan.weight_bytes))
    if embeds:
        yield Line(t("plan-texts"), size(plan.kv_bytes), t("model-room-text", context=context(plan.max_model_len)))
    else:
        yield Line(t("plan-chats"), size(plan.kv_bytes), _room(plan.max_model_len, plan.max_num_seqs, plan.kv_type))
        yield Line(t("plan-kept"), size(plan.cache_bytes))
        yield Line(t("plan-working"), size(WORKING_BYTES))
    if plan.gpu is not None:
        layers = t("plan-layers", count=plan.gpu_layers)
        yield Line(t("plan-gpu"), size(plan.gpu.total_bytes), f"{layers}, {plan.gpu.name}")
    elif plan.gpu_note:
        yield _without_gpu(plan.gpu_note)
    yield Line(t("plan-host"), size(plan.total_bytes))


def _without_gpu(why: Told) -> Line:
    return Line(t("plan-gpu"), t("plan-layers", count=0), in_words(said_by_engine(why)))


def _room(max_model_len: int, max_num_seqs: int, kv_type: str) -> str:
    room = t("model-room", context=context(max_model_len), chats=t("count-chats", count=max_num_seqs))
    return room if kv_type == "f16" else f"{room}, {kv_type}"
