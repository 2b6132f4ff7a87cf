"""The product over a model that says a set number of words a second, in a process of its own. For the benchmarks only.

    python -m tests.benchmarks.ui.server DATA_DIR TOKENS_A_SECOND

Everything but the arithmetic is the product's: settings, door, store, generations, scheduler, engine thread, stream.
Asked for "N tokens", the model writes N. Says its address as one line of JSON, then answers commands on stdin, a line
each: `ask USER_ID COUNT NUM_TOKENS` starts as many chats and gives the ids of their answers, `clients` the number of
NiceGUI clients that are held. Serves until SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path

from nicegui import Client

from app.main import Ready, Server
from app.services.container import Services
from app.services.engines import Loader
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.batch import Batch, BatchRow, SampledToken, StepOutput
from engine.core import EngineCore
from engine.engine import Engine, EngineInfo
from engine.load import LoadLimits, ModelSpec
from engine.local import LocalEngine
from store import models
from store.tables import Model

MODEL_ID = "paced"
MAX_NUM_SEQS = 64
DEFAULT_NUM_TOKENS = 200
SENTENCES = (
    "The model answers here in words of about four letters, as tokens of real models have them.\n\n",
    "- a list has **bold** words, `code` and a [link](https://example.org/)\n- and a second item\n\n",
    "```python\ndef double(number):\n    return 2 * number  # a comment\n```\n\n",
    "| name | value |\n|---|--:|\n| one | 1 |\n| two | 2 |\n\n",
)
WORDS = tuple(re.findall(r"\s*\w+|\s*[^\w\s]+|\s+", "".join(SENTENCES)))


class PacedBackend(ScriptedBackend):
    """A step each 1 / `tokens_per_s`, a word for each row. It keeps no KV: what it costs is what is not measured."""

    def __init__(self, tokens_per_s: float) -> None:
        tokenizer = ByteTokenizer(pieces=[word.encode() for word in dict.fromkeys(WORDS)])
        super().__init__(
            tokenizer=tokenizer, max_num_seqs=MAX_NUM_SEQS, num_blocks=1 << 15, max_model_len=1 << 14,
            max_num_batched_tokens=1 << 14, prefix_cache=False,
        )
        self._word_ids = [tokenizer.piece_id(word.encode()) for word in WORDS]
        self._end_id = tokenizer.end_of_turn_id
        self._interval_s = 1 / tokens_per_s
        self._next_step_s = 0.0
        self._num_wanted: dict[int, int] = {}       # tokens, by slot

    def execute(self, batch: Batch) -> StepOutput:
        if batch.rows:
            now_s = time.monotonic()
            time.sleep(max(0.0, self._next_step_s - now_s))         # this is the pace, and the engine's own thread
            self._next_step_s = max(now_s, self._next_step_s) + self._interval_s
        return StepOutput([self._next(row) for row in batch.rows])

    def check_integrity(self) -> None:
        pass

    def _next(self, row: BatchRow) -> tuple[SampledToken, ...]:
        if row.sampling is None:
            return ()
        token_ids, num_prompt_tokens = row.sampling.token_ids, row.sampling.num_prompt_tokens
        index = len(token_ids) - num_prompt_tokens
        if index == 0:
            asked = re.findall(r"(\d+) tokens", self.tokenizer.decode(token_ids[:num_prompt_tokens]))
            self._num_wanted[row.slot] = int(asked[-1]) if asked else DEFAULT_NUM_TOKENS
        is_end = index >= self._num_wanted[row.slot]
        return (SampledToken(self._end_id if is_end else self._word_ids[index % len(WORDS)]),)


def loader(tokens_per_s: float) -> Loader:
    async def load(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        core = await EngineCore.start(spec.model_id, lambda: PacedBackend(tokens_per_s), max_queue=limits.max_queue)
        info = EngineInfo(
            model_id=spec.model_id, name=spec.name, version=spec.version, backend="scripted", device="cpu",
            quantisation="", max_model_len=core.info.max_model_len, max_num_seqs=core.info.max_num_seqs,
            has_chat_template=True,
        )
        return LocalEngine(core, info)

    return load


async def make_model_known(services: Services) -> None:
    row = Model(id=MODEL_ID, name="Paced", path="/nowhere/paced.gguf", file_format="gguf", size_bytes=1, modified_ns=1)
    await services.db.run(models.upsert, row)


async def obey(services: Services) -> None:
    """The commands on stdin, until it ends."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode():
        match line.split():
            case ["ask", user_id, count, num_tokens]:
                sent = [
                    await services.chat.send(user_id, None, f"Write {num_tokens} tokens.", model_id=MODEL_ID)
                    for _ in range(int(count))
                ]
                print(json.dumps([each.answer_id for each in sent]), flush=True)
            case ["clients"]:
                print(json.dumps(len(Client.instances)), flush=True)


def main() -> None:
    data_dir, tokens_per_s = Path(sys.argv[1]), float(sys.argv[2])
    server = Server(Settings(data_dir=data_dir, port=0, model=MODEL_ID), loader=loader(tokens_per_s))
    tasks: set[asyncio.Task[None]] = set()

    def on_ready(ready: Ready) -> None:
        assert server.services is not None
        tasks.add(asyncio.get_running_loop().create_task(obey(server.services)))
        print(json.dumps({"url": ready.url}), flush=True)

    server.run(on_ready)


if __name__ == "__main__":
    main()
