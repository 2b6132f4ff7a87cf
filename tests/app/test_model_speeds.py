"""How fast a model writes here, foretold and measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from app.services import model_speeds
from app.services.container import Services
from app.services.model_facts import spec_from, version_of
from app.services.model_speeds import LEAST_ANSWERS, SETTING, ModelSpeeds
from app.services.models import STARTER_ID
from app.services.setup import ChatSetup
from app.settings import Settings
from engine.fit import Fit, Verdict
from engine.gguf import read_header
from engine.hardware import Machine, inspect_machine
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.speed import bytes_per_token, expected_tokens_per_s
from engine.torch_speed import GpuReads, gpu_reads
from store import benchmarks, settings
from store.figures import answer_speeds
from store.tables import Conversation, Message, MessageRole, MessageStatus, Model
from tests.app.house import PASSWORD
from tests.app.measured import run_of
from tests.engine.tiny_gguf import write_tiny_gguf

BANDWIDTH = 20e9


class Measuring:
    """In place of the measurement, and of what the machine is."""

    def __init__(self) -> None:
        self.machine = inspect_machine()
        self.count = 0

    def measure(self, _machine: Machine) -> float:
        self.count += 1
        return BANDWIDTH


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    measuring = Measuring()
    monkeypatch.setattr(model_speeds, "measure_bandwidth", measuring.measure)
    monkeypatch.setattr(model_speeds, "inspect_machine", lambda: measuring.machine)
    return measuring


async def _tiny(services: Services, path: Path, seed: int = 0) -> Model:
    return await services.models.add(write_tiny_gguf(path, seed=seed))


async def _answered(services: Services, user_id: str, model: Model, *speeds: float, version: str = "") -> None:
    def write(session) -> None:        # type: ignore[no-untyped-def]
        chat = Conversation(user_id=user_id, title="x")
        session.add(chat)
        session.flush()
        for speed in speeds:
            session.add(Message(
                conversation_id=chat.id, role=MessageRole.ASSISTANT, status=MessageStatus.COMPLETE, model_id=model.id,
                model_version=version or version_of(model), completion_tokens=101, time_to_first_token_s=0.5,
                duration_s=0.5 + 100 / speed,
            ))

    await services.db.run(write)


async def test_what_it_has_written_here_says_more_than_any_reckoning(
    services: Services, user_id: str, tmp_path: Path, measuring: Measuring
) -> None:
    model = await _tiny(services, tmp_path / "a.gguf")
    await _answered(services, user_id, model, 5, 5, 5, 5, version="another file of that name")
    speed = await services.model_speeds.of(model)
    assert speed is not None and "Estimated" in speed.rests_on
    await _answered(services, user_id, model, 40, 44, 48)
    speed = await services.model_speeds.of(model)
    assert speed is not None
    assert (speed.told, speed.rests_on) == (44, "Measured from the latest 3 answers it has written here.")


async def test_what_was_measured_of_this_very_file_counts_until_it_has_answered(
    services: Services, user_id: str, tmp_path: Path, measuring: Measuring
) -> None:
    model = await _tiny(services, tmp_path / "a.gguf")
    await services.db.run(benchmarks.add, [
        run_of(model.id, id="another", model_version="another file of that name"),
        run_of(model.id, levels=(4,), id="many", model_version=version_of(model)),
    ])
    speed = await services.model_speeds.of(model)
    assert speed is not None and "Estimated" in speed.rests_on
    await services.db.run(benchmarks.add, [run_of(model.id, id="alone", model_version=version_of(model))])
    speed = await services.model_speeds.of(model)
    assert speed is not None
    assert (speed.told, speed.rests_on) == (100, "Measured here, one question at a time.")
    await _answered(services, user_id, model, 40, 44, 48)
    speed = await services.model_speeds.of(model)
    assert speed is not None and speed.told == 44


async def test_where_it_has_not_written_bandwidth_says_it_corrected_by_others(
    services: Services, user_id: str, tmp_path: Path, measuring: Measuring
) -> None:
    one, other = await _tiny(services, tmp_path / "a.gguf"), await _tiny(services, tmp_path / "b.gguf", 1)
    plain = await services.model_speeds.of(one)
    rate = await services.model_speeds.rate()
    assert plain is not None and rate is not None
    assert plain.rests_on.endswith("measured at 20 GB/s.")
    await _answered(services, user_id, other, *[plain.tokens_per_s / 2] * 3)
    corrected = await services.model_speeds.of(one)
    assert corrected is not None
    assert corrected.tokens_per_s == pytest.approx(plain.tokens_per_s / 2)
    assert corrected.rests_on.endswith("measured at 20 GB/s; corrected by the answers of 1 model here.")
    await _answered(services, user_id, other, *[plain.tokens_per_s / 1000] * 9)
    corrected = await services.model_speeds.of(one)
    assert corrected is not None
    assert corrected.tokens_per_s == pytest.approx(plain.tokens_per_s / model_speeds.MOST_CORRECTION)


async def test_of_files_at_the_hub_it_is_said_where_the_processor_runs_them(
    services: Services, measuring: Measuring
) -> None:
    fits = {
        "Q4_K_M": Fit(verdict=Verdict.FITS, bytes_per_token=4_000_000_000),
        "Q8_0": Fit(verdict=Verdict.TIGHT, bytes_per_token=8_000_000_000),
        "F16": Fit(verdict=Verdict.TOO_BIG, bytes_per_token=16_000_000_000),
        "on the GPU": Fit(verdict=Verdict.FITS, bytes_per_token=4_000_000_000, gpu_layers=3),
        "safetensors": Fit(verdict=Verdict.UNKNOWN),
    }
    speeds = await services.model_speeds.of_fits(fits)
    assert {label: speed.tokens_per_s for label, speed in speeds.items()} == {
        label: expected_tokens_per_s(fits[label].bytes_per_token, BANDWIDTH, measuring.machine.num_cores)
        for label in ("Q4_K_M", "Q8_0")
    }
    bodies = await services.model_speeds.bodies(fits)
    assert [body["speed"] is not None for body in bodies.values()] == [True, True, False, False, False]


async def test_nothing_is_said_of_what_embeds_is_gone_or_would_not_load(
    services: Services, tmp_path: Path, measuring: Measuring
) -> None:
    model = await _tiny(services, tmp_path / "a.gguf")
    assert await services.model_speeds.of(model.model_copy(update={"embeds": True})) is None
    assert await services.model_speeds.of(model.model_copy(update={"file_format": "safetensors"})) is None
    Path(model.path).unlink()       # noqa: ASYNC240
    assert await services.model_speeds.of(model) is None
    assert measuring.count == 0


async def test_where_torch_has_a_gpu_its_card_is_measured_once(
    services: Services, tmp_path: Path, measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, asked = GpuReads(
        device="cuda:1", card="NVIDIA H200", total_bytes=150 << 30, num_bytes=15_000_000_000, weight_format=""
    ), []

    async def reads(_spec: ModelSpec, _limits: LoadLimits) -> GpuReads:
        return card

    async def bandwidth(device: str) -> float:
        asked.append(device)
        if len(asked) == 1:
            raise RuntimeError("CUDA out of memory")
        return 4.25e12

    monkeypatch.setattr(model_speeds, "gpu_reads", reads)
    monkeypatch.setattr(model_speeds, "gpu_bandwidth", bandwidth)
    model = await _tiny(services, tmp_path / "a.gguf")
    folder = model.model_copy(update={"file_format": "safetensors"})
    assert await services.model_speeds.of(folder) is None       # the card is full: nothing is kept of that
    for _ in range(3):
        speed = await services.model_speeds.of(folder)
        assert speed is not None and speed.told == 240
        assert "the memory of NVIDIA H200, measured at 4,250 GB/s" in speed.rests_on
    card = replace(card, card="Another", weight_format="int8")
    speed = await services.model_speeds.of(folder)
    assert speed is not None and "Another" in speed.rests_on
    assert (asked, measuring.count) == (["cuda:1"] * 3, 0)


async def test_without_a_gpu_torch_is_not_asked(services: Services, tmp_path: Path) -> None:
    model = await _tiny(services, tmp_path / "a.gguf")
    assert await gpu_reads(spec_from(model), replace(services.engines.limits, gpu_layers=0)) is None


async def test_it_is_measured_once_for_a_machine_and_again_for_another(
    services: Services, measuring: Measuring
) -> None:
    for _ in range(3):
        await services.model_speeds.rate()
    await ModelSpeeds(services.db, services.engines).rate()
    assert measuring.count == 1
    measuring.machine = Machine(
        processor="Another", system="", num_cores=64, total_bytes=1 << 40, available_bytes=1 << 39
    )
    rate = await services.model_speeds.rate()
    assert (measuring.count, rate and rate.num_cores) == (2, 64)


async def test_what_is_measured_while_somebody_is_answered_is_not_kept(
    services: Services, user_id: str, measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelSpeeds, "_is_busy", lambda _self: True)
    await services.model_speeds.rate()
    assert await services.db.read(settings.get_of_system, SETTING) is None
    monkeypatch.undo()


@pytest.mark.slow
async def test_the_starter_is_foretold_by_its_weights_and_told_by_what_it_has_written(tmp_path: Path) -> None:
    """Each of its answers really written and measured. How near the two are, only a quiet machine can say: what one
    said is in tests/engine/test_speed.py.
    """
    services = Services.open(Settings(data_dir=tmp_path / "data"), load_engine)
    try:
        starter = await services.models.register_starter()
        assert starter is not None
        foretold = await services.model_speeds.of(starter)
        kept = await services.db.read(settings.get_of_system, SETTING)
        user_id = (await services.accounts.add_user("Anna", PASSWORD)).id
        short = ChatSetup(parameters={"max_tokens": 24})
        for _ in range(LEAST_ANSWERS):
            sent = await services.chat.send(user_id, None, "Tell me a story.", model_id=STARTER_ID, setup=short)
            generation = services.generations.get(sent.answer_id)
            assert generation is not None
            async for _ in generation.follow():
                pass
        told = await services.model_speeds.of(starter)
        written = [each.tokens_per_s for each in await services.db.read(answer_speeds)]
    finally:
        await services.stop()
        services.close()
    assert isinstance(kept, dict) and foretold is not None and told is not None
    num_bytes = bytes_per_token(read_header(Path(starter.path)))
    assert foretold.tokens_per_s == pytest.approx(
        expected_tokens_per_s(num_bytes, kept["bytes_per_s"], inspect_machine().num_cores), rel=0.001
    )
    assert told.tokens_per_s == median(written)
    assert told.rests_on == f"Measured from the latest {LEAST_ANSWERS} answers it has written here."
