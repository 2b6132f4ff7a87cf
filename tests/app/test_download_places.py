"""A download goes on, and is given up, where it was begun: whatever the settings say by then."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.services.container import Services
from app.services.downloads import DownloadRules
from store.tables import DownloadState as State
from tests.app.hub import Hub
from tests.app.shop import REPO, Shop, tiny_model

NAME = "parrot-Q4_K_M.gguf"


@pytest_asyncio.fixture
async def begun(services: Services, hub: Hub, tmp_path: Path) -> AsyncIterator[str]:
    """Paused in the shared cache, half-way, by a process that has ended."""
    hub.add(REPO, {NAME: tiny_model()}, tags=["gguf"])
    shop = Shop.open(services, hub, hub_cache_dir=tmp_path / "old", data_dir=tmp_path / "data")
    await shop.downloads.start()
    await shop.downloads.set_rules(DownloadRules(layout="shared"))
    hub.hold(NAME, 1000)
    asked = await shop.downloads.request(REPO)
    await shop.held(asked.id)
    await shop.downloads.pause(asked.id)
    await shop.close()
    hub.release()
    yield asked.id


def parts_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if ".part" in path.name]


@pytest.mark.parametrize("moves_data", [False, True])
@pytest.mark.parametrize("gives_up", [False, True])
async def test_no_part_stays_behind(
    services: Services, hub: Hub, tmp_path: Path, begun: str, moves_data: bool, gives_up: bool
) -> None:
    assert parts_in(tmp_path / "old")
    data = tmp_path / "data"
    if moves_data:
        data = Path(shutil.move(data, tmp_path / "moved"))
    cache = tmp_path / ("old" if moves_data else "new")
    shop = Shop.open(services, hub, hub_cache_dir=cache, data_dir=data)
    await shop.downloads.start()
    assert shop.downloads.get(begun).done_bytes > 0
    if gives_up:
        await shop.downloads.cancel(begun)
    else:
        await shop.downloads.resume(begun)
        assert (await shop.until(begun, lambda each: each.state in (State.ON_DISK, State.FAILED))).reason == ""
    await shop.close()
    assert parts_in(tmp_path) == []


async def test_a_copy_of_the_data_folder_has_parts_of_its_own(
    services: Services, hub: Hub, tmp_path: Path, begun: str
) -> None:
    (tmp_path / "data" / "models").mkdir(parents=True, exist_ok=True)
    shop = Shop.open(services, hub, hub_cache_dir=tmp_path / "old", data_dir=tmp_path / "copy")
    await shop.downloads.start()
    await shop.downloads.cancel(begun)
    await shop.close()
    assert parts_in(tmp_path / "old")
