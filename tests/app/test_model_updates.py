"""Whether the hub has something newer: asked when somebody wants to know, and fetched beside what is here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from app.errors import Conflict, HubError, NotFound
from app.services.container import Services
from app.services.model_updates import FOUND, LOOKED_AT, ModelUpdates, Newness
from store import settings
from store.tables import DownloadState as State
from tests.app.command_line import Inglenook
from tests.app.hub import Hub
from tests.app.shop import REPO, Shop, tiny_model

NAME = "parrot-Q4_K_M.gguf"
MODEL = "parrot-q4_k_m"


@pytest_asyncio.fixture
async def shop(services: Services, hub: Hub) -> AsyncIterator[Shop]:
    """The parrot is downloaded."""
    hub.add(REPO, {NAME: tiny_model(), "README.md": b"# Parrot"}, tags=["gguf"])
    shop = Shop.open(services, hub)
    await shop.downloads.start()
    await _get(shop)
    yield shop
    await shop.close()


@pytest.fixture
def updates(shop: Shop) -> ModelUpdates:
    services = shop.services
    return ModelUpdates(services.db, shop.hub_service, services.models, services.changes)


async def _get(shop: Shop, wanted: str = "") -> None:
    asked = await shop.downloads.request(REPO, wanted)
    await shop.until(asked.id, lambda status: status.state is State.ON_DISK)


async def test_nothing_is_known_until_somebody_asks(shop: Shop, updates: ModelUpdates) -> None:
    model = await shop.services.models.find(MODEL)
    num_heard = len(shop.hub.heard("api"))
    assert await updates.known(model) is None
    assert not await updates.look_if_due()
    assert len(shop.hub.heard("api")) == num_heard
    assert (await updates.look(MODEL)).newness is Newness.NEWEST
    known = await updates.known(model)
    assert known is not None and known.newness is Newness.NEWEST


async def test_a_newer_file_is_told_fetched_beside_the_old_one_and_can_be_gone_back_from(
    shop: Shop, updates: ModelUpdates
) -> None:
    shop.hub.change(REPO, "README.md", b"# Parrot, with a longer card")
    assert (await updates.look(MODEL)).newness is Newness.NEWEST       # another text about the same file
    commit = shop.hub.change(REPO, NAME, tiny_model(2))
    update = await updates.look(MODEL)
    assert (update.newness, update.commit_sha, update.file) == (Newness.NEWER, commit, NAME)
    assert update.size_bytes == len(tiny_model(2))
    await _get(shop, update.file)
    model = await shop.services.models.find(MODEL)
    assert model.commit_sha == commit
    assert await updates.known(model) is None                           # it was found of another version
    assert (await updates.look(MODEL)).newness is Newness.NEWEST
    await shop.services.model_versions.roll_back(MODEL)
    assert (await updates.look(MODEL)).newness is Newness.HERE         # it lies beside


async def test_one_that_is_gone_or_was_never_there_is_told(shop: Shop, updates: ModelUpdates, tmp_path: Path) -> None:
    shop.hub.repos[REPO].files.pop(NAME)
    shop.hub.change(REPO, "parrot-Q8_0.gguf", tiny_model(1))
    assert (await updates.look(MODEL)).newness is Newness.GONE
    with pytest.raises(Conflict, match="not downloaded from the hub"):
        await updates.look("parrot")
    del shop.hub.repos[REPO]
    with pytest.raises((NotFound, HubError)):
        await updates.look(MODEL)


async def test_once_a_day_it_asks_by_itself_only_where_that_is_wanted(shop: Shop, updates: ModelUpdates) -> None:
    await updates.set_looks_daily(True)
    assert await updates.look_if_due()
    assert not await updates.look_if_due()
    yesterday = datetime.now(UTC) - timedelta(hours=25)
    await shop.services.db.run(settings.set_of_system, LOOKED_AT, yesterday.isoformat())
    shop.hub.change(REPO, NAME, tiny_model(2))
    found = asyncio.Event()
    unwatch = shop.services.changes.watch(None, lambda _change: found.set())
    looking = asyncio.create_task(updates.keep_looking())
    async with asyncio.timeout(60):
        await found.wait()
    unwatch()
    known = await updates.known(await shop.services.models.find(MODEL))
    assert known is not None and known.newness is Newness.NEWER
    looking.cancel()
    await asyncio.wait({looking})
    shop.hub.faults.api_status = 500
    await shop.services.db.run(settings.set_of_system, LOOKED_AT, yesterday.isoformat())
    for _ in range(2):                  # what failed is due still
        with pytest.raises(HubError):
            await updates.look_if_due()


async def test_what_another_version_has_stored_is_as_nothing(shop: Shop, updates: ModelUpdates) -> None:
    model = await shop.services.models.find(MODEL)
    for odd in ({"newness": "best"}, {"newness": "newer", "more": 1}):
        await shop.services.db.run(settings.set_of_system, FOUND, {MODEL: odd})
        assert await updates.known(model) is None


class TestCommands:
    @pytest.fixture
    def birds(self, hub: Hub, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.add(REPO, {NAME: tiny_model()}, tags=["gguf"])
        return hub

    def test_updates_are_listed_with_the_command_that_gets_each(self, inglenook: Inglenook, birds: Hub) -> None:
        assert inglenook("models", "updates").out == "No model here came from the hub.\n"
        assert inglenook("models", "pull", REPO).exit_code == 0
        assert inglenook("models", "updates").out.splitlines()[1].split() == [MODEL, "newest"]
        commit = birds.change(REPO, NAME, tiny_model(2))
        line = inglenook("models", "updates", MODEL).out.splitlines()[1]
        assert line.split(maxsplit=1)[1].startswith(f"newer: {commit[:8]}, 0.4 MiB")
        *_, command = line.partition("inglenook ")
        assert inglenook(*command.split()).exit_code == 0
        assert inglenook("models", "updates").out.splitlines()[1].split() == [MODEL, "newest"]
        birds.close()
        offline = inglenook("models", "updates")
        assert (offline.exit_code, "cannot be reached" in offline.err) == (1, True)

    def test_asking_once_a_day_is_off_until_it_is_switched_on(self, inglenook: Inglenook, data_dir: Path) -> None:
        assert inglenook("models", "updates", "--daily").out == "A server asks the hub once a day.\n"
        assert "only when somebody" in inglenook("models", "updates", "--no-daily").out

    def test_rules_are_shown_and_said(self, inglenook: Inglenook, data_dir: Path) -> None:
        assert inglenook("models", "rules").out.splitlines()[:2] == ["Limit   none", "Hours   always"]
        said = inglenook("models", "rules", "--limit", "2.5", "--hours", "22:00-06:00", "--place", "shared").out
        assert said.splitlines()[:2] == ["Limit   2.5 MiB/s", "Hours   22:00-06:00"]
        assert inglenook("models", "rules").out == said
        assert inglenook("models", "rules", "--limit", "none", "--hours", "always", "--place", "own").exit_code == 0
        assert inglenook("models", "rules", "--hours", "at night").exit_code == 1
        assert inglenook("models", "rules", "--limit", "fast").exit_code == 2
