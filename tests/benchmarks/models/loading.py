"""How long a model takes to be there, and to change from one that is there to another."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

from app.services.container import Services
from app.services.models import STARTER_ID, find_starter
from app.settings import Settings
from engine.engine import ChatMessage, ChatRequest
from engine.load import load_engine
from engine.params import SamplingParams
from tests.benchmarks.ui.figures import Figure, median

MAX_LOAD_S, MAX_SWITCH_S = 1.5, 0.1
SHORT = ChatRequest(
    messages=(ChatMessage(role="user", content="Say hi."),), params=SamplingParams(temperature=0.0, max_tokens=1)
)


async def loading(repetitions: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        services = Services.open(Settings(data_dir=Path(folder)), load_engine)
        try:
            return await _measured(services, Path(folder), repetitions)
        finally:
            await services.stop()
            services.close()


async def _measured(services: Services, folder: Path, repetitions: int) -> list[Figure]:
    await services.models.register_starter()
    starter = find_starter()
    assert starter is not None
    other = (await services.models.add(Path(shutil.copy(starter, folder / "other.gguf")), name="Other")).id
    first_s = await _loaded_in(services, STARTER_ID)
    again_s = [await _loaded_in(services, STARTER_ID) for _ in range(repetitions)]

    both = (STARTER_ID, other)
    for model_id in both:
        await _answered_in(services, model_id)
    staying_s = [await _answered_in(services, model_id) for model_id in both for _ in range(repetitions)]
    switching_s = [await _answered_in(services, model_id) for _ in range(repetitions) for model_id in both]
    return [
        Figure("load, the first time", first_s, "s", note="with its trial in a child process"),
        Figure("load", median(again_s), "s", MAX_LOAD_S, note=_spread(again_s)),
        Figure("first token, of the model asked before", median(staying_s), "s", note=_spread(staying_s)),
        Figure("first token, of the other one", median(switching_s), "s", note=_spread(switching_s)),
        Figure("switch", median(switching_s) - median(staying_s), "s", MAX_SWITCH_S, note="the difference of these"),
    ]


async def _loaded_in(services: Services, model_id: str) -> float:
    await services.engines.unload(model_id)
    begun_s = time.perf_counter()
    async with services.engines.acquire(model_id):
        return time.perf_counter() - begun_s


async def _answered_in(services: Services, model_id: str) -> float:
    begun_s = time.perf_counter()
    async with services.engines.acquire(model_id) as engine, aclosing(engine.chat(SHORT)) as deltas:
        async for delta in deltas:
            if delta.num_tokens:
                return time.perf_counter() - begun_s
    raise SystemExit(f"{model_id} wrote nothing")


def _spread(times_s: list[float]) -> str:
    return f"median of {len(times_s)}, {min(times_s):.3f} to {max(times_s):.3f}"
