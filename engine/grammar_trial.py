"""Compiles a caller's grammar in a child process first: one of 10,000 rules ends the process that it is in, and sixty
patterns that must all match take minutes. Called by `GrammarCompiler`, on the event loop.
"""

from __future__ import annotations

from engine.child import run_child
from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec

_CHILD_MODULE = "engine.grammar_trial_child"
_TIMEOUT_S = 10.0            # by the clock on the wall; the child allows itself less of the processor's time


async def try_grammar(spec: GrammarSpec) -> None:
    """Returns where it can be compiled here as well. Raises InvalidRequest that says why not."""
    task = {
        "kind": spec.kind, "source": spec.source, "before": spec.before, "marker_ids": sorted(spec.marker_ids),
    }
    try:
        ended = await run_child(_CHILD_MODULE, task, timeout_s=_TIMEOUT_S)
    except TimeoutError as timeout:
        raise refusal(spec, "it takes too long to compile") from timeout
    reason: str | None = ended.find("refusal")
    if ended.code != 0 or reason is None:
        raise refusal(spec, "it takes too much time, memory or depth to compile")
    if reason:
        raise refusal(spec, reason)


def refusal(spec: GrammarSpec, reason: str) -> InvalidRequest:
    return InvalidRequest(f"{spec.param} cannot be enforced: {reason.rstrip('.')}.", param=spec.param)
