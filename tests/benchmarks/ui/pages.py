"""The first page and a chat of six messages: what they weigh, cold and warm, and when they can be used.

Served by `inglenook serve` itself. Cold is a browser that was never here, warm one that has been, a few times.
"""

from __future__ import annotations

from playwright.async_api import Browser

from tests.benchmarks.ui.browser import Visit, own_browser, visit
from tests.benchmarks.ui.figures import Figure, median
from tests.benchmarks.ui.house import Served

NUM_VISITS = 3          # after the first; V8 keeps what it compiled from a script's second use on
MAX_KB, MAX_REQUESTS, MAX_COLD_S, MAX_WARM_S = 400, 15, 0.8, 0.3


async def pages(served: Served, browser: Browser, repetitions: int) -> list[Figure]:
    figures = await _of(served, browser, repetitions, "first page", "/")
    return figures + await _of(served, browser, repetitions, "chat page", f"/c/{served.people.short_chat_id}")


async def _of(served: Served, browser: Browser, repetitions: int, name: str, path: str) -> list[Figure]:
    person = served.people.newcomer
    cold: list[Visit] = []
    warm: list[Visit] = []
    for _ in range(repetitions):
        async with own_browser(browser, served.url, person) as context:
            cold.append(await visit(context, served.url + path))
            for _ in range(NUM_VISITS):
                again = await visit(context, served.url + path)
            warm.append(again)
    largest = cold[0].wire.sizes.most_common(5)
    heaviest = ", ".join(f"{url.rpartition('/')[2] or '/'} {size / 1000:.0f}" for url, size in largest)
    return [
        Figure(f"{name}, cold: on the wire", cold[0].wire.num_bytes / 1000, "kB", MAX_KB, note=heaviest),
        Figure(f"{name}, cold: requests", cold[0].wire.num_requests, "", MAX_REQUESTS),
        Figure(f"{name}, warm: on the wire", warm[0].wire.num_bytes / 1000, "kB"),
        Figure(f"{name}, warm: requests", warm[0].wire.num_requests, ""),
        _usable(f"{name}, cold: interactive", cold, MAX_COLD_S),
        _usable(f"{name}, warm: interactive", warm, MAX_WARM_S),
    ]


def _usable(name: str, visits: list[Visit], goal_s: float) -> Figure:
    times_s = [each.usable_ms / 1000 for each in visits]
    note = f"median of {len(times_s)}, {min(times_s):.2f} to {max(times_s):.2f}"
    return Figure(name, median(times_s), "s", goal_s, note=note)
