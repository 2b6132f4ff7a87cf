"""The server that is soaked, in a process of its own: the whole product over a tiny model with 32-bit KV.

    python -m tests.benchmarks.soak.server DATA_DIR

Says where it is and whose keys there are as one line of JSON, logs to stderr, and serves until SIGTERM. KV is 32-bit
because texts are compared exactly: in 16 bits a text may depend on who shared its steps. That is no setting of the
product's; so the loader is this one, given to `app.main.Server` as the product gives it its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from app.main import Ready, Server
from app.services.container import Services
from app.settings import Settings
from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.llama_cpp.streams import BLOCK_SIZE
from engine.core import EngineCore
from engine.engine import EngineInfo
from engine.load import LoadLimits, ModelSpec
from engine.local import LocalEngine
from tests.engine.tiny_gguf import write_tiny_gguf

MODEL_ID = "tiny"
PASSWORD = "correct horse battery"
PEOPLE = ("Anna", "Ben", "Carla", "Dov")
KEYS_EACH = 2

# Small enough that the answers push each other out of memory, and that prefixes have to make room.
NUM_SEQS = 12
MAX_MODEL_LEN = 1024
NUM_BLOCKS = 96
NUM_BATCHED_TOKENS = 48                 # a prompt takes many steps
KV_BYTES_A_TOKEN = 2 * 2 * 32 * 4       # two layers, K and V, 32 values of 4 bytes


async def load_with_32_bit_kv(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> LocalEngine:
    config = LlamaCppConfig(
        path=spec.path,
        max_model_len=MAX_MODEL_LEN,
        max_num_seqs=NUM_SEQS,
        cache_bytes=NUM_BLOCKS * BLOCK_SIZE * KV_BYTES_A_TOKEN,
        num_threads=1,
        max_num_batched_tokens=NUM_BATCHED_TOKENS,
        kv_type="f32",
    )
    core = await EngineCore.start(spec.model_id, lambda: LlamaCppBackend(config), max_queue=limits.max_queue)
    info = EngineInfo(
        model_id=spec.model_id,
        name=spec.name,
        version=spec.version,
        backend=f"{core.info.name} {core.info.version}",
        device=core.info.device,
        quantisation="F32",
        max_model_len=core.info.max_model_len,
        max_num_seqs=core.info.max_num_seqs,
        has_chat_template=True,
        weight_bytes=core.info.weight_bytes,
        kv_bytes=core.info.kv_bytes,
        cache_bytes=core.info.cache_bytes,
    )
    return LocalEngine(core, info)


async def furnish(settings: Settings, model: Path) -> list[str]:
    """The model and the people, before anybody can ask. Returns their keys."""
    services = Services.open(settings, load_with_32_bit_kv)
    try:
        added = await services.models.add(model)
        assert added.id == MODEL_ID
        people = [await services.accounts.add_user(name, PASSWORD) for name in PEOPLE]
        made = [await services.accounts.create_key(each.id, "soak") for each in people for _ in range(KEYS_EACH)]
        return [key for _, key in made]
    finally:
        await services.stop()
        services.close()


def main() -> None:
    data_dir = Path(sys.argv[1])
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = Settings(data_dir=data_dir, port=0, model=MODEL_ID)
    keys = asyncio.run(furnish(settings, write_tiny_gguf(data_dir / f"{MODEL_ID}.gguf")))

    def on_ready(ready: Ready) -> None:
        print(json.dumps({"url": ready.url, "keys": keys}), flush=True)

    Server(settings, loader=load_with_32_bit_kv).run(on_ready)


if __name__ == "__main__":
    main()
