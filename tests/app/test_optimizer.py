"""Advice on weight formats: which copies are kept, and that nothing is left of the others. Measuring is replaced where
only what follows from the figures matters; tests/engine/test_copies.py measures.
"""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from app.errors import Conflict
from app.instance import LOCK_FILE_NAME, Instance
from app.services.container import Services
from app.services.optimizer import FormatReport
from engine.divergence import Divergence
from engine.errors import ModelLoadError
from engine.format_advice import Comparison, Speeds
from engine.gguf import GgufHeader, read_header
from engine.memory import LoadLimits
from engine.told import Told
from engine.weight_formats import WeightFormat, format_called
from tests.engine.tiny_gguf import write_tiny_gguf

FIGURES = {"Q4_0": (1.9, 0.3), "Q5_0": (1.4, 0.01), "Q8_0": (1.5, 0.005)}     # gain, nats
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
async def tiny(services: Services, tmp_path: Path) -> Path:
    """Known as the model `tiny`."""
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    assert (await services.models.add(path)).id == "tiny"
    return path


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """What measuring finds; tests may change it. A copy is the tiny model again."""
    found = dict(FIGURES)

    async def make(original: GgufHeader, target: Path, weight_format: WeightFormat, limits: LoadLimits) -> None:
        assert target.name.endswith(".part")
        shutil.copy(original.path, target)

    async def compare(original: GgufHeader, copy_path: Path, limits: LoadLimits) -> Comparison:
        read_header(copy_path)
        gain, nats = next(found[name] for name in found if name.lower() in copy_path.name)
        one, other = ((10.0, 10.0), tuple(2 * [10.0 * gain]))
        return Comparison(
            original=Speeds(alone=one, together=one, prompt=one),
            copy=Speeds(alone=other, together=other, prompt=other),
            divergence=Divergence(mean_nats=nats, p99_nats=nats, same_top_share=0.9, num_tokens=100),
            copy_bytes=1,
        )

    monkeypatch.setattr("app.services.optimizer.make_copy", make)
    monkeypatch.setattr("app.services.optimizer.compare_copy", compare)
    return found


async def optimize(services: Services, to: str | None = None, *, keeps_copy: bool = True) -> FormatReport:
    wanted = format_called(to) if to else None
    return await services.optimizer.optimize("tiny", wanted, keeps_copy=keeps_copy, progress=lambda _: None)


async def ids(services: Services) -> list[str]:
    return [entry.model.id for entry in await services.models.list()]


def content(path: Path) -> bytes:
    return path.read_bytes()


def files(services: Services) -> list[str]:
    folder = services.settings.models_dir
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


ONLY_THE_LOCK = f"drafts/{LOCK_FILE_NAME}"


async def test_the_best_copy_becomes_a_model_that_says_where_it_is_from(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]]
) -> None:
    before = content(tiny)
    report = await optimize(services)
    assert [trial.weight_format.name for trial in report.trials] == ["Q4_0", "Q5_0", "Q8_0"]
    assert report.advised is not None and report.kept is not None
    assert (report.advised.name, report.kept.id) == ("Q8_0", "tiny-q8_0")
    assert report.kept.name == "Tiny 0, Q8_0 made from F32"
    assert files(services) == [ONLY_THE_LOCK, "tiny-q8_0.gguf"]
    assert await ids(services) == ["parrot", "tiny", "tiny-q8_0"]
    assert content(tiny) == before


async def test_where_none_is_advised_none_is_kept(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]]
) -> None:
    figures.update(dict.fromkeys(figures, (1.0, 0.01)))
    report = await optimize(services)
    assert (report.advised, report.kept) == (None, None)
    assert files(services) == [ONLY_THE_LOCK]
    assert await ids(services) == ["parrot", "tiny"]


async def test_one_asked_for_by_name_is_kept_whatever_the_advice(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]]
) -> None:
    report = await optimize(services, to="Q4_0")
    assert report.advised is None
    assert report.kept is not None
    assert files(services) == [ONLY_THE_LOCK, "tiny-q4_0.gguf"]


