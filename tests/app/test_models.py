"""The list of models: the starter, adding, removing, the default."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import gguf
import pytest

from app.errors import Conflict, InvalidInput, ModelNotFound, ModelUnavailable
from app.services.container import Services
from app.services.engines import ModelState
from app.services.model_facts import spec_from, version_in_words
from app.services.models import STARTER_ID, find_starter, size_on_disk
from engine.errors import ModelLoadError
from engine.lora import Adapter
from store import models
from store.tables import Model
from tests.app.house import Shelf, turn
from tests.engine.tiny_bert import write_tiny_bert
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_lora import random_factors, write_tiny_adapter
from tests.engine.tiny_safetensors import write_sharded


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A real model file of our own; a link, since it is large and only its header is read."""
    starter = find_starter()
    assert starter is not None
    path = tmp_path / "My Model v2 (Q4_1).gguf"
    if starter.stat().st_dev == tmp_path.stat().st_dev:
        path.hardlink_to(starter)
    else:
        path.symlink_to(starter)
    return path


def is_there(path: Path) -> bool:
    return path.exists()


def size_of(path: Path) -> int:
    return path.stat().st_size


async def test_the_starter_is_there_from_the_first_start_and_said_to_be_one(services: Services) -> None:
    await services.start()
    starter = await services.models.find(STARTER_ID)
    assert starter.name == "SmolLM2 135M Instruct"
    assert starter.is_starter
    assert starter.architecture == "llama"
    assert starter.context_tokens == 8192
    path = find_starter()
    assert path is not None
    assert (starter.path, starter.size_bytes) == (str(path), path.stat().st_size)
    await services.start()
    assert [entry.model.id for entry in await services.models.list()] == ["parrot", STARTER_ID]


async def test_the_first_model_is_the_default_until_another_is_chosen(services: Services) -> None:
    await services.start()
    default = await services.models.default()
    assert default is not None
    assert default.id == "parrot"
    await services.models.set_default(STARTER_ID)
    default = await services.models.default()
    assert default is not None
    assert default.id == STARTER_ID
    with pytest.raises(ModelNotFound):
        await services.models.set_default("dodo")


async def test_adding_a_file_reads_its_header_and_leaves_it_where_it_is(services: Services, file: Path) -> None:
    model = await services.models.add(file)
    assert model.id == "my-model-v2-q4_1"
    assert model.file_format == "gguf"
    assert model.quantisation == "Q4_1"
    assert model.path.endswith(".gguf")
    assert (await services.models.add(file)).id == model.id
    assert len(await services.models.list()) == 2


async def test_two_files_of_one_name_get_two_ids(services: Services, file: Path, tmp_path: Path) -> None:
    first = await services.models.add(file)
    (tmp_path / "other").mkdir()
    second = await services.models.add(Path(shutil.copy(file, tmp_path / "other" / file.name)))
    assert (first.id, second.id) == ("my-model-v2-q4_1", "my-model-v2-q4_1-2")


async def test_what_is_no_model_is_refused_with_a_reason(services: Services, tmp_path: Path) -> None:
    text, empty = tmp_path / "notes.gguf", tmp_path / "empty.gguf"
    text.write_text("These are my notes, all of them, and there are quite a few of them.")
    empty.touch()
    for path in (text, empty, tmp_path, tmp_path / "missing.gguf"):
        with pytest.raises(InvalidInput) as error:
            await services.models.add(path)
        assert error.value.field == "path"
    assert [entry.model.id for entry in await services.models.list()] == ["parrot"]


