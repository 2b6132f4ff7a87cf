"""Weights in few bits, from the setting to the answer: what is loaded says so, and what does not fit names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.backends.torch.device import TorchDevice
from engine.backends.torch.folder import read_folder
from engine.errors import OutOfMemory
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.load_torch import _plan, _step_tokens
from engine.memory import DeviceFacts, OwnLimits, WeightFormat
from engine.params import SamplingParams
from tests.engine.torch.tiny_folder import write_tiny_folder

GIB = 1 << 30
LIMITS = LoadLimits(context_tokens=1024, max_num_seqs=1, gpu_layers=0)


@pytest.mark.parametrize("weight_format", ["fp8", "int8", "int4"])
async def test_a_model_answers_with_its_weights_in(weight_format: WeightFormat, tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", hidden_size=128, head_dim=16)
    sizes = []
    for own in (OwnLimits(), OwnLimits(weight_format=weight_format)):
        engine = await load_engine(ModelSpec("tiny", "Tiny", folder, "1", own_limits=own), LIMITS)
        try:
            params = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
            deltas = [delta async for delta in engine.complete("Once upon a time", params)]
            assert deltas[-1].usage is not None and deltas[-1].usage.completion_tokens == 8
            assert engine.info.quantisation == (own.weight_format or "F32").upper()
            sizes.append(engine.info.weight_bytes)
        finally:
            await engine.close()
    assert sizes[1] < 0.7 * sizes[0]


@pytest.mark.parametrize(("total", "expected"), [(140, 16384), (24, 8700), (6, 6500)])
def test_a_step_of_an_8b_takes_no_more_than_the_plan_left_for_it(total: int, expected: int, tmp_path: Path) -> None:
    folder = read_folder(write_tiny_folder(tmp_path / "tiny"))
    config = replace(
        folder.config, hidden_size=4096, intermediate_size=14336, num_heads=32, num_kv_heads=8, head_dim=128
    )
    facts = DeviceFacts(name="GPU", total_bytes=total * GIB, available_bytes=total * GIB)
    device = TorchDevice(name="cuda:0", dtype="bfloat16", facts=facts)
    assert _step_tokens(replace(folder, config=config), device) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(("available", "says"), [(14, "--weights int8"), (9, "--weights int4"), (2, None)])
def test_what_does_not_fit_the_gpu_says_with_which_weights_it_would(
    available: int, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = read_folder(write_tiny_folder(tmp_path / "tiny"))
    sizes = {None: 15 * GIB, "int8": 8 * GIB, "int4": 5 * GIB}
    monkeypatch.setattr(type(folder), "weight_bytes", lambda self, dtype, weight_format=None: sizes[weight_format])
    facts = DeviceFacts(name="GPU", total_bytes=16 * GIB, available_bytes=available * GIB)
    device = TorchDevice(name="cuda:0", dtype="bfloat16", facts=facts)
    with pytest.raises(OutOfMemory) as refused:
        _plan(ModelSpec("big", "Big", folder.path, "1"), folder, device, LoadLimits())
    if says is None:
        assert "--weights" not in str(refused.value)
    else:
        assert str(refused.value).endswith(f"it fits: inglenook models set big {says}.")
