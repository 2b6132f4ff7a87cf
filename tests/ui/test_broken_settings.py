"""What is stored and cannot be read, or does not fit any more, breaks no page: it counts as not set, until it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlmodel import Session
from structlog.testing import capture_logs

from app.services.download_rules import DownloadRules, RuleBook
from app.services.models import STARTER_ID
from app.services.prices import Costs
from app.services.setup import ChatSetup
from store.tables.columns import warn_of_unreadable
from tests.ui.conftest import Home, Person

BROKEN = (
    '{"', "", "nonsense", "7", "[1]", '"x"', "{}", '{"users": "many", "aliases": 7, "temperature": "hot"}', "NaN",
    "true", "[[]]", "[{}]", '[{"path": "x"}]',
)
OF_PEOPLE = ("theme", "language", "text_percent", "enter", "titles")
OF_THE_SYSTEM = (
    "downloads", "memory_budget_gib", "elsewhere", "model_updates", "model_updates_daily", "model_updates_looked_at",
    "hub_token", "memory_bandwidth", "gpu_bandwidth", "costs", "removed_models",
)
COLUMNS = (
    ("model", "settings"), ("model", "origin"), ("model", "template"), ("model", "files"), ("model", "adapters"),
    ("preset", "parameters"), ("conversation", "parameters"),
)


@pytest.fixture(autouse=True)
def not_warned_yet() -> Iterator[None]:
    warn_of_unreadable.cache_clear()
    yield
    warn_of_unreadable.cache_clear()


async def store(home: Home, user_id: str, stored: str) -> None:
    """In the place of everything that is JSON."""

    def write(session: Session) -> None:
        values = {"user": user_id, "stored": stored}
        for key in OF_PEOPLE:
            session.execute(text("REPLACE INTO user_setting VALUES (:user, :key, :stored)"), values | {"key": key})
        for key in OF_THE_SYSTEM:
            session.execute(text("REPLACE INTO system_setting VALUES (:key, :stored)"), values | {"key": key})
        for table, column in COLUMNS:
            session.execute(text(f"UPDATE {table} SET {column} = :stored"), values)

    await home.services.db.run(write)


@pytest.mark.parametrize("stored", BROKEN)
async def test_no_page_breaks_and_what_is_set_again_counts(home: Home, ada: Person, stored: str) -> None:
    services = home.services
    chat = await services.conversations.create(ada.id, title="Heating")
    preset = await services.presets.create(ada.id, "Brief", ChatSetup(parameters={"temperature": 0.2}))
    await store(home, ada.id, stored)
    with capture_logs() as logs:
        async with ada.http() as browser:
            for path in ("/", f"/c/{chat.id}", "/library", "/settings", "/models", f"/models/installed/{STARTER_ID}",
                         "/people", "/models/bench"):
                assert (await browser.get(path)).status_code == 200, path
    assert any(each["log_level"] == "warning" and "cannot be read" in each["event"] for each in logs)
    assert [each for each in logs if each["log_level"] == "error"] == []

    await services.accounts.set_setting(ada.id, "theme", "dark")
    await services.model_settings.set_memory_budget(4)
    await services.model_settings.change(STARTER_ID, {"users": 3})
    await services.presets.change(ada.id, preset.id, "Brief", ChatSetup(parameters={"temperature": 0.3}))
    await services.benchmarks.set_costs(Costs(watts=60))
    assert await services.accounts.get_setting(ada.id, "theme") == "dark"
    assert await services.model_settings.memory_budget_gib() == 4
    assert (await services.model_settings.of(STARTER_ID)).users == 3
    assert ChatSetup.of(await services.presets.get(ada.id, preset.id)).parameters == {"temperature": 0.3}
    assert await services.benchmarks.costs() == Costs(watts=60)
    sent = await services.chat.send(ada.id, chat.id, "What is the capital of France?")
    assert services.generations.get(sent.answer_id) is not None


@pytest.mark.parametrize("stored", [*BROKEN, '{"layout": "attic"}', '{"hours": "always"}', '{"bytes_per_s": -1}'])
async def test_rules_of_downloads_that_do_not_fit_are_those_of_the_settings(
    home: Home, ada: Person, stored: str
) -> None:
    await store(home, ada.id, stored)
    book = RuleBook(home.services.db, home.services.settings)
    await book.load()
    assert book.rules == DownloadRules()
    await book.change(DownloadRules(hours="22:00-06:00"))
    await book.load()
    assert book.rules.hours == "22:00-06:00"
