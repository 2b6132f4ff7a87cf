"""What the machine costs, as typed in, and what follows for a million tokens. On the Measure page; the same for all
admins.
"""

from __future__ import annotations

import re

from app.services import prices
from app.services.bench_history import levels_of
from app.services.container import Services
from app.services.prices import Costs, best_level
from store.tables import Benchmark
from ui.bench.words import name_of
from ui.components.dialog import show_problem
from ui.components.elements import icon, tag
from ui.components.native import TextField
from ui.language import FORESEEN, in_words, t, told
from ui.words import number

FIELDS = ("watts", "kwh_price", "rent_per_hour", "per_month", "api_price")


class MoneyCard:
    """Each amount is kept as soon as its field is left."""

    def __init__(self, services: Services, costs: Costs) -> None:
        self._services = services
        self._costs = costs
        self._fields: dict[str, TextField] = {}
        self._shown: tuple[object, ...] | None = None
        with tag("div", "nk-card nk-settings"):
            with tag("div", "nk-settings-grid nk-bench-money"):
                for name in FIELDS:
                    amount = getattr(costs, name)
                    self._fields[name] = TextField(
                        t(f"cost-{name.replace('_', '-')}"), number(amount, None) if amount else "",
                        hint=t(f"cost-{name.replace('_', '-')}-about"), placeholder="0", input_mode="decimal",
                    )
                    self._fields[name].element.on("change", self._save, args=[])
            self._problem = tag("div")
            self._sentences = tag("div", "nk-bench-sentences", role="status")

    def show(self, costs: Costs, rows: tuple[Benchmark, ...]) -> None:
        """What was typed in another tab stays there until this page is opened anew."""
        self._costs = costs
        due = (costs, *(row.id for row in rows))
        if due == self._shown:
            return
        self._shown = due
        self._sentences.clear()
        with self._sentences:
            if not costs.is_known:
                tag("p", "nk-hint", t("cost-unknown"))
            elif not rows:
                tag("p", "nk-hint", t("cost-unmeasured"))
            else:
                for row in rows:
                    _sentences(row, costs, names=len(rows) > 1)

    async def _save(self) -> None:
        values: dict[str, float] = {}
        for name, field in self._fields.items():
            amount = amount_in(field.value)
            show_problem(field.problem, t("bench-costs-wrong") if amount is None else None)
            values[name] = getattr(self._costs, name) if amount is None else amount
        try:
            costs = Costs(**values)
        except ValueError as error:
            show_problem(self._fields[str(error)].problem, t("bench-costs-wrong"))
            return
        show_problem(self._problem, None)
        if costs != self._costs:
            try:
                await self._services.benchmarks.set_costs(costs)
            except FORESEEN as error:
                show_problem(self._problem, told(error))


def _sentences(row: Benchmark, costs: Costs, *, names: bool) -> None:
    speeds = {level.concurrency: level.tokens_per_s.median for level in levels_of(row)}
    best = best_level(speeds)
    with tag("div", "nk-bench-sentence"):
        icon("scale")
        with tag("p"):
            if names:
                tag("b", "", f"{name_of(row)}. ")
            for sentence in prices.told(costs, speeds[best], best, number):
                tag("span", "", f"{in_words(sentence)} ")


def amount_in(text: str) -> float | None:
    """"0,32", "1 200", "20.5"; "" is 0. None for what is no amount."""
    plain = re.sub(r"[\s\u202f\u00a0'€$£]", "", text)
    if not plain:
        return 0.0
    return float(plain.replace(",", ".")) if re.fullmatch(r"\d{1,9}([.,]\d{0,6})?", plain) else None
