"""The product over two models that count, at a pace that a test sets, in a process of its own. For the tests here only.

    python -m tests.e2e.paced_server PORT        (its data folder stands in INGLENOOK_DATA_DIR)

Asked for "count to N", a model writes "1 2 3 … N", a number a step. How many seconds a step takes says the
file "pace" in the data folder, read before each. Everything but the arithmetic is the product's.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.instance import Instance, Note
from app.main import Ready, Server
from app.services.container import Services
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.batch import Batch, StepOutput
from tests.app.house import Shelf

MODELS = ("counter", "other")
DEFAULT_S = 0.01
NUM_NUMBERS = 2000


class Counting(ScriptedBackend):
    def __init__(self, pace: Path) -> None:
        words = [f"{number} ".encode() for number in range(1, NUM_NUMBERS + 1)]
        tokenizer = ByteTokenizer(pieces=words)
        ids = [tokenizer.piece_id(word) for word in words]

        def next_number(token_ids: list[int], num_prompt_tokens: int) -> int:
            index = len(token_ids) - num_prompt_tokens
            asked = re.findall(r"count to (\d+)", tokenizer.decode(token_ids[:num_prompt_tokens]))
            return ids[index] if index < (int(asked[-1]) if asked else 3) else tokenizer.end_of_turn_id

        super().__init__(next_number, tokenizer=tokenizer, max_num_seqs=8, num_blocks=1 << 13, max_model_len=1 << 13)   # type: ignore[arg-type]
        self._pace = pace

    def execute(self, batch: Batch) -> StepOutput:
        threading.Event().wait(pace_of(self._pace))         # the time that a real model needs
        return super().execute(batch)


def pace_of(path: Path) -> float:
    try:
        return float(path.read_text())
    except (FileNotFoundError, ValueError):
        return DEFAULT_S


async def furnish(services: Services, shelf: Shelf, make: Callable[[], ScriptedBackend]) -> None:
    for model_id in MODELS:
        await shelf.put(services, model_id, make)
    default = await services.models.default()
    if default is None or default.id not in MODELS:
        await services.models.set_default(MODELS[0])


def main() -> None:
    settings = Settings(port=int(sys.argv[1]))
    shelf = Shelf()
    server = Server(settings, loader=shelf.load)
    tasks: set[asyncio.Task[None]] = set()

    def on_ready(ready: Ready) -> None:
        assert server.services is not None
        instance.publish(Note(os.getpid(), ready.url))      # the command line finds it, as any other
        make = partial(Counting, settings.data_dir / "pace")
        task = asyncio.ensure_future(furnish(server.services, shelf, make))
        task.add_done_callback(lambda _: print(ready.url, flush=True))
        tasks.add(task)

    with Instance.claim(settings.data_dir) as instance:
        server.run(on_ready)


if __name__ == "__main__":
    main()