async def test_on_a_dry_run_nothing_stays(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]]
) -> None:
    report = await optimize(services, keeps_copy=False)
    assert report.advised is not None
    assert report.kept is None
    assert files(services) == [ONLY_THE_LOCK]


async def test_a_copy_that_is_there_is_neither_made_again_nor_removed(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await optimize(services, to="Q4_0")

    async def never(*_: object) -> None:
        raise AssertionError("a copy was made")

    monkeypatch.setattr("app.services.optimizer.make_copy", never)
    await optimize(services, to="Q4_0", keeps_copy=False)
    assert files(services) == [ONLY_THE_LOCK, "tiny-q4_0.gguf"]
    os.utime(services.settings.models_dir / "tiny-q4_0.gguf", (0, 0))
    with pytest.raises(Conflict, match=r"tiny-q4_0\.gguf is older than tiny\.gguf"):
        await optimize(services, to="Q4_0")
    assert files(services) == [ONLY_THE_LOCK, "tiny-q4_0.gguf"]


async def test_a_format_that_fails_is_told_and_the_others_are_tried(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail_half_way(
        original: GgufHeader, target: Path, weight_format: WeightFormat, limits: LoadLimits
    ) -> None:
        if weight_format.name == "Q8_0":
            shutil.copy(os.devnull, target)
            raise ModelLoadError(Told("trial-failed", detail="It crashed."))
        shutil.copy(original.path, target)

    monkeypatch.setattr("app.services.optimizer.make_copy", fail_half_way)
    report = await optimize(services)
    assert {trial.weight_format.name: trial.refusal for trial in report.trials} == {
        "Q4_0": None, "Q5_0": None, "Q8_0": "It crashed."
    }
    assert report.advised is not None
    assert report.advised.name == "Q5_0"
    with pytest.raises(Conflict, match="It crashed"):
        await optimize(services, to="Q8_0")
    assert files(services) == [ONLY_THE_LOCK, "tiny-q5_0.gguf"]


async def test_a_full_disk_is_seen_before_anything_is_written(
    services: Services, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 2_000_000, 2_000_000))
    room = r"A copy in Q8_0 needs about 8\.1 MiB, and 1\.9 MiB are free in .*models\. Free some"
    with pytest.raises(Conflict, match=room):
        await optimize(services, to="Q8_0")
    assert files(services) == [ONLY_THE_LOCK]


async def test_what_a_killed_run_left_goes_but_never_what_another_writes(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]]
) -> None:
    drafts = services.settings.models_dir / "drafts"
    drafts.mkdir(parents=True)
    (drafts / "tiny-q4_k_m.gguf.part").write_bytes(bytes(1000))
    with Instance.claim(drafts), pytest.raises(Conflict, match=r"runs already .*\(process \d+\)\. Wait for its end"):
        await optimize(services)
    assert files(services) == [ONLY_THE_LOCK, "drafts/tiny-q4_k_m.gguf.part"]
    await optimize(services)
    assert files(services) == [ONLY_THE_LOCK, "tiny-q8_0.gguf"]


async def test_a_file_that_is_replaced_meanwhile_gets_no_copy(
    services: Services, tiny: Path, figures: dict[str, tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def replace_after(
        original: GgufHeader, target: Path, weight_format: WeightFormat, limits: LoadLimits
    ) -> None:
        shutil.copy(original.path, target)
        write_tiny_gguf(tiny.with_name("other"), seed=1).replace(tiny)

    monkeypatch.setattr("app.services.optimizer.make_copy", replace_after)
    with pytest.raises(Conflict, match=r"tiny\.gguf was replaced while it was measured"):
        await optimize(services, to="Q8_0")
    assert files(services) == [ONLY_THE_LOCK]


async def test_a_model_in_the_wanted_format_needs_no_copy(
    services: Services, tiny: Path, tmp_path: Path, figures: dict[str, tuple[float, float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.gguf._FILE_TYPES", {0: "Q8_0"})
    with pytest.raises(Conflict, match=r"Tiny 0 is in Q8_0 already\. Choose another format"):
        await optimize(services, to="Q8_0")
