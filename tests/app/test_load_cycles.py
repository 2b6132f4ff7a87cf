"""CASE 16: twenty loads and unloads of a model, in real llama.cpp, leave this process' memory as it was within 5 %."""

from __future__ import annotations

import gc
from pathlib import Path

import psutil
import pytest

from app.services.container import Services
from engine.engine import ChatMessage, ChatRequest
from engine.load import load_engine
from engine.params import SamplingParams
from tests.engine.tiny_gguf import write_tiny_gguf

NUM_WARM_UPS, NUM_CYCLES = 3, 20
HI = ChatRequest(
    messages=(ChatMessage(role="user", content="Hello there, " * 20),), params=SamplingParams(max_tokens=4)
)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="measured as Linux counts")
async def test_they_leave_memory_as_it_was(services: Services, tmp_path: Path) -> None:
    services.engines.loader = load_engine
    model_id = (await services.models.add(write_tiny_gguf(tmp_path / "tiny.gguf"))).id

    async def cycle() -> None:
        async with services.engines.acquire(model_id) as engine:
            answer = [delta async for delta in engine.chat(HI)]
        assert answer[-1].finish_reason is not None
        await services.engines.unload(model_id)

    for _ in range(NUM_WARM_UPS):
        await cycle()
    before = resident_bytes()
    for _ in range(NUM_CYCLES):
        await cycle()
    assert resident_bytes() < before * 1.05


def resident_bytes() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss
