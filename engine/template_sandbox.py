"""A Jinja environment in which a stranger's chat template can compute and print, and nothing else: it reaches no Python
object, works for no more than a second and builds no large value. `engine.chat_template` uses it, on any thread.

A running template cannot be interrupted from outside, so it is metered from inside: each turn of a loop and each macro,
call, filter, test and guarded operator first looks at the clock (`engine.template_limits`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinMethodType
from typing import Any

from jinja2 import Template, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from engine.template_limits import (
    FILTERS_FOR_TEMPLATES,
    MAX_CPU_S,
    OPERATORS,
    bounded,
    check_format,
    check_method,
    deadline_s,
    join_texts,
    text_of,
    tick,
    ticking,
)


@contextmanager
def metered() -> Iterator[None]:
    """Templates are compiled and rendered inside this. CPU time counts: a busy machine is no template's fault."""
    token = deadline_s.set(time.thread_time() + MAX_CPU_S)
    try:
        yield
    finally:
        deadline_s.reset(token)


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """As transformers sets Jinja up for chat templates, with meters. What it stops is a TemplateError."""

    intercepted_binops = frozenset(OPERATORS)

    # For the nodes that `_Meter` inserts, and for Jinja, which joins all captured text by `concat`.
    tick = staticmethod(tick)
    bounded = staticmethod(bounded)
    concat = staticmethod(join_texts)

    def __init__(self, **functions: Callable[..., Any]) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols], finalize=text_of
        )
        self.globals = {"range": self.globals["range"], "namespace": Namespace, "dict": _dict, **functions}
        self.filters = dict(FILTERS_FOR_TEMPLATES)
        self.tests = {name: ticking(test) for name, test in TESTS.items()}
        self.binop_table |= OPERATORS

    def template(self, source: str) -> Template:
        """Raises jinja2.TemplateSyntaxError."""
        code = self.compile(_Meter().visit(self.parse(source)))
        return Template.from_code(self, code, self.globals)

    def join_values(self, *values: Any) -> str:
        return join_texts(map(text_of, values))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        tick()
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        tick()
        if isinstance(__obj, BuiltinMethodType):
            check_method(__obj, args)
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        format_safely = super().wrap_str_format(value)
        if format_safely is None:
            return None

        def format_bounded(*args: Any, **kwargs: Any) -> str:
            check_format(value.__self__, args, kwargs)
            return format_safely(*args, **kwargs)

        return format_bounded


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}` marks an answer for training; here it is only what stands inside."""

    tags = {"generation"}      # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Meter(NodeTransformer):
    """Inserts a tick where a template can repeat itself, and a check where it can build one value out of others."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_call("tick")))
        if node.test is not None:
            node.test = nodes.And(nodes.Not(_call("tick")), node.test)      # tick() gives None
        return node

    def visit_Macro(self, node: nodes.Macro | nodes.CallBlock | nodes.Block) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_call("tick")))
        return node

    visit_CallBlock = visit_Block = visit_Macro

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        return _call("join_values", *node.nodes)

    def visit_List(self, node: nodes.List | nodes.Dict) -> nodes.Expr:
        self.generic_visit(node)
        return _call("bounded", node)

    visit_Dict = visit_List

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:
        self.generic_visit(node)
        return _call("bounded", node) if node.ctx == "load" else node

    def visit_Name(self, node: nodes.Name) -> nodes.Expr:
        return _call("bounded", node) if node.ctx == "load" and node.name in ("varargs", "kwargs") else node


def _call(method: str, *args: nodes.Expr) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(method), list(args), [], None, None)


def _dict(*args: Any, **kwargs: Any) -> Any:
    return bounded(dict(*args, **kwargs))
