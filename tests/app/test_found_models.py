"""Models of other apps: found where those keep them, used in place, and never touched."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.errors import Conflict, NotFound
from app.found.scan import Places, scan
from app.other_apps import hub_cache_dir, lm_studio_dirs, ollama_dirs
from app.services.container import Services
from app.services.model_facts import version_of
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from tests.app.house import Shelf
from tests.app.other_apps import (
    COMMIT,
    OLDER_COMMIT,
    put_in_hub_cache,
    put_in_jan,
    put_in_lm_studio,
    put_in_ollama,
    write_manifest,
)
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_safetensors import write_sharded

MODEL_LAYER = "application/vnd.ollama.image.model"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(
        hugging_face=(tmp_path / "hub",), ollama=(tmp_path / "ollama",), lm_studio=(tmp_path / "lm",),
        jan=(tmp_path / "jan",),
    )


@pytest_asyncio.fixture
async def services(tmp_path: Path, shelf: Shelf) -> AsyncIterator[Services]:
    settings = Settings(
        data_dir=tmp_path / "data", hub_cache_dir=tmp_path / "hub", ollama_dirs=(tmp_path / "ollama",),
        lm_studio_dirs=(tmp_path / "lm",), jan_dirs=(tmp_path / "jan",),
    )
    services = Services.open(settings, shelf.load)
    yield services
    await services.stop()
    services.close()


def stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def told(places: Places) -> list[tuple[str, str, str]]:
    return [(each.app, each.name, each.problem) for each in scan(places)]


class TestScanning:
    def test_finds_nothing_where_there_is_nothing(self, places: Places) -> None:
        assert scan(places) == []

    def test_finds_what_each_app_has_by_its_own_name(self, places: Places, tmp_path: Path) -> None:
        link = put_in_hub_cache(tmp_path / "hub", "bart/Tiny-GGUF", "q4/Tiny-Q4_0.gguf")
        blob = put_in_ollama(tmp_path / "ollama")
        put_in_lm_studio(tmp_path / "lm")
        put_in_jan(tmp_path / "jan")
        found = scan(places)
        assert [(each.app, each.name, each.problem) for each in found] == [
            ("Hugging Face", "bart/Tiny-GGUF/q4/Tiny-Q4_0.gguf", ""),
            ("Jan", "org/tiny", ""),
            ("LM Studio", "infra/ocelot/ocelot-q4.gguf", ""),
            ("Ollama", "tiny:latest", ""),
        ]
        assert [found[0].path, found[3].path] == [link, blob]
        assert found[0].pin == f"bart/Tiny-GGUF@{COMMIT}"
        assert found[3].pin == f"sha256:{blob.name.removeprefix('sha256-')}"
        assert all(each.size_bytes == blob.stat().st_size for each in found)

    def test_names_models_of_others_as_ollama_does(self, places: Places, tmp_path: Path) -> None:
        for names in ("registry.ollama.ai/library/a/7b", "registry.ollama.ai/mira/b/latest", "hf.co/bart/c/Q4_0"):
            put_in_ollama(tmp_path / "ollama", names)
        assert [name for _, name, _ in told(places)] == ["a:7b", "hf.co/bart/c:Q4_0", "mira/b:latest"]

    def test_takes_the_newest_commit_and_what_only_an_older_one_has(self, places: Places, tmp_path: Path) -> None:
        put_in_hub_cache(tmp_path / "hub", "o/r", "old.gguf", commit=OLDER_COMMIT)
        put_in_hub_cache(tmp_path / "hub", "o/r", "both.gguf", commit=OLDER_COMMIT, seed=1)
        put_in_hub_cache(tmp_path / "hub", "o/r", "both.gguf", seed=2)
        assert [(each.name, each.pin[-1]) for each in scan(places)] == [("o/r/both.gguf", "c"), ("o/r/old.gguf", "a")]

    def test_counts_parts_as_one_and_names_a_missing_one(self, places: Places, tmp_path: Path) -> None:
        for part in ("tiny-00001-of-00002.gguf", "tiny-00002-of-00002.gguf", "mmproj-tiny.gguf"):
            put_in_lm_studio(tmp_path / "lm", f"p/m/{part}")
        assert told(places) == [("LM Studio", "p/m/tiny-00001-of-00002.gguf", "")]
        (tmp_path / "lm/models/p/m/tiny-00002-of-00002.gguf").unlink()
        assert told(places)[0][2] == "tiny-00002-of-00002.gguf is missing."

    def test_says_why_something_cannot_be_used(
        self, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("engine.select.find_spec", lambda name: None)
        write_sharded(tmp_path / "hub" / "models--o--big" / "snapshots" / COMMIT)
        store = tmp_path / "ollama"
        write_manifest(store, "registry.ollama.ai/library/half/1b", [(MODEL_LAYER, f"sha256:{'f' * 64}")])
        write_manifest(store, "registry.ollama.ai/library/way-out/1b", [(MODEL_LAYER, "sha256:../../../etc/passwd")])
        write_manifest(store, "registry.ollama.ai/library/mlx/1b", [("application/vnd.ollama.image.tensor", "x")])
        blob = put_in_ollama(store)
        adapted = [(MODEL_LAYER, blob.name.replace("-", ":")), ("application/vnd.ollama.image.adapter", "x")]
        write_manifest(store, "registry.ollama.ai/library/adapted/1b", adapted)
        put_in_jan(tmp_path / "jan").unlink()
        problems = {name: problem for _, name, problem in told(places)}
        assert problems["o/big"].startswith("It is in the safetensors format, for which PyTorch is needed")
        assert problems["half:1b"] == "Ollama has not downloaded it whole."
        assert problems["way-out:1b"] == problems["mlx:1b"] == "Its weights are in no GGUF file."
        assert "--lora" in problems["adapted:1b"]
        assert problems["org/tiny"].endswith("model.gguf is gone.")

    def test_passes_over_what_is_damaged(self, places: Places, tmp_path: Path) -> None:
        folder = tmp_path / "ollama" / "manifests" / "registry.ollama.ai" / "library" / "odd"
        folder.mkdir(parents=True)
        for name, content in {"a": b"{", "b": b"[]", "c": b"\xff", "d": b"[" * 100_000, "e": b'{"layers":5}'}.items():
            (folder / name).write_bytes(content)
        (tmp_path / "hub" / "models--o--r" / "snapshots" / "no commit").mkdir(parents=True)
        put_in_jan(tmp_path / "jan", "nul", path="a\\0b").parent.mkdir(exist_ok=True)
        assert [name for _, name, _ in told(places)] == ["nul"]

    def test_what_reads_a_model_s_images_is_no_model_wherever_it_stands_in_the_name(
        self, places: Places, tmp_path: Path
    ) -> None:
        for name in ("p/m/tiny-mmproj-f16.gguf", "p/m/mmproj-F16.gguf", "p/m/tiny.gguf"):
            put_in_lm_studio(tmp_path / "lm", name)
        put_in_hub_cache(tmp_path / "hub", "bart/Tiny-GGUF", "Tiny-mmproj-f16.gguf")
        assert told(places) == [("LM Studio", "p/m/tiny.gguf", "")]

    def test_follows_lm_studio_to_where_its_models_were_moved(self, places: Places, tmp_path: Path) -> None:
        put_in_lm_studio(tmp_path / "lm", "p/old/old.gguf")
        moved = put_in_lm_studio(tmp_path / "big disk" / "ÜÏ", "p/new/new.gguf").parents[2]
        settings = tmp_path / "lm" / "settings.json"
        settings.write_text(json.dumps({"downloadsFolder": str(moved), "language": "de"}))
        assert [name for _, name, _ in told(places)] == ["p/new/new.gguf", "p/old/old.gguf"]
        for odd in (
            b"{", b"[]", b"\xff", b"[" * 100_000, b"{}", b'{"downloadsFolder": 5}', b'{"downloadsFolder": "a\\u0000b"}',
            b'{"downloadsFolder": "models"}', b'{"downloadsFolder": "/nowhere/at/all"}',
            json.dumps({"downloadsFolder": str(tmp_path / "lm" / "models")}).encode(), b" " * (2 << 20),
        ):
            settings.write_bytes(odd)
            assert [name for _, name, _ in told(places)] == ["p/old/old.gguf"], odd[:40]

    def test_follows_an_absolute_path_of_jans(self, places: Places, tmp_path: Path) -> None:
        elsewhere = put_in_jan(tmp_path / "jan", path=str(tmp_path / "elsewhere" / "m.gguf"))
        assert [each.path for each in scan(places)] == [elsewhere]


class TestAdding:
    async def test_uses_a_file_in_place_and_says_whose_it_is(self, services: Services, tmp_path: Path) -> None:
        blob = put_in_ollama(tmp_path / "ollama")
        before = stamp(blob)
        model = await services.found_models.add("tiny")
        assert (model.id, model.name, model.path) == ("tiny", "Tiny 0", str(blob))
        assert version_of(model) == f"tiny:latest, sha256:{blob.name.removeprefix('sha256-')}"
        offers = await services.found_models.list()
        assert [(each.found.name, each.model_id) for each in offers] == [("tiny:latest", "tiny")]
        await services.models.remove(model.id)
        assert stamp(blob) == before

    async def test_pins_the_commit_of_the_cache(self, services: Services, tmp_path: Path) -> None:
        link = put_in_hub_cache(tmp_path / "hub", "bart/Tiny-GGUF", "Tiny-Q4_0.gguf")
        by_name = await services.found_models.add("Tiny-Q4_0.gguf")
        assert version_of(by_name) == f"Tiny-Q4_0.gguf, bart/Tiny-GGUF@{COMMIT}"
        by_path = await services.models.add(link)
        assert (by_path.id, version_of(by_path)) == (by_name.id, version_of(by_name))

    async def test_asks_which_of_two_and_refuses_what_is_not_whole(self, services: Services, tmp_path: Path) -> None:
        put_in_lm_studio(tmp_path / "lm", "a/m/x.gguf")
        put_in_lm_studio(tmp_path / "lm", "b/m/x.gguf", seed=1)
        with pytest.raises(Conflict, match=r"a/m/x\.gguf \(LM Studio\), b/m/x\.gguf \(LM Studio\)"):
            await services.found_models.add("x.gguf")
        assert (await services.found_models.add("a/m/x.gguf")).id == "x"
        with pytest.raises(NotFound, match="models found"):
            await services.found_models.add("y.gguf")
        put_in_jan(tmp_path / "jan").unlink()
        with pytest.raises(Conflict, match=r"org/tiny of Jan cannot be used.*gone"):
            await services.found_models.add("org/tiny")

    async def test_a_reference_whose_file_is_gone_says_so(self, services: Services, tmp_path: Path) -> None:
        blob = put_in_ollama(tmp_path / "ollama")
        await services.found_models.add("tiny:latest")
        blob.unlink()
        (entry,) = await services.models.list()
        assert entry.problem == f"{blob} is gone. It was Ollama's. Put it back, or remove the model here."


def test_apps_are_looked_for_where_they_are_told_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert hub_cache_dir() == Path("~/.cache/huggingface/hub")
    assert ollama_dirs()[0] == Path("~/.ollama/models")
    assert Path("~/.lmstudio") in lm_studio_dirs()
    (tmp_path / ".lmstudio-home-pointer").write_text("/big/disk/lm\n")
    monkeypatch.setenv("HF_HOME", "/big/hf")
    monkeypatch.setenv("OLLAMA_MODELS", "/big/ollama")
    assert (hub_cache_dir(), ollama_dirs(), lm_studio_dirs()) == (
        Path("/big/hf/hub"), (Path("/big/ollama"),), (Path("/big/disk/lm"),)
    )
    assert Settings(data_dir=tmp_path).ollama_dirs == (Path("/big/ollama"),)


async def test_a_changed_file_is_another_version(services: Services, shelf: Shelf, tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "mine.gguf")
    model = await services.models.add(file)
    shelf.makers[model.id] = lambda: ScriptedBackend("Hello.")
    await services.engines.load(model.id)
    first = services.engines.status(model.id).info
    await services.engines.unload(model.id)
    write_tiny_gguf(file, seed=1, context_tokens=512)
    await services.engines.load(model.id)
    second = services.engines.status(model.id).info
    assert first is not None
    assert second is not None
    assert first.version != second.version
    assert (await services.models.find(model.id)).context_tokens == 512


class TestOneOddEntryCostsNoOther:
    def test_a_path_that_the_system_does_not_take(self, places: Places, tmp_path: Path) -> None:
        put_in_jan(tmp_path / "jan", "org/good")
        put_in_jan(tmp_path / "jan", "org/long")
        (tmp_path / "jan/llamacpp/models/org/long/model.yml").write_text("model_path: " + "x" * 5000)
        put_in_lm_studio(tmp_path / "lm")
        (tmp_path / "lm" / "settings.json").write_text(json.dumps({"downloadsFolder": "/" + "x" * 5000}))
        assert [name for _, name, problem in told(places) if not problem] == ["org/good", "infra/ocelot/ocelot-q4.gguf"]

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that is there and cannot be read")
    def test_a_file_that_cannot_be_read(self, places: Places, tmp_path: Path) -> None:
        put_in_ollama(tmp_path / "ollama")
        (tmp_path / "ollama/manifests/registry.ollama.ai/library/tiny/broken").symlink_to("/proc/self/mem")
        put_in_hub_cache(tmp_path / "hub", "o/good", "a.gguf")
        put_in_hub_cache(tmp_path / "hub", "o/bad", "a.gguf")
        (tmp_path / "hub/models--o--bad/refs/main").unlink()
        (tmp_path / "hub/models--o--bad/refs/main").symlink_to("/proc/self/mem")
        put_in_jan(tmp_path / "jan", "org/good")
        put_in_jan(tmp_path / "jan", "org/bad")
        (tmp_path / "jan/llamacpp/models/org/bad/model.yml").unlink()
        (tmp_path / "jan/llamacpp/models/org/bad/model.yml").symlink_to("/proc/self/mem")
        (tmp_path / "lm/settings.json").parent.mkdir()
        (tmp_path / "lm/settings.json").symlink_to("/proc/self/mem")
        put_in_lm_studio(tmp_path / "lm")
        assert [name for _, name, _ in told(places)] == [
            "o/good/a.gguf", "org/good", "infra/ocelot/ocelot-q4.gguf", "tiny:latest"
        ]

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
    async def test_a_name_that_is_no_text_is_told_and_can_be_shown(self, services: Services, tmp_path: Path) -> None:
        odd = os.fsdecode(b"infra/ocelot/o\xff.gguf")
        put_in_lm_studio(tmp_path / "lm", odd)
        put_in_lm_studio(tmp_path / "lm")
        told, fine = (offer.found for offer in await services.found_models.list())
        assert (fine.name, fine.problem) == ("infra/ocelot/ocelot-q4.gguf", "")
        assert told.name == r"infra/ocelot/o\udcff.gguf" and "is no path that can be used here" in told.problem
        assert f"{told.name}{told.problem}".encode()
        with pytest.raises(Conflict, match="is no path that can be used"):
            await services.found_models.add(told.name)
