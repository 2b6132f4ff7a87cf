"""A data folder that was moved, or copied to another machine, brings its models along."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from engine.lora import Adapter
from store import models
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_lora import random_factors, write_tiny_adapter

BEFORE, AFTER = "data", "張 庭 綱/Ünï🙂"


def opened(folder: Path) -> Services:
    return Services.open(Settings(data_dir=folder), load_engine)


async def stock(folder: Path, outside: Path) -> tuple[str, str]:
    """A model with an older version and one with an adapter in the data folder; one, the other's base, elsewhere."""
    own = folder / "models"
    own.mkdir(parents=True)
    services = opened(folder)
    model = await services.models.add(write_tiny_gguf(own / "first.gguf"))
    await services.model_versions.update(model.id, write_tiny_gguf(own / "second.gguf", seed=2))
    adapter = write_tiny_adapter(own / "adapter.gguf", random_factors(1))
    adapted = await services.models.add(write_tiny_gguf(outside), adapters=[Adapter(adapter)])
    services.close()
    return model.id, adapted.id


async def paths_of(services: Services, model_id: str) -> set[str]:
    versions = [each.facts for each in await services.db.read(models.versions, model_id)]
    rows = [models.facts_of(await services.models.find(model_id)), *versions]
    return {facts["path"] for facts in rows} | {each["path"] for facts in rows for each in facts["adapters"]}


@pytest.mark.parametrize("put", [shutil.move, shutil.copytree])
async def test_models_in_it_are_found_in_its_new_place(tmp_path: Path, put: object) -> None:
    before, after, outside = tmp_path / BEFORE, tmp_path / AFTER, tmp_path / "base.gguf"
    model_id, adapted_id = await stock(before, outside)
    after.parent.mkdir()
    assert callable(put)
    put(before, after)
    services = opened(after)
    assert await paths_of(services, model_id) == {str(after / "models" / f"{n}.gguf") for n in ("first", "second")}
    assert await paths_of(services, adapted_id) == {str(outside), str(after / "models" / "adapter.gguf")}
    assert [entry.problem for entry in await services.models.list()] == ["", ""]
    await services.model_versions.roll_back(model_id)
    assert (await services.models.find(model_id)).path == str(after / "models" / "first.gguf")
    services.close()


async def test_what_did_not_come_along_is_looked_for_where_it_was(tmp_path: Path) -> None:
    before, after = tmp_path / BEFORE, tmp_path / AFTER
    model_id, _ = await stock(before, tmp_path / "base.gguf")
    after.mkdir(parents=True)
    shutil.copy2(before / "inglenook.sqlite3", after)
    services = opened(after)
    assert await paths_of(services, model_id) == {str(before / "models" / f"{n}.gguf") for n in ("first", "second")}
    services.close()
