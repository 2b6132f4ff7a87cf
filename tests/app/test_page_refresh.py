"""Pages of one Inglenook are brought up to date, whatever became of another one in the same process."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path

from app.services.changes import Change
from app.settings import Settings
from tests.app.house import House, Person
from tests.ui.conftest import home_with


def test_a_page_is_refreshed_on_its_own_loop(
    house: House, admin: Person, tmp_path: Path, new_database_file: Path
) -> None:
    """NiceGUI knows one loop, that of the app that began last; here that one has ended."""
    with admin.browser() as browser:
        assert browser.get("/").status_code == 200

    async def another() -> None:
        async with home_with(Settings(data_dir=tmp_path / "data"), new_database_file):
            pass

    asyncio.run(another())

    async def change() -> set[str]:
        loop = asyncio.get_running_loop()
        house.services.changes.announce_all(Change("models"))
        await asyncio.sleep(0)
        return {each.get_name() for each in asyncio.all_tasks(loop)}

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = house.do(change())
        gc.collect()
    assert "refresh chat page" in names
    assert not [each for each in caught if "never awaited" in str(each.message)]