@pytest.mark.parametrize("path", ["a\0b.gguf", "~nobody-of-this-name/a.gguf", "a\udcffb.gguf", "a" * 5000, ""])
async def test_what_is_no_path_is_refused_too(services: Services, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await services.models.add(Path(path))
    assert refused.value.field == "path"


async def test_removing_unloads_and_forgets_but_deletes_only_what_lies_in_the_models_folder(
    services: Services, file: Path, shelf: Shelf
) -> None:
    outside = await services.models.add(file)
    folder = services.settings.models_dir
    folder.mkdir(parents=True)
    inside = await services.models.add(Path(shutil.copy(file, folder / "inside.gguf")))
    await services.engines.load("parrot")
    for model_id in (outside.id, inside.id, "parrot"):
        await services.models.remove(model_id)
    assert is_there(file)
    assert not is_there(folder / "inside.gguf")
    assert shelf.backends["parrot"].is_closed
    assert services.engines.status("parrot").state is ModelState.ON_DISK
    assert await services.models.list() == []
    with pytest.raises(ModelNotFound, match="none yet"):
        await services.models.find("parrot")


class TestAdapters:
    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        return write_tiny_gguf(tmp_path / "base.gguf")

    @pytest.fixture
    def style(self, tmp_path: Path) -> Path:
        return write_tiny_adapter(tmp_path / "style.gguf", random_factors())

    async def test_make_a_model_of_their_own_beside_the_base(self, services: Services, base: Path, style: Path) -> None:
        plain = await services.models.add(base)
        adapted = await services.models.add(base, adapters=[Adapter(style, 0.5)])
        assert (adapted.id, adapted.name) == ("base-style", "Tiny 0 + style")
        assert adapted.id != plain.id
        again = await services.models.add(base, adapters=[Adapter(style, 0.5)], name="Bard")
        assert (again.id, again.name) == ("base-style", "Bard")
        other = await services.models.add(base, adapters=[Adapter(style, 1.0)])
        assert other.id == "base-style-2"
        specs = [spec_from(await services.models.find(model.id)) for model in (plain, adapted, other)]
        assert len({spec.version for spec in specs}) == 3
        assert specs[1].version.startswith(f"{specs[0].version}; style.gguf at 0.5, {size_of(style)} bytes, ")
        assert specs[1].adapters == (Adapter(style, 0.5),)
        assert size_on_disk([plain, adapted, other]) == size_of(base) + size_of(style)

    async def test_that_do_not_fit_are_refused(self, services: Services, base: Path, tmp_path: Path) -> None:
        other = write_tiny_adapter(tmp_path / "other.gguf", random_factors(), architecture="qwen2")
        with pytest.raises(InvalidInput, match="for the architecture 'qwen2'") as refused:
            await services.models.add(base, adapters=[Adapter(other)])
        assert refused.value.field == "path"
        assert len(await services.models.list()) == 1

    async def test_share_files_that_stay_while_another_model_needs_them(
        self, services: Services, base: Path, style: Path
    ) -> None:
        folder = services.settings.models_dir
        folder.mkdir(parents=True)
        base, style = (Path(shutil.move(path, folder)) for path in (base, style))
        plain = await services.models.add(base)
        adapted = await services.models.add(base, adapters=[Adapter(style)])
        stronger = await services.models.add(base, adapters=[Adapter(style, 2.0)])
        there = []
        for model in (plain, adapted, stronger):
            await services.models.remove(model.id)
            there.append((is_there(base), is_there(style)))
        assert there == [(True, True), (True, True), (False, False)]


async def test_a_model_asked_for_while_it_is_removed_does_not_stay_in_memory(
    services: Services, shelf: Shelf
) -> None:
    async def ask_again() -> None:
        while True:
            await turn()
            try:
                await services.engines.load("parrot")
            except ModelUnavailable:
                pass
            except ModelNotFound:
                return

    await services.engines.load("parrot")
    asking = asyncio.create_task(ask_again())
    await services.models.remove("parrot")
    await asking
    assert services.engines.loaded() == {}


async def test_the_starter_cannot_be_removed(services: Services) -> None:
    await services.start()
    with pytest.raises(Conflict):
        await services.models.remove(STARTER_ID)


async def test_a_file_that_embeds_is_known_as_such_and_is_no_default(services: Services, tmp_path: Path) -> None:
    model = await services.models.add(write_tiny_bert(tmp_path / "vectors.gguf"))
    assert (model.embeds, model.is_default, model.architecture) == (True, False, "bert")
    with pytest.raises(Conflict, match="makes embeddings and cannot chat"):
        await services.models.set_default(model.id)
    with pytest.raises(InvalidInput, match="ranks texts"):
        await services.models.add(write_tiny_bert(tmp_path / "ranks.gguf", pooling=gguf.PoolingType.RANK))


class TestSafetensors:
    """Without PyTorch they are looked at, and refused with what is wrong or missing."""

    @pytest.fixture(autouse=True)
    def without_torch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("engine.select.find_spec", lambda name: None)

    async def test_a_whole_one_is_told_what_it_needs(self, services: Services, tmp_path: Path) -> None:
        write_sharded(tmp_path / "Qwen3-0.6B")
        with pytest.raises(InvalidInput, match="PyTorch is needed"):
            await services.models.add(tmp_path / "Qwen3-0.6B")

    async def test_a_missing_part_is_named_first(self, services: Services, tmp_path: Path) -> None:
        write_sharded(tmp_path / "Qwen3-0.6B")[1].unlink()
        with pytest.raises(InvalidInput, match=r"Part 2 of 3 is missing: model-00002-of-00003\.safetensors"):
            await services.models.add(tmp_path / "Qwen3-0.6B")

    async def test_adapters_act_on_no_such(self, services: Services, tmp_path: Path) -> None:
        write_sharded(tmp_path / "m")
        style = write_tiny_adapter(tmp_path / "style.gguf", random_factors())
        with pytest.raises(InvalidInput, match="Adapters act on GGUF files only"):
            await services.models.add(tmp_path / "m", adapters=[Adapter(style)])


async def test_where_it_could_run_a_folder_is_a_model_called_as_it_is(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.select.find_spec", lambda name: object())
    monkeypatch.setattr("engine.judge.read_folder", lambda path: None)      # of its config.json, which is no true one
    write_sharded(tmp_path / "Qwen3-0.6B")
    model = await services.models.add(tmp_path / "Qwen3-0.6B")
    assert (model.id, model.name, model.file_format, model.architecture, model.quantisation) == (
        "qwen3-0.6b", "Qwen3-0.6B", "safetensors", "qwen3", "BF16"
    )
    assert model.context_tokens == 40960


async def test_all_parts_of_a_model_go_with_it_and_the_folders_that_are_empty_then(
    services: Services, tmp_path: Path
) -> None:
    folder = services.settings.models_dir / "mira" / "tiny" / "abc"
    folder.mkdir(parents=True)
    (services.settings.models_dir / "mira" / "other").mkdir()
    (services.settings.models_dir / "mira" / "other" / "kept.txt").touch()
    path = write_tiny_gguf(folder / "tiny.gguf")
    model = await services.models.add(path)
    parts = [path.rename(folder / "tiny-00001-of-00002.gguf"), folder / "tiny-00002-of-00002.gguf"]
    parts[1].touch()
    await services.db.run(models.upsert, Model(**model.model_dump() | {"path": str(parts[0])}))
    assert (await services.models.removal(await services.models.find(model.id))).deleted == tuple(parts)
    await services.models.remove(model.id)
    assert [each.name for each in (services.settings.models_dir / "mira").iterdir()] == ["other"]


async def test_a_busy_model_is_removed_only_where_its_answers_may_stop(services: Services) -> None:
    async with services.engines.acquire("parrot"):
        with pytest.raises(Conflict, match="Parrot is writing an answer"):
            await services.models.remove("parrot", stops_answers=False)
        assert (await services.models.find("parrot")).id == "parrot"
    await services.models.remove("parrot", stops_answers=False)
    with pytest.raises(ModelNotFound):
        await services.models.find("parrot")


def test_a_version_is_told_by_date_and_by_the_beginning_of_a_hash() -> None:
    commit, digest = "0123456789ab" + "c" * 28, "ba9876543210" + "d" * 52
    told = version_in_words(f"a/b at {commit}, x.gguf, 1500000 bytes, 1772500000123456789; y.gguf, {digest}")
    assert told == "a/b at 0123456789ab, x.gguf, 1.4 MiB of 2026-03-03 01:06 UTC; y.gguf, ba9876543210"
    assert version_in_words("gpt-4o-2024-08-06") == "gpt-4o-2024-08-06"


@pytest.mark.parametrize("what", ["an empty folder", "a pipe"])
async def test_what_lies_in_a_file_s_place_is_told_as_its_absence(
    services: Services, tmp_path: Path, what: str
) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    tiny = (await services.models.add(path)).id
    path.unlink()
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    (problem,) = (entry.problem for entry in await services.models.list() if entry.model.id == tiny)
    assert problem == f"{path} is gone. Put it back, or remove the model here."
    with pytest.raises((ModelUnavailable, ModelLoadError), match=r"not a GGUF file|no file"):
        await services.engines.plan(tiny)
    assert [each.is_there for each in await services.model_versions.list(tiny)] == [False]


async def test_a_version_in_whose_place_an_empty_folder_lies_is_not_taken_back(
    services: Services, tmp_path: Path
) -> None:
    old = write_tiny_gguf(tmp_path / "old.gguf")
    model = await services.models.add(old)
    await services.model_versions.update(model.id, write_tiny_gguf(tmp_path / "new.gguf", seed=1))
    old.unlink()
    old.mkdir()
    with pytest.raises(Conflict, match="gone"):
        await services.model_versions.roll_back(model.id)
