"""What a running server does unasked: it loads the first model, and removes what was deleted long ago."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.services import container
from app.services.container import Services
from app.services.conversations import ConversationService
from app.services.engines import ModelState
from app.services.first_model import FirstModel
from app.services.model_facts import describe
from app.settings import Settings
from engine.engine import Engine
from engine.load import LoadLimits, ModelSpec, load_engine
from store.errors import DatabaseUnusable
from store.tables import Model
from tests.app.house import until
from tests.engine.tiny_gguf import write_tiny_gguf


def starting_with(services: Services, model: Path | str) -> Services:
    settings = services.settings.model_copy(update={"model": str(model)})
    return replace(services, settings=settings, first_model=FirstModel(services.models, settings))


async def never_loaded(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
    await asyncio.Event().wait()
    raise AssertionError


async def test_stopping_while_the_first_model_loads_is_nothing_to_warn_of(services: Services) -> None:
    services.engines.loader = never_loaded
    with capture_logs() as logs:
        loading = asyncio.create_task(services.preload())
        await until(lambda: services.engines.status("parrot").state is ModelState.LOADING)
        await services.stop()
        await loading
    assert [entry for entry in logs if entry["log_level"] != "info"] == []


async def test_a_first_model_that_is_not_there_is_said_once(services: Services) -> None:
    with capture_logs() as logs:
        await starting_with(services, "unicorn").preload()
    assert [entry["model"] for entry in logs if entry["log_level"] == "warning"] == ["unicorn"]


async def test_a_first_model_may_be_a_file_which_new_chats_then_take(services: Services, tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny-first.gguf")
    services.engines.loader = load_engine
    for _ in range(2):                                      # the second start knows it
        await starting_with(services, path).preload()
        default = await services.models.default()
        assert default is not None and default.path == str(path)
        assert services.engines.status(default.id).state is ModelState.READY
    assert len([entry for entry in await services.models.list() if entry.model.path == str(path)]) == 1


async def test_a_first_file_is_known_as_soon_as_the_server_answers(services: Services, tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny-first.gguf")
    await starting_with(services, path).start()
    assert (await services.models.find("tiny-first")).path == str(path)


async def test_a_first_file_is_read_once_in_a_start(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_gguf(tmp_path / "tiny-first.gguf")
    read: list[Path] = []

    def noting(file: Path, *rest: Any) -> Model:
        read.append(file)
        return describe(file, *rest)

    monkeypatch.setattr("app.services.models.describe", noting)
    services.engines.loader = load_engine
    starting = starting_with(services, path)
    await starting.start()
    await starting.preload()
    assert read.count(path) == 1
    assert services.engines.status("tiny-first").state is ModelState.READY


async def test_a_first_file_that_is_no_model_is_said_once(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk, bread")
    starting = starting_with(services, path)
    with capture_logs() as logs:
        await starting.start()
        await starting.preload()
    assert [entry["model"] for entry in logs if entry["log_level"] == "warning"] == [str(path)]


async def test_deleted_chats_are_removed_again_and_again_also_after_a_time_that_failed(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[timedelta] = []

    async def purge(self: ConversationService, deleted_for: timedelta) -> int:
        times.append(deleted_for)
        if len(times) == 1:
            raise DatabaseUnusable("The disk is full.")
        return 0

    monkeypatch.setattr(container, "PURGE_INTERVAL_S", 0.0)
    monkeypatch.setattr(ConversationService, "purge_deleted", purge)
    with capture_logs() as logs:
        keeping = asyncio.create_task(services.keep_tidy())
        await until(lambda: len(times) >= 3)
        keeping.cancel()
    assert set(times) == {container.PURGE_AFTER}
    assert [entry["reason"] for entry in logs] == ["The disk is full."]


async def test_a_damaged_starter_does_not_keep_the_server_from_starting(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "starter.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr("app.services.models.find_starter", lambda: file)
    with capture_logs() as logs:
        await services.start()
    assert [entry["event"] for entry in logs] == ["the starter model cannot be read"]


async def test_the_cache_on_disk_lies_in_the_data_folder_and_ends_with_the_server(services: Services) -> None:
    folder = services.settings.data_dir / "cache" / "kv"
    others = set(threading.enumerate())                      # another test's server may run
    assert not folder.exists()                               # the command line opens services too
    await services.start()
    await until(folder.exists)
    assert services.engines.limits.disk is services.disk_cache
    await services.stop()
    assert "kv-disk" not in {thread.name for thread in set(threading.enumerate()) - others}


async def test_the_cache_on_disk_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_CACHE_DISK_BYTES", "0")
    (tmp_path / "cache" / "kv" / "scope").mkdir(parents=True)
    services = Services.open(Settings.load(data_dir=tmp_path), never_loaded)
    await services.start()
    await services.stop()
    services.close()
    assert not services.disk_cache.is_on
    assert not (tmp_path / "cache" / "kv").exists()
