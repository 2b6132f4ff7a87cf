"""What holds for all models: the memory that they may take together; how downloads may run, and where to; whether the
hub is asked for newer versions. A part of the settings page that admins have. On the event loop.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from app.errors import InvalidInput
from app.language import Said
from app.services.container import Services
from engine.sizes import MIB
from ui.components.choice import Choice
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.native import Switch, TextField
from ui.components.text import live, put
from ui.language import FORESEEN, t, told
from ui.models.settings_form import decimal_in
from ui.words import exact, folder

LAYOUTS = ("own", "shared")


class ModelRulesForm:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def build(self) -> None:
        """Into the slot that is open when it is called."""
        rules = self._services.downloads.rules
        self._layout: str = rules.layout
        with tag("form", "nk-settings").on("submit.prevent", self._save, args=[]):
            with tag("div", "nk-settings-grid"):
                gib = await self._services.model_settings.memory_budget_gib()
                self._budget = TextField(
                    t("rules-budget"), "" if gib is None else exact(gib), hint=t("rules-budget-about"),
                    placeholder=t("rules-no-budget"), input_mode="decimal",
                )
                shown = "" if rules.bytes_per_s is None else exact(rules.bytes_per_s / MIB)
                self._limit = TextField(
                    t("rules-limit"), shown, hint=t("rules-limit-about"), placeholder=t("rules-no-limit"),
                    input_mode="decimal",
                )
                self._hours = TextField(
                    t("rules-hours"), rules.hours, hint=t("rules-hours-about"), placeholder=t("rules-always")
                )
                with tag("div", "nk-field"):
                    tag("span", "nk-lab", t("rules-place"))
                    Choice(t("rules-place"), {each: t(f"rules-{each}") for each in LAYOUTS}, rules.layout, self._choose)
                    folders = t(
                        "rules-place-about", own=folder(self._services.settings.models_dir),
                        shared=folder(self._services.settings.hub_cache_dir),
                    )
                    tag("p", "nk-hint nk-break", folders)
            self._daily = Switch(
                t("rules-daily"), t("rules-daily-about"), is_on=await self._services.model_updates.looks_daily()
            )
            self._problem = tag("div")
            with tag("div", "nk-row nk-settings-end"):
                button(t("setting-save"), "nk-btn-quiet", kind="submit")
                self._done = live("span", "nk-done", role="status")
        self._shown = self._entered()           # as it was made, or saved last

    async def _choose(self, layout: str) -> None:
        self._layout = layout

    async def _save(self) -> None:
        places = {"gib": self._budget.problem, "limit": self._limit.problem, "hours": self._hours.problem}
        for place in (*places.values(), self._problem):
            show_problem(place, None)
        put(self._done, "")
        try:
            if self._budget.value != self._shown["gib"]:
                await self._services.model_settings.set_memory_budget(self._gib())      # else what a flag says stays
            if changes := self._changed_rules():
                await self._services.downloads.set_rules(replace(self._services.downloads.rules, **changes))
            if self._daily.is_on != self._shown["daily"]:
                await self._services.model_updates.set_looks_daily(self._daily.is_on)
        except FORESEEN as error:
            wrong = error.field if isinstance(error, InvalidInput) else None
            show_problem(places.get(wrong or "", self._problem), told(error))
            return
        self._shown = self._entered()
        put(self._done, t("setting-saved"))

    def _entered(self) -> dict[str, Any]:
        return {
            "gib": self._budget.value, "limit": self._limit.value, "hours": self._hours.value, "layout": self._layout,
            "daily": self._daily.is_on,
        }

    def _changed_rules(self) -> dict[str, Any]:
        """What was not touched stays as it is by now: another may have changed it, and it may be shown rounded."""
        changes: dict[str, Any] = {}
        if self._limit.value != self._shown["limit"]:
            changes["bytes_per_s"] = self._bytes_per_s()
        if self._hours.value != self._shown["hours"]:
            changes["hours"] = _hours(self._hours.value)
        if self._layout != self._shown["layout"]:
            changes["layout"] = self._layout
        return changes

    def _gib(self) -> float | None:
        """What is no number goes as it is: the service says what it wants."""
        return decimal_in(self._budget.value)        # type: ignore[return-value]

    def _bytes_per_s(self) -> int | None:
        mib = decimal_in(self._limit.value)
        if mib is None:
            return None
        if isinstance(mib, str) or mib <= 0:
            raise InvalidInput(Said("rules-limit-wrong"), field="limit")
        return round(mib * MIB)


def _hours(text: str) -> str:
    """"22-6", "22:00 – 6:00" and the like as the rule is written; what is neither is refused by it."""
    found = re.fullmatch(r"\s*(\d{1,2})(?::(\d\d))?\s*[-–—]\s*(\d{1,2})(?::(\d\d))?\s*", text)
    if found is None:
        return text.strip()
    start, start_min, end, end_min = found.groups(default="00")
    return f"{start:0>2}:{start_min}-{end:0>2}:{end_min}"
