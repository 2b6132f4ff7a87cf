"""Compiles a caller's grammar in a child process first: one of 10,000 rules ends the process that it is in, and sixty
patterns that must all match take minutes. Called by `GrammarCompiler`, on the event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec

_CHILD_MODULE = "engine.grammar_trial_child"
_TIMEOUT_S = 10.0            # by the clock on the wall; the child allows itself less of the processor's time


async def try_grammar(spec: GrammarSpec) -> None:
    """Returns where it can be compiled here as well. Raises InvalidRequest that says why not."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", _CHILD_MODULE,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=_environment(), creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    task = json.dumps({"kind": spec.kind, "source": spec.source, "marker_ids": sorted(spec.marker_ids)})
    try:
        out, _ = await asyncio.wait_for(process.communicate(task.encode()), _TIMEOUT_S)
    except TimeoutError as timeout:
        raise refusal(spec, "it takes too long to compile") from timeout
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0 or not out:
        raise refusal(spec, "it takes too much time, memory or depth to compile")
    error: str | None = json.loads(out)["error"]
    if error is not None:
        raise refusal(spec, error)


def refusal(spec: GrammarSpec, reason: str) -> InvalidRequest:
    return InvalidRequest(f"{spec.param} cannot be enforced: {reason.rstrip('.')}.", param=spec.param)


def _environment() -> dict[str, str]:
    """The child imports this very package, wherever it is installed."""
    root = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
