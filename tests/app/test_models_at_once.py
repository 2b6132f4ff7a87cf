"""Several admins, or programs, who act on models in the same moment: nothing of what one did is lost by another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.errors import Conflict, InvalidInput, ModelNotFound
from app.services.container import Services
from app.services.model_facts import describe
from app.services.model_states import Wanted
from store.tables import Model
from tests.app.house import Shelf
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest.fixture
async def tiny(services: Services, tmp_path: Path) -> str:
    return (await services.models.add(write_tiny_gguf(tmp_path / "tiny.gguf"))).id


async def test_two_settings_of_a_model(services: Services, tiny: str) -> None:
    change = services.model_settings.change
    await asyncio.gather(change(tiny, {"is_pinned": True}), change(tiny, {"threads": 2}))
    settings = await services.model_settings.of(tiny)
    assert (settings.is_pinned, settings.threads) == (True, 2)


async def test_one_alias_for_two_models(services: Services, tiny: str) -> None:
    change = services.model_settings.change
    first, second = await asyncio.gather(
        change(tiny, {"aliases": ["gpt"]}), change("parrot", {"aliases": ["gpt"]}), return_exceptions=True
    )
    assert not isinstance(first, BaseException) and isinstance(second, InvalidInput)


async def test_two_files_of_one_name_are_two_models(services: Services, tmp_path: Path) -> None:
    files = [tmp_path / folder / "same.gguf" for folder in "ab"]
    for seed, file in enumerate(files):
        file.parent.mkdir()
        write_tiny_gguf(file, seed=seed)
    added = await asyncio.gather(*map(services.models.add, files))
    assert sorted(each.id for each in added) == ["same", "same-2"]
    assert {each.path for each in added} == set(map(str, files))


async def test_the_default_may_be_named_by_an_alias(services: Services, tiny: str) -> None:
    await services.model_settings.change(tiny, {"aliases": ["small"]})
    await services.models.set_default("small")
    default = await services.models.default()
    assert default is not None and default.id == tiny


async def test_one_update_that_is_made_twice(services: Services, tiny: str, tmp_path: Path) -> None:
    new = write_tiny_gguf(tmp_path / "new.gguf", seed=1)
    outcomes = await asyncio.gather(
        *(services.model_versions.update(tiny, new) for _ in range(2)), return_exceptions=True
    )
    assert [type(each) for each in outcomes if isinstance(each, BaseException)] == [Conflict]
    assert [each.is_in_use for each in await services.model_versions.list(tiny)] == [False, True]


async def test_a_version_that_is_forgotten_while_it_is_taken_again(
    services: Services, tiny: str, tmp_path: Path
) -> None:
    await services.model_versions.update(tiny, write_tiny_gguf(tmp_path / "new.gguf", seed=1))
    old, _new = await services.model_versions.list(tiny)
    forgotten, _back = await asyncio.gather(
        services.model_versions.forget(tiny, old.version_id), services.model_versions.roll_back(tiny),
        return_exceptions=True,
    )
    listed = await services.model_versions.list(tiny)
    assert forgotten is None and [each.is_in_use for each in listed] == [True]


async def test_a_model_that_is_removed_while_its_new_file_is_looked_at_stays_removed(
    services: Services, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf", seed=1, context_tokens=1024)
    loop = asyncio.get_running_loop()

    def while_it_is_removed(path: Path, *about: object) -> Model:
        asyncio.run_coroutine_threadsafe(services.models.remove(tiny), loop).result()
        return describe(path, *about)       # type: ignore[arg-type]

    monkeypatch.setattr("app.services.models.describe", while_it_is_removed)
    with pytest.raises(ModelNotFound):
        await services.engines.load(tiny)
    assert [entry.model.id for entry in await services.models.list()] == ["parrot"]


async def test_a_load_that_was_about_to_begin_when_its_model_went_is_none(services: Services, shelf: Shelf) -> None:
    """It has read what the model is, and looks at the file while the model is removed."""
    knows, wanted, removed = asyncio.Event(), services.engines.wanted, asyncio.Event()

    async def held(model_id: str) -> Wanted:
        found = await wanted(model_id)
        knows.set()
        await removed.wait()
        return found

    services.engines.wanted = held
    load = asyncio.create_task(services.engines.load("parrot"))
    await knows.wait()
    await services.models.remove("parrot")
    removed.set()
    with pytest.raises(ModelNotFound):
        await load
    assert services.engines.loaded() == {}


class TestKilledWithinARemoval:
    """The model, or its version, is forgotten, and its files are not deleted yet."""

    @pytest.fixture
    async def uploaded(self, services: Services, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = services.settings.models_dir.resolve() / "uploads"
        folder.mkdir(parents=True)
        path = write_tiny_gguf(folder / "mine.gguf")
        await services.models.add(path)

        async def killed() -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(services.models, "delete_leftovers", killed)
        return path

    async def test_the_next_start_deletes_them(
        self, services: Services, uploaded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            await services.models.remove("mine")
        monkeypatch.undo()
        assert await asyncio.to_thread(uploaded.exists)
        await services.start()
        assert not await asyncio.to_thread(uploaded.exists)
        assert "mine" not in [entry.model.id for entry in await services.models.list()]

    async def test_what_was_made_known_again_stays(
        self, services: Services, uploaded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            await services.models.remove("mine")
        monkeypatch.undo()
        await services.models.add(uploaded)
        await services.start()
        assert await asyncio.to_thread(uploaded.exists)
