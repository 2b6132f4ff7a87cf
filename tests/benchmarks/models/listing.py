"""The page of two hundred models that lie on the disk."""

from __future__ import annotations

from pathlib import Path

from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from tests.benchmarks.ui.browser import context_of, visit
from tests.benchmarks.ui.figures import Figure, median
from tests.benchmarks.ui.house import furnished, served
from tests.e2e.conftest import chromium
from tests.engine.tiny_gguf import write_tiny_gguf

NUM_MODELS = 200
MAX_OPEN_S = 0.5


async def listing(repetitions: int) -> list[Figure]:
    async with furnished() as (data_dir, people), chromium() as browser:
        await _stock(data_dir)
        async with served(data_dir, people) as server:
            context = await context_of(browser, server.url, people.newcomer)
            visits = [await visit(context, f"{server.url}/models") for _ in range(repetitions + 1)]
    cold, *warm = [each.usable_ms / 1000 for each in visits]
    spread = f"median of {len(warm)}, {min(warm):.2f} to {max(warm):.2f}"
    return [
        Figure(f"page of {NUM_MODELS} models, cold", cold, "s"),
        Figure(f"page of {NUM_MODELS} models", median(warm), "s", MAX_OPEN_S, note=spread),
    ]


async def _stock(data_dir: Path) -> None:
    services = Services.open(Settings(data_dir=data_dir), load_engine)
    try:
        folder = data_dir / "models"
        folder.mkdir(exist_ok=True)
        for number in range(NUM_MODELS):
            await services.models.add(write_tiny_gguf(folder / f"bird-{number:03}.gguf", seed=number))
    finally:
        await services.stop()
        services.close()
