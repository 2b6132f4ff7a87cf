"""What the operators, methods and filters of a chat template may do: each works on values of bounded size, and looks at
the clock first. `engine.template_sandbox` puts them into Jinja; everything here runs inside its `metered()`.

Sizes are checked before a value is made, because one that is too large cannot be made.
"""

from __future__ import annotations

import json
import re
import string
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from types import BuiltinMethodType
from typing import Any, NoReturn

from jinja2 import Environment
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.utils import Namespace, pass_environment

from engine.errors import TemplateError
from engine.told import Told

MAX_CPU_S = 0.75            # a thousand messages take some 0.02
MAX_CHARS = 8_000_000       # of any text, the finished prompt included: more than any window holds
MAX_ITEMS = 100_000         # of any list or mapping with all that is in it; also Jinja's own limit for range()
MAX_INTEGER_BITS = 1_000
MAX_INDENT = 16             # columns

deadline_s: ContextVar[float] = ContextVar("deadline_s")       # on the CPU clock of the rendering thread


def tick() -> None:
    """Stop a template that has had its time."""
    if time.thread_time() > deadline_s.get():
        _refuse("deed-slow", seconds=f"{MAX_CPU_S:g}")


def ticking(function: Any) -> Callable[..., Any]:
    @wraps(function)             # keeps Jinja's marks of what the function wants to be passed
    def with_tick(*args: Any, **kwargs: Any) -> Any:
        tick()
        return function(*args, **kwargs)

    return with_tick


def bounded(value: Any) -> Any:
    """The same value, if it is not too large: a few lines can build one, by sharing, with more leaves than memory."""
    num_chars = num_items = 0
    unseen = [value]
    while unseen:
        part = unseen.pop()
        if isinstance(part, str):
            num_chars += len(part)
            _check_chars(num_chars)
        elif isinstance(part, Namespace):
            _refuse("deed-namespace")
        elif isinstance(part, Collection):
            num_items += len(part)
            _check_items(num_items)
            unseen.extend(part)
            if isinstance(part, Mapping):
                unseen.extend(part.values())
    return value


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else str(bounded(value))


def join_texts(texts: Iterable[str]) -> str:
    pieces: list[str] = []
    num_chars = 0
    for text in texts:
        num_chars += len(text)
        _check_chars(num_chars)
        pieces.append(text)
    return "".join(pieces)


def _check_chars(num_chars: int) -> None:
    if num_chars > MAX_CHARS:
        _refuse("deed-text", count=MAX_CHARS)


def _check_items(num_items: int) -> None:
    if num_items > MAX_ITEMS:
        _refuse("deed-items", count=MAX_ITEMS)


def _check_bits(num_bits: int) -> None:
    if num_bits > MAX_INTEGER_BITS:
        _refuse("deed-number", count=MAX_INTEGER_BITS)


def _refuse(code: str, **values: str | int) -> NoReturn:
    raise TemplateError(Told("template-stopped", deed=Told(code, **values)), param="messages")


# Operators


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        _check_chars(len(left) + len(right))
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        _check_items(len(left) + len(right))
    return left + right


def _multiply(left: Any, right: Any) -> Any:
    for value, times in ((left, right), (right, left)):
        if isinstance(value, str | bytes) and isinstance(times, int):
            _check_chars(len(value) * times)
        elif isinstance(value, list | tuple) and isinstance(times, int):
            _check_items(len(value) * times)
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() * abs(right))
    return left**right


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        if re.search(r"%(\([^)]*\))?[^a-zA-Z%]*(\d{4}|\*)", left):
            _refuse("deed-pads")
        _check_chars(len(left) + left.count("%") * len(text_of(right)))
    return left % right


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": _add, "*": _multiply, "**": _power, "%": _modulo}


# Methods of values

_METHODS: dict[type, frozenset[str]] = {
    str: frozenset({
        "capitalize", "casefold", "count", "endswith", "find", "format", "format_map", "index", "isalnum", "isalpha",
        "isdigit", "islower", "isnumeric", "isspace", "isupper", "join", "lower", "lstrip", "partition",
        "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split",
        "splitlines", "startswith", "strip", "swapcase", "title", "upper",
    }),
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index"}),
}  # fmt: skip


def check_method(method: BuiltinMethodType, args: tuple[Any, ...]) -> None:
    """Refuse methods that nobody needs in a template, and results of the others that would be too large."""
    owner, name = method.__self__, method.__name__
    if not any(isinstance(owner, kind) and name in names for kind, names in _METHODS.items()):
        _refuse("deed-calls", name=f"{type(owner).__name__}.{name}()")
    if isinstance(owner, str):
        if name == "join" and args and isinstance(args[0], Collection):
            _check_chars(sum(len(text_of(value)) for value in args[0]) + len(owner) * len(args[0]))
        elif name == "replace" and len(args) >= 2:
            _check_replacement(owner, args[0], args[1])
        elif name in ("split", "rsplit") and args and args[0]:
            _check_items(owner.count(args[0]))


def check_format(text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """For `text.format(*args, **kwargs)`."""
    widths = [spec or "" for _, field, spec, _ in string.Formatter().parse(text) if field is not None]
    if any(re.search(r"\d{4}|\{", width) for width in widths):
        _refuse("deed-pads")
    _check_chars(len(text) + len(widths) * len(text_of((args, kwargs))))


def _check_replacement(text: str, old: str, new: str) -> None:
    _check_chars(len(text) + text.count(old) * max(0, len(new) - len(old)))


# Filters: Jinja's own where they cannot make much of little, ours in place of those that can


def _replace(text: Any, old: str, new: str, count: int | None = None) -> str:
    text = text_of(text)
    _check_replacement(text, old, new)
    return str(text.replace(old, new, -1 if count is None else count))


@pass_environment
def _join(environment: Environment, values: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        values = map(make_attrgetter(environment, attribute), values)
    texts = [text_of(value) for value in values]
    _check_chars(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _indent(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    margin = width if isinstance(width, str) else " " * min(width, MAX_INDENT)
    lines = text_of(text).splitlines()
    _check_chars(sum(map(len, lines)) + (len(margin) + 1) * len(lines))
    return "\n".join(margin + line if (line or blank) and (i or first) else line for i, line in enumerate(lines))


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON, as transformers has it: Jinja's own filter would escape <, > and & for HTML."""
    indent = None if indent is None else min(indent, MAX_INDENT)
    value = list(value) if isinstance(value, Iterator) else value       # of `map` and `select`
    return json.dumps(
        bounded(value), ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _format(pattern: Any, *args: Any, **kwargs: Any) -> Any:
    return _modulo(text_of(pattern), bounded(kwargs or args))


_HARMLESS_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select",
    "selectattr", "sort", "title", "trim", "unique", "upper", "wordcount",
)  # fmt: skip

FILTERS_FOR_TEMPLATES: dict[str, Callable[..., Any]] = {
    **{name: ticking(FILTERS[name]) for name in _HARMLESS_FILTERS},
    "format": ticking(_format),
    "indent": ticking(_indent),
    "join": ticking(_join),
    "replace": ticking(_replace),
    "safe": ticking(text_of),          # nothing is escaped here
    "string": ticking(text_of),
    "tojson": ticking(_tojson),
}
