"""What a person may set for a chat or a preset, and how that becomes the engine's `SamplingParams`. Pure functions.

`PARAMETERS` is the one list: the drawer, the presets' editor, the checks and the files of the library follow it. What
is not set is the model's own value, so a dict of parameters holds only what differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from app.errors import InvalidInput
from app.language import Said
from app.numbers import typed_number
from engine.params import MAX_STOP_STRINGS, SamplingParams
from store.sqlite import storable
from store.tables import Model

MAX_STOP_CHARS = 200
MAX_SYSTEM_PROMPT_CHARS = 200_000

CHAT_PARAMS = SamplingParams(temperature=0.7, top_p=0.95, min_p=0.05, max_tokens=4096)
STARTER_PARAMS = SamplingParams(temperature=0.0, repetition_penalty=1.05, max_tokens=1024)
"""135M parameters wander at any temperature (9 answers of 20 miss Paris at 0.7), and repeat themselves unpenalised."""
STARTER_AGAIN_PARAMS = replace(STARTER_PARAMS, temperature=0.5)     # who asks again wants another answer


class Kind(StrEnum):
    NUMBER = "number"
    WHOLE = "whole"
    LINES = "lines"         # of text
    SWITCH = "switch"       # on, off, or left to the model


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: Kind
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    is_slid: bool = False   # a slider is of use: the range is short


PARAMETERS = (
    Parameter("temperature", Kind.NUMBER, 0.0, 2.0, 0.05, is_slid=True),
    Parameter("top_p", Kind.NUMBER, 0.01, 1.0, 0.01, is_slid=True),
    Parameter("top_k", Kind.WHOLE, 0, 1000),
    Parameter("min_p", Kind.NUMBER, 0.0, 1.0, 0.01, is_slid=True),
    Parameter("repetition_penalty", Kind.NUMBER, 0.5, 2.0, 0.01, is_slid=True),
    Parameter("max_tokens", Kind.WHOLE, 1, 1_000_000),
    Parameter("seed", Kind.WHOLE, 0, 2**53 - 1),        # as far as a browser counts
    Parameter("stop", Kind.LINES),
    Parameter("reasoning", Kind.SWITCH),
)
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def checked_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is set of `given`, each value in its range. None and empty values mean: not set.

    Raises InvalidInput, whose `field` is the parameter's name.
    """
    unknown = next((name for name in given if name not in BY_NAME), None)
    if unknown is not None:
        raise InvalidInput(Said("error-parameter-unknown", name=unknown[:40]), field=unknown)
    checked = {name: _checked(BY_NAME[name], value) for name, value in given.items() if value not in (None, "", [])}
    return {name: checked[name] for name in BY_NAME if checked.get(name) not in (None, [])}


def fitting_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """What can be used of it, of a file or another version."""
    fitting: dict[str, Any] = {}
    for name, value in given.items():
        with suppress(InvalidInput):
            fitting |= checked_parameters({name: value})
    return fitting


def checked_system_prompt(text: str) -> str:
    if len(text) > MAX_SYSTEM_PROMPT_CHARS:
        raise InvalidInput(Said("error-system-prompt-long", count=MAX_SYSTEM_PROMPT_CHARS), field="system_prompt")
    return storable(text).strip()


def sampling(model: Model, parameters: Mapping[str, Any], *, is_another: bool = False) -> SamplingParams:
    """The model's own values, and over them what a chat has set. `is_another`: the same question is asked again."""
    base = model_defaults(model)
    if is_another and model.is_starter:
        base = STARTER_AGAIN_PARAMS
    changed = {name: value for name, value in parameters.items() if name in BY_NAME and name != "reasoning"}
    if "stop" in changed:
        changed["stop"] = tuple(changed["stop"])
    return replace(base, **changed)


def model_defaults(model: Model | None) -> SamplingParams:
    return STARTER_PARAMS if model is not None and model.is_starter else CHAT_PARAMS


def default_values(model: Model | None) -> dict[str, Any]:
    """By parameter, as people see them: what counts where nothing is set."""
    defaults = model_defaults(model)
    return {name: getattr(defaults, name, None) for name in BY_NAME} | {"stop": []}


def _checked(parameter: Parameter, value: Any) -> Any:
    match parameter.kind:
        case Kind.LINES:
            return _checked_lines(parameter, value)
        case Kind.SWITCH:
            if not isinstance(value, bool):
                raise InvalidInput(Said("error-on-or-off"), field=parameter.name)
            return value
        case _:
            return _checked_number(parameter, value)


def _checked_number(parameter: Parameter, value: Any) -> float | int:
    number = _number(value)
    if number is None or not parameter.low <= number <= parameter.high:
        raise InvalidInput(Said("error-number", low=parameter.low, high=parameter.high), field=parameter.name)
    if parameter.kind is Kind.NUMBER:
        return round(number, 4)
    if number != int(number):
        raise InvalidInput(Said("error-whole-number"), field=parameter.name)
    return int(number)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = typed_number(value) if isinstance(value, str) else float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _checked_lines(parameter: Parameter, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
        raise InvalidInput(Said("error-lines"), field=parameter.name)
    lines = [storable(line) for line in value if line]
    if len(lines) > MAX_STOP_STRINGS or any(len(line) > MAX_STOP_CHARS for line in lines):
        raise InvalidInput(
            Said("error-many-lines", count=MAX_STOP_STRINGS, characters=MAX_STOP_CHARS), field=parameter.name
        )
    return list(dict.fromkeys(lines))
