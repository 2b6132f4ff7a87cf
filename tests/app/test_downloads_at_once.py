"""Downloads that several people act on in the same moment, or several models share: no act costs another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.errors import Conflict, InvalidInput, NotFound
from app.services.container import Services
from app.services.downloads import DownloadRules
from store.tables import DownloadState as State
from tests.app.hub import Hub
from tests.app.shop import REPO, Shop, tiny_model
from tests.engine.tiny_safetensors import content_of, header_of

NAME, OTHER = "parrot-Q4_K_M.gguf", "parrot-Q8_0.gguf"
BIG = tiny_model()
WEIGHTS = content_of(header_of({"a": ("F32", [600], 2400)}), 2400)
SHARING = {             # two models that have what lies beside their weights in common
    "model.safetensors": WEIGHTS, "other.safetensors": content_of(header_of({"b": ("F32", [400], 1600)}), 1600),
    "config.json": b"{}", "tokenizer.json": b"{" + b" " * 200_000 + b"}",
}


@pytest_asyncio.fixture
async def shop(services: Services, hub: Hub, tmp_path: Path) -> AsyncIterator[Shop]:
    hub.add(REPO, {NAME: BIG, OTHER: tiny_model(1)}, tags=["gguf"])
    hub.add("birds/Two", SHARING)
    shop = Shop.open(services, hub, hub_cache_dir=tmp_path / "cache")
    await shop.downloads.start()
    yield shop
    hub.release()
    await shop.close()


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and "inglenook.sqlite3" not in path.name}


async def ends_well(shop: Shop, wanted: str) -> None:
    asked = await shop.downloads.request(REPO, wanted)
    done = await shop.until(asked.id, lambda status: status.state in (State.ON_DISK, State.FAILED))
    assert (done.state, done.reason) == (State.ON_DISK, "")


async def test_one_admin_gives_up_what_another_resumes(shop: Shop) -> None:
    shop.hub.hold(NAME, 1000)
    asked = await shop.downloads.request(REPO)
    await shop.held(asked.id)
    await shop.downloads.pause(asked.id)
    cancelled, resumed = await asyncio.gather(
        shop.downloads.cancel(asked.id), shop.downloads.resume(asked.id), return_exceptions=True
    )
    assert cancelled is None and isinstance(resumed, NotFound) and shop.downloads.list() == []
    shop.hub.release()
    await ends_well(shop, OTHER)
    assert not any(name.startswith(NAME) for name in files_in(shop.services.settings.models_dir))


async def test_one_admin_resumes_what_another_gives_up(shop: Shop) -> None:
    shop.hub.hold(NAME, 1000)
    asked = await shop.downloads.request(REPO)
    await shop.held(asked.id)
    await shop.downloads.pause(asked.id)
    await asyncio.gather(shop.downloads.resume(asked.id), shop.downloads.cancel(asked.id))
    assert shop.downloads.list() == []
    shop.hub.release()
    await ends_well(shop, OTHER)
    assert not any(name.startswith(NAME) for name in files_in(shop.services.settings.models_dir))


@pytest.mark.parametrize("is_paused", [False, True])
async def test_an_update_on_its_way_goes_with_its_model(shop: Shop, is_paused: bool) -> None:
    await ends_well(shop, NAME)
    shop.hub.change(REPO, NAME, tiny_model(5))
    shop.hub.hold(NAME, len(BIG) + 1000)
    update = await shop.downloads.request(REPO, NAME)
    await shop.held(update.id)
    if is_paused:
        await shop.downloads.pause(update.id)
    await shop.downloads._models.remove("parrot-q4_k_m")        # the shop's own, which tells its downloads
    assert shop.downloads.list() == [] and files_in(shop.services.settings.models_dir) == set()
    shop.hub.release()
    await ends_well(shop, OTHER)
    assert {entry.model.id for entry in await shop.services.models.list()} == {"parrot", "parrot-q8_0"}


@pytest.mark.parametrize("layout", ["own", "shared"])
async def test_giving_up_one_keeps_what_another_is_bringing_of_the_same_files(
    shop: Shop, tmp_path: Path, layout: Any
) -> None:
    await shop.downloads.set_rules(DownloadRules(layout=layout))
    shop.hub.hold("tokenizer.json", 1000)
    runs = await shop.downloads.request("birds/Two", "model.safetensors", anyway=True)
    await shop.held(runs.id, len(WEIGHTS) + 3)
    waits = await shop.downloads.request("birds/Two", "other.safetensors", anyway=True)
    before = files_in(tmp_path)
    await shop.downloads.cancel(waits.id)
    assert before <= files_in(tmp_path)
    await shop.downloads.cancel(runs.id)
    assert not any(".part" in name for name in files_in(tmp_path))


async def test_a_limit_that_came_as_a_text_is_a_number(shop: Shop) -> None:
    await shop.downloads.set_rules(DownloadRules(**asdict(shop.downloads.rules) | {"bytes_per_s": "2000000000"}))
    assert shop.downloads.rules.bytes_per_s == 2_000_000_000
    await ends_well(shop, NAME)


async def test_a_limit_beyond_all_reason_is_refused(shop: Shop) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await shop.downloads.set_rules(DownloadRules(bytes_per_s=10**400))
    await ends_well(shop, NAME)


async def test_two_admins_change_two_rules(shop: Shop) -> None:
    async def change(**changes: Any) -> None:
        await shop.downloads.set_rules(replace(shop.downloads.rules, **changes))

    await asyncio.gather(change(hours="22:00-06:00"), change(bytes_per_s=4096))
    assert shop.downloads.rules == DownloadRules(hours="22:00-06:00", bytes_per_s=4096)


async def test_what_cannot_be_removed_is_told_and_the_download_stays(shop: Shop) -> None:
    commit = shop.hub.repos[REPO].commit[:12]
    in_the_way = shop.services.settings.models_dir / "birds" / "Parrot-GGUF" / commit / f"{NAME}.part"
    in_the_way.mkdir(parents=True)
    asked = await shop.downloads.request(REPO, NAME)
    await shop.until(asked.id, lambda status: status.state is State.FAILED)
    with pytest.raises(Conflict, match=r"cannot be removed.*Is a directory"):
        await shop.downloads.cancel(asked.id)
    assert [each.id for each in shop.downloads.list()] == [asked.id]
    in_the_way.rmdir()
    await shop.downloads.cancel(asked.id)
    assert shop.downloads.list() == []


async def test_nothing_stays_of_files_that_came_whole_and_are_no_model(shop: Shop) -> None:
    """All are checked and in their places before anybody can see that they cannot be used."""
    shop.hub.add("birds/Broken", {"broken-Q4_0.gguf": b"GGUF" + bytes(5000)}, tags=["gguf"])
    asked = await shop.downloads.request("birds/Broken")
    failed = await shop.until(asked.id, lambda status: status.state is State.FAILED)
    assert failed.done_bytes == failed.total_bytes
    assert "broken-Q4_0.gguf" in files_in(shop.services.settings.models_dir)
    await shop.downloads.cancel(asked.id)
    assert files_in(shop.services.settings.models_dir) == set()


async def test_giving_up_what_is_a_model_by_now_keeps_its_files(shop: Shop) -> None:
    """As where the process was killed after it had become one, and before that was noted."""
    await ends_well(shop, NAME)
    (row,) = shop.downloads._queue.rows.values()
    await shop.downloads._queue.change(row, state=State.PAUSED)
    await shop.downloads.cancel(row.id)
    problems = {entry.model.id: entry.problem for entry in await shop.services.models.list()}
    assert problems["parrot-q4_k_m"] == "" and NAME in files_in(shop.services.settings.models_dir)
