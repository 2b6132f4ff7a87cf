"""A server in a process of its own that is writing an answer, to be ended in all sorts of ways: run by test_serving.

    python -m tests.app.answering_server DATA_DIR

Says "ready URL ANSWER_ID" and then "shown N" as the answer grows, a character every 5 ms.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from app.main import Ready, Server
from app.services.container import Services
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from tests.app.house import PASSWORD, Shelf

STEP_S = 0.005


def slow_alphabet(token_ids: Sequence[int], num_prompt_tokens: int) -> int:
    threading.Event().wait(STEP_S)      # the time that a real model needs
    return ord("a") + (len(token_ids) - num_prompt_tokens) % 26


async def answer(services: Services, shelf: Shelf, url: str) -> None:
    await shelf.put(services, "slow", lambda: ScriptedBackend(slow_alphabet))
    users = await services.accounts.list_users()
    user = users[0] if users else await services.accounts.add_user("Anna", PASSWORD)
    sent = await services.chat.send(user.id, None, "Recite", model_id="slow")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    print("ready", url, sent.answer_id, flush=True)
    async for _ in generation.follow():
        print("shown", len(generation.text), flush=True)


def main() -> None:
    shelf = Shelf()
    server = Server(Settings(data_dir=Path(sys.argv[1]), port=0), loader=shelf.load)
    tasks = []

    def on_ready(ready: Ready) -> None:
        assert server.services is not None
        tasks.append(asyncio.ensure_future(answer(server.services, shelf, ready.url)))

    server.run(on_ready)
    print("ended with", threading.active_count(), "thread", flush=True)


if __name__ == "__main__":
    main()
