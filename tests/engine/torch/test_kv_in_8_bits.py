"""Keys and values in 8 bits (`--kv-type q8_0`): near what was written, half of the bytes, the same in any company.

Kernels over them are in test_kernels.py; what they cost in quality, in tests/benchmarks/weights.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.backends.torch.backend import TorchBackend, TorchConfig
from engine.backends.torch.folder import read_folder
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.memory import OwnLimits
from engine.params import SamplingParams
from tests.engine.driving import Driver
from tests.engine.sameness import STORY, ask, assert_same
from tests.engine.torch.tiny_folder import write_tiny_folder

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_folder(tmp_path / "tiny", head_dim=64, hidden_size=64)


def test_what_is_read_is_near_what_was_written_and_takes_half(folder: Path) -> None:
    config = read_folder(folder).config
    plain, small = (PagedKv(config, 4, torch.bfloat16, CPU, quantises=each) for each in (False, True))
    assert small.num_bytes / plain.num_bytes == pytest.approx(0.516, abs=0.001)
    positions = torch.arange(40)
    table = torch.tensor([2, 0, 3])
    chance = torch.Generator().manual_seed(1)
    keys, values = torch.randn(2, 40, 2, 64, generator=chance) * torch.logspace(-4, 3, 40)[:, None, None]
    keys[7], values[8] = 0.0, 60_000.0
    kv = PagedKv(config, 4, torch.float32, CPU, quantises=True)
    kv.write(1, table[positions // BLOCK_SIZE], positions, keys, values)
    for found, written in zip(kv.read(1, table, 40), (keys, values), strict=True):
        error = (found.transpose(0, 1) - written).norm(dim=-1) / written.norm(dim=-1).clamp(min=1e-9)
        assert error.max() < 0.015
    kv.copy_beginnings([(0, 1, 5)])
    torch.testing.assert_close(kv.read(1, torch.tensor([1]), 5), kv.read(1, torch.tensor([0]), 5))


def test_chunks_cached_prefixes_and_batch_mates_change_nothing(folder: Path) -> None:
    def driver(num_tokens: int) -> Driver:
        return Driver(TorchBackend(TorchConfig(
            folder=folder, device="cpu", dtype="float32", num_blocks=30, max_model_len=256, max_num_seqs=4,
            max_num_batched_tokens=num_tokens, kv_type="q8_0",
        )))

    asked = [ask(f"r{number}", f"{STORY}{number}", max_tokens=8) for number in range(3)]
    whole, chunked = driver(256), driver(20)
    for each in asked:
        whole.run(replace(each, cache_key=each.request_id))         # without each other's prefixes
    chunked.run(*asked)
    assert chunked.cached["r2"] > 0
    assert_same(chunked.tokens, whole.tokens)


async def test_a_setting_gives_twice_the_tokens_for_the_same_memory(folder: Path) -> None:
    plan = read_folder(folder)
    assert plan.kv_bytes_per_token("float32", "q8_0") == 2 * 2 * 2 * (64 + 2)
    limits = LoadLimits(context_tokens=512, max_num_seqs=2, gpu_layers=0)
    spec = ModelSpec("tiny", "Tiny", folder, "1", own_limits=OwnLimits(kv_type="q8_0"))
    engine = await load_engine(spec, limits)
    try:
        params = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
        deltas = [delta async for delta in engine.complete("Once upon a time", params)]
        assert deltas[-1].usage is not None and deltas[-1].usage.completion_tokens == 8
        assert engine.info.kv_type == "q8_0"
    finally:
        await engine.close()
