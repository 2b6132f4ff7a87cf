"""The child process of a grammar's trial: compiles what a caller sent. It may hang, run out of memory, or die of it.

Started by `engine.grammar_trial`. It reports its refusal: "" where there is none.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from importlib import import_module

from engine.child import report, take_task
from engine.grammar import GrammarKind
from engine.grammar_library import GrammarRefused, byte_tokenizer, new_matcher, to_lark

PROCESSOR_TIME_S = 4
MEMORY_BYTES = 1 << 30
STACK_BYTES = 1 << 20        # far less than a thread of the parent has: what passes here does not overflow there


def main() -> int:
    _limit_itself()
    task = take_task()
    threading.stack_size(STACK_BYTES)
    given = (GrammarKind(task["kind"]), task["source"], task["before"], task["marker_ids"])
    trial = threading.Thread(target=_try, args=given)
    trial.start()
    trial.join()
    return 0


def _try(kind: GrammarKind, source: str, before: str, marker_ids: list[int]) -> None:
    reason = ""
    try:
        new_matcher(to_lark(kind, source, before), byte_tokenizer(marker_ids))
    except GrammarRefused as refusal:
        reason = str(refusal) or "it was refused without a reason"
    report(refusal=reason)


def _limit_itself() -> None:
    with contextlib.suppress(ImportError):                       # Windows has no such module: the clock ends it there
        resource = import_module("resource")
        limits = (
            (resource.RLIMIT_CPU, PROCESSOR_TIME_S), (resource.RLIMIT_AS, MEMORY_BYTES),
        )
        for kind, most in limits:
            with contextlib.suppress(ValueError, OSError):       # macOS knows no limit of address space
                resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    sys.exit(main())
