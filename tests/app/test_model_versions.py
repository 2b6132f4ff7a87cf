"""An update of a model stands beside what it replaces, answers name which one wrote them, and it can be taken back."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import gguf
import pytest
from sqlmodel import Session

from app.errors import Conflict, InvalidInput, NotFound
from app.services.container import Services
from app.services.engines import ModelState
from app.services.model_origin import Origin, origin_of
from app.services.models import STARTER_ID
from engine.backends.scripted import ScriptedBackend
from store import messages, models
from tests.app.house import Shelf, until
from tests.engine.tiny_gguf import write_tiny_gguf

COMMITS = "a" * 40, "b" * 40


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """Of two versions, the second with a longer context."""
    return (
        write_tiny_gguf(tmp_path / "v1.gguf", context_tokens=1024),
        write_tiny_gguf(tmp_path / "v2.gguf", seed=1, context_tokens=2048),
    )


def hub(commit: str) -> Origin:
    return Origin(app="Hugging Face", name="mira/tiny/tiny.gguf", pin=f"mira/tiny@{commit}")


@pytest.fixture
async def tiny(services: Services, paths: tuple[Path, Path]) -> str:
    """Updated once, at the hub's two commits."""
    model = await services.models.add(paths[0], name="Tiny", origin=hub(COMMITS[0]))
    await services.model_settings.change(model.id, {"users": 2})
    await services.model_versions.update(model.id, paths[1], origin=hub(COMMITS[1]))
    return model.id


async def test_an_update_keeps_id_name_and_settings(services: Services, tiny: str, paths: tuple[Path, Path]) -> None:
    model = await services.models.find(tiny)
    assert (model.id, model.name, model.path, model.context_tokens) == ("v1", "Tiny", str(paths[1]), 2048)
    assert model.settings == {"users": 2}
    old, new = await services.model_versions.list(tiny)
    assert (old.version, old.is_in_use, old.is_there) == (f"tiny.gguf, mira/tiny@{COMMITS[0]}", False, True)
    assert (new.version, new.is_in_use, new.path) == (f"tiny.gguf, mira/tiny@{COMMITS[1]}", True, paths[1])


async def test_it_can_be_taken_back_and_made_again(services: Services, tiny: str, paths: tuple[Path, Path]) -> None:
    assert (await services.model_versions.roll_back(tiny)).path == str(paths[0])
    with pytest.raises(Conflict, match="no earlier version"):
        await services.model_versions.roll_back(tiny)
    newest = (await services.model_versions.list(tiny))[-1]
    assert (await services.model_versions.roll_back(tiny, newest.version_id[:8])).path == str(paths[1])
    with pytest.raises(Conflict, match="of this version already"):
        await services.model_versions.roll_back(tiny, newest.version_id)
    with pytest.raises(NotFound, match="No version of Tiny begins with 'xyz'"):
        await services.model_versions.roll_back(tiny, "xyz")
    await services.model_versions.roll_back(tiny)
    assert (await services.model_versions.update(tiny, paths[1])).path == str(paths[1])
    assert len(await services.model_versions.list(tiny)) == 2


async def test_each_answer_names_the_version_that_wrote_it(
    services: Services, tiny: str, shelf: Shelf, user_id: str
) -> None:
    shelf.makers[tiny] = lambda: ScriptedBackend("Hello.")
    written: list[str | None] = []
    await services.model_versions.roll_back(tiny)
    for _ in COMMITS:
        await until(lambda: services.engines.status(tiny).state is ModelState.ON_DISK)
        sent = await services.chat.send(user_id, None, "Hi", model_id=tiny)
        await until(lambda: services.generations.num_running == 0)
        answer = await services.db.read(messages.get, user_id, sent.answer_id)
        assert answer is not None
        written.append(answer.model_version)
        if len(written) == 1:
            await services.model_versions.roll_back(tiny, (await services.model_versions.list(tiny))[1].version_id)
    assert written == [f"tiny.gguf, mira/tiny@{commit}" for commit in COMMITS]


async def test_a_model_that_answers_is_not_ended_by_its_update(
    services: Services, tiny: str, paths: tuple[Path, Path], shelf: Shelf
) -> None:
    shelf.makers[tiny] = lambda: ScriptedBackend("Hello.")
    async with services.engines.acquire(tiny):
        await services.model_versions.roll_back(tiny)
        assert services.engines.status(tiny).state is ModelState.READY
    await until(lambda: services.engines.status(tiny).state is ModelState.ON_DISK)


