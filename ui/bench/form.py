"""What is to be measured: one model or two, on which questions, how often. On the Measure page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nicegui.element import Element

from app.errors import InvalidInput
from app.language import Said
from app.services.bench_prompts import Prompts, prompts_in
from app.services.bench_status import MAX_TOKENS, NUM_REPETITIONS, BenchWish
from app.services.container import Services
from store.tables import Model
from ui.components.choice import Choice
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.native import SelectField, TextField
from ui.language import FORESEEN, t, told
from ui.words import model_label

OWN, TYPED = "own", "typed"


class BenchForm:
    """Of one open page. `models`: those that write; one of them at least."""

    def __init__(
        self, services: Services, user_id: str, models: Sequence[Model], model_id: str, against: str, own: Prompts
    ) -> None:
        self._services = services
        self._user_id = user_id
        self._source = OWN
        self._is_own = own.source == "own"
        self._elsewhere = {each.id for each in models if each.is_elsewhere}
        self._problems: dict[str, Element] = {}
        with tag("form", "nk-card nk-settings").on("submit.prevent", self._start, args=[]):
            with tag("div", "nk-settings-grid"):
                self._ask_for_models({each.id: model_label(each) for each in models}, model_id, against)
                self._ask_for_questions(len(own.texts))
            with tag("div") as self._typed_place:
                self._typed = TextField(t("bench-typed-label"), hint=t("bench-typed-about"), rows=5)
            self._typed_place.set_visibility(False)
            with tag("div", "nk-settings-grid"):
                self._ask_for_numbers()
            self._problems["prompts"] = self._typed.problem
            self._problem = tag("div")
            self._show_hints()
            with tag("div", "nk-row nk-settings-end"):
                self._button = button(t("bench-start"), "nk-btn-primary", icon_name="gauge", kind="submit")
                tag("p", "nk-hint nk-bench-promise", t("bench-promise"))

    def _ask_for_models(self, names: dict[str, str], model_id: str, against: str) -> None:
        self._model = self._select("models", t("bench-model"), names, model_id)
        self._against: SelectField | None = None
        if len(names) > 1:
            self._against = self._select("against", t("bench-against"), {"": t("bench-alone")} | names, against)

    def _ask_for_questions(self, num_own: int) -> None:
        with tag("div", "nk-field"):
            tag("span", "nk-lab", t("bench-questions"))
            own = t("bench-yours" if self._is_own else "bench-ours", count=num_own)
            Choice(t("bench-questions"), {OWN: own, TYPED: t("bench-typed")}, OWN, self._choose)
            self._own_hint = tag("p", "nk-hint", t("bench-yours-about" if self._is_own else "bench-ours-about"))
            self._leaving_hint = tag("p", "nk-hint", t("bench-leaving"))

    def _ask_for_numbers(self) -> None:
        self._levels = TextField(
            t("bench-levels"), hint=t("bench-levels-about"), placeholder=t("bench-levels-auto")
        )
        self._tokens = TextField(t("bench-tokens"), str(MAX_TOKENS), hint=t("bench-tokens-about"), input_mode="numeric")
        self._repetitions = TextField(
            t("bench-times-each"), str(NUM_REPETITIONS), hint=t("bench-times-about"), input_mode="numeric"
        )
        self._problems |= {
            "levels": self._levels.problem, "max_tokens": self._tokens.problem, "repetitions": self._repetitions.problem
        }

    def show(self, *, is_running: bool) -> None:
        if bool(self._button.props.get("aria-disabled")) != is_running:
            if is_running:
                self._button.props["aria-disabled"] = "true"
            else:
                del self._button.props["aria-disabled"]

    def _select(self, name: str, label: str, names: dict[str, str], chosen: str) -> SelectField:
        async def choose(_chosen: str) -> None:
            show_problem(self._problems[name], None)
            self._show_hints()

        with tag("div"):
            field = SelectField(label, names, chosen if chosen in names else next(iter(names)), choose)
            self._problems[name] = tag("div")
        return field

    async def _choose(self, source: str) -> None:
        self._source = source
        self._typed_place.set_visibility(source == TYPED)
        self._show_hints()

    def _show_hints(self) -> None:
        """Which questions are asked, and that those of one's chats go nowhere."""
        leaves = not self._elsewhere.isdisjoint({self._model.value, self._against.value if self._against else ""})
        self._leaving_hint.set_visibility(leaves)
        self._own_hint.set_visibility(self._source == OWN and not leaves)

    async def _start(self) -> None:
        for place in (*self._problems.values(), self._problem):
            show_problem(place, None)
        try:
            await self._services.benchmarks.start(await self._wish())
        except FORESEEN as error:
            field = error.field if isinstance(error, InvalidInput) else None
            show_problem(self._problems.get(field or "", self._problem), told(error))

    async def _wish(self) -> BenchWish:
        """Raises InvalidInput for what is no number."""
        against = self._against.value if self._against is not None else ""
        prompts = (
            Prompts(prompts_in(self._typed.value), "given") if self._source == TYPED
            else await self._services.benchmarks.own_prompts(self._user_id)
        )
        return BenchWish(
            model_ids=(self._model.value, *([against] if against else [])),
            prompts=prompts,
            levels=_numbers(self._levels.value, "levels"),
            max_tokens=_number(self._tokens.value, MAX_TOKENS, "max_tokens"),
            repetitions=_number(self._repetitions.value, NUM_REPETITIONS, "repetitions"),
        )


def _numbers(text: str, field: str) -> tuple[int, ...]:
    parts = [each for each in re.split(r"[\s,;]+", text) if each]
    if not all(re.fullmatch(r"\d{1,6}", each) for each in parts):
        raise InvalidInput(Said("bench-no-numbers"), field=field)
    return tuple(int(each) for each in parts)


def _number(text: str, default: int, field: str) -> int:
    numbers = _numbers(text, field)
    if len(numbers) > 1:
        raise InvalidInput(Said("bench-no-numbers"), field=field)
    return numbers[0] if numbers else default
