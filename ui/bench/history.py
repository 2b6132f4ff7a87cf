"""What was measured here, newest first, each beside the run before it: what became slower is marked. On the Measure
page.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.services.bench_history import Apart, Since, levels_of
from store.tables import Benchmark
from ui.bench.words import moment_of, name_of, speed_of, time_of, told_since
from ui.components.elements import icon, tag
from ui.language import t

NUM_SHOWN = 30      # runs of models


def history_list(rows: Sequence[Benchmark], earlier: Sequence[Since | Apart | None], shown_run: str) -> None:
    """Into the slot that is open when it is called."""
    with tag("ul", "nk-card nk-list"):
        for row, since in zip(rows, earlier, strict=True):
            with tag("li", "nk-bench-past"):
                _entry(row, since, is_shown=row.run_id == shown_run)


def _entry(row: Benchmark, since: Since | Apart | None, *, is_shown: bool) -> None:
    levels = levels_of(row)
    best = max(levels, key=lambda level: level.tokens_per_s.median)
    with tag("div"):
        current = {"aria_current": "true"} if is_shown else {}
        with tag("a", "nk-name nk-plain", href=f"/models/bench?run={row.run_id}", **current):
            tag("span", text=t("bench-entry", model=name_of(row), date=moment_of(row.created_at)))
        tag("span", "nk-sub", t("bench-entry-with", engine=row.backend, version=row.app_version,
                                prompts=t(f"bench-prompts-{row.prompts_source}", count=row.num_prompts),
                                tokens=row.max_tokens))
    with tag("div", "nk-cell nk-num"):
        tag("b", "", t("unit-speed", number=speed_of(best.tokens_per_s.median)))
        tag("span", "", t("bench-entry-at", clients=best.concurrency))
    with tag("div", "nk-cell nk-num"):
        tag("b", "", time_of(levels[0].first_token_p50_s.median))
        tag("span", "", t("bench-entry-first", clients=levels[0].concurrency))
    with tag("div", "nk-bench-change"):
        if isinstance(since, Since) and since.foremost is not None:
            with tag("span", "nk-fit tight" if since.is_worse else "nk-fit"):
                icon("triangle-alert" if since.is_worse else "circle-check", 16)
                tag("span", text=told_since(since))
        elif since is not None:
            tag("span", "nk-sub", told_since(since))