async def test_what_cannot_be_an_update_is_refused(
    services: Services, tiny: str, paths: tuple[Path, Path], tmp_path: Path
) -> None:
    vectors = write_tiny_gguf(tmp_path / "vectors.gguf", pooling=gguf.PoolingType.MEAN)
    with pytest.raises(InvalidInput, match="one writes and one makes embeddings"):
        await services.model_versions.update(tiny, vectors)
    with pytest.raises(Conflict, match="is Tiny already, under the id v1"):
        await services.model_versions.update(tiny, paths[1])
    (tmp_path / "notes.gguf").write_text("These are my notes.")
    with pytest.raises(InvalidInput):
        await services.model_versions.update(tiny, tmp_path / "notes.gguf")
    await services.models.register_starter()
    with pytest.raises(Conflict, match="updated with Inglenook"):
        await services.model_versions.update(STARTER_ID, paths[0])
    assert len(await services.model_versions.list(tiny)) == 2


async def test_a_version_whose_file_is_gone_is_not_gone_back_to(
    services: Services, tiny: str, paths: tuple[Path, Path]
) -> None:
    paths[0].unlink()
    assert [each.is_there for each in await services.model_versions.list(tiny)] == [False, True]
    with pytest.raises(Conflict, match=r"v1\.gguf is gone"):
        await services.model_versions.roll_back(tiny)


async def test_only_our_own_files_go_with_a_version_or_its_model(
    services: Services, tiny: str, paths: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = services.settings.models_dir
    folder.mkdir(parents=True, exist_ok=True)
    ours = [Path(shutil.copy(paths[0], folder / f"v{number}.gguf")) for number in (3, 4)]
    for path in ours:
        await services.model_versions.update(tiny, path)
    listed = await services.model_versions.list(tiny)
    with pytest.raises(Conflict, match="is of this version"):
        await services.model_versions.forget(tiny, listed[-1].version_id)
    for version in (listed[0], listed[2]):
        await services.model_versions.forget(tiny, version.version_id)
    assert [path.exists() for path in (*paths, *ours)] == [True, True, False, True]
    await services.models.remove(tiny)
    assert [path.exists() for path in (*paths, *ours)] == [True, True, False, False]


async def test_a_model_that_never_changed_has_one_version(services: Services) -> None:
    (only,) = await services.model_versions.list("parrot")
    assert (only.is_in_use, only.is_there, only.path) == (True, False, Path("/nowhere/parrot.gguf"))


@pytest.mark.parametrize("path, origin", [
    ("/c/models--bart--X-GGUF/snapshots/" + "a" * 40 + "/q/x.gguf",
     Origin(app="Hugging Face", name="bart/X-GGUF/q/x.gguf", pin="bart/X-GGUF@" + "a" * 40)),
    ("/c/models--bart--X/snapshots/" + "a" * 40, Origin(app="Hugging Face", name="bart/X", pin="bart/X@" + "a" * 40)),
    ("/o/blobs/sha256-" + "0" * 64, Origin(app="Ollama", pin="sha256:" + "0" * 64)),
    ("/c/models--bart--X/snapshots/main/x.gguf", Origin()),
    ("/o/other/sha256-" + "0" * 64, Origin()),
    ("/x.gguf", Origin()),
])
def test_a_path_may_name_its_commit_or_hash(path: str, origin: Origin) -> None:
    assert origin_of(Path(path)) == origin
    assert Origin.from_values(origin.to_values()) == origin


async def test_a_clock_that_is_set_back_does_not_turn_the_versions_round(
    services: Services, paths: tuple[Path, Path]
) -> None:
    model = await services.models.add(paths[0], name="Tiny")

    def add_in_a_later_year(session: Session) -> None:
        row = models.get(session, model.id)
        assert row is not None
        row.added_at += timedelta(days=9000)

    await services.db.run(add_in_a_later_year)
    await services.model_versions.update(model.id, paths[1])
    assert [each.is_in_use for each in await services.model_versions.list(model.id)] == [False, True]
    assert (await services.model_versions.roll_back(model.id)).path == str(paths[0])
