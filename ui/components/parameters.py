"""The form of what can be set for a chat or a preset; see parameters.js. For the chat's drawer and the library page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nicegui.element import Element

from app.services.parameters import PARAMETERS, Kind, Parameter, default_values
from app.services.setup import ChatSetup
from engine.load import DEFAULT_SYSTEM_PROMPT
from store.tables import Model, WhenFull
from ui.language import t

SYSTEM_PROMPT, WHEN_FULL = "system_prompt", "when_full"


class ParameterForm(Element, component="parameters.js"):
    """`on_change` gets a name, of a parameter or of the two above, and its value; None: as the model does by itself."""

    def __init__(self, on_change: Callable[[str, Any], Any]) -> None:
        super().__init__()
        self._props.update(fields=[], values={}, refused={})
        self.on("change", lambda event: on_change(event.args["name"], event.args["value"]))

    def show(self, setup: ChatSetup, model: Model | None, *, can_be_told: bool) -> None:
        """`can_be_told`: whether the model can be told to think first, as far as is known."""
        is_told = can_be_told or "reasoning" in setup.parameters
        wanted: dict[str, Any] = {
            "fields": _fields(default_values(model), is_told=is_told),
            "values": values_of(setup),
        }
        if any(self._props[key] != value for key, value in wanted.items()):
            self._props.update(wanted)
            self.update()

    def refuse(self, name: str, problem: str) -> None:
        self._props["refused"] = {name: problem}
        self.update()


def values_of(setup: ChatSetup) -> dict[str, Any]:
    """What differs from the model's own, by name."""
    values = dict(setup.parameters)
    if setup.system_prompt:
        values[SYSTEM_PROMPT] = setup.system_prompt
    if setup.when_full is not WhenFull.LEAVE_OUT:
        values[WHEN_FULL] = setup.when_full
    return values


def setup_with(setup: ChatSetup, name: str, value: Any) -> ChatSetup:
    """`setup` with that one changed, not checked yet; `value` as the form tells it."""
    if name == SYSTEM_PROMPT:
        return replace(setup, system_prompt=value or "")
    if name == WHEN_FULL:
        return replace(setup, when_full=value or WhenFull.LEAVE_OUT)
    parameters: Mapping[str, Any] = {**setup.parameters, name: value}
    return replace(setup, parameters=parameters)


def _fields(defaults: Mapping[str, Any], *, is_told: bool) -> list[dict[str, Any]]:
    fields = [_system_prompt()]
    fields += [_field(each, defaults[each.name]) for each in PARAMETERS if is_told or each.kind is not Kind.SWITCH]
    return [*fields, _when_full()]


def _field(parameter: Parameter, default: Any) -> dict[str, Any]:
    word = parameter.name.replace("_", "-")
    field: dict[str, Any] = {
        "name": parameter.name, "kind": parameter.kind.value, "label": t(f"param-{word}"),
        "about": t(f"param-{word}-about"), "default": default,
    }
    match parameter.kind:
        case Kind.SWITCH:
            named = ((None, "param-model-s-choice"), (True, "param-on"), (False, "param-off"))
            field["options"] = [{"value": value, "label": t(message)} for value, message in named]
        case Kind.LINES:
            field["placeholder"] = t("param-stop-placeholder")
        case _:
            field |= {"low": parameter.low, "high": parameter.high, "step": parameter.step, "slid": parameter.is_slid}
            field["none"] = t("param-seed-none") if parameter.name == "seed" else ""
    return field


def _system_prompt() -> dict[str, Any]:
    return {
        "name": SYSTEM_PROMPT, "kind": "text", "label": t("param-system-prompt"), "default": None,
        "about": t("param-system-prompt-about"), "placeholder": DEFAULT_SYSTEM_PROMPT,
    }


def _when_full() -> dict[str, Any]:
    named = ((None, "param-leave-out"), (WhenFull.SUMMARISE.value, "param-summarise"))
    return {
        "name": WHEN_FULL, "kind": "choice", "label": t("param-when-full"), "about": t("param-when-full-about"),
        "default": None, "options": [{"value": value, "label": t(message)} for value, message in named],
    }
