"""Runs a reader of headers in a process that may have 200 MB, on files that claim what they like."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def in_200_mb(folder: Path, module: str, function: str, pattern: str) -> subprocess.CompletedProcess[str]:
    """Each file must be refused in less than 200 million steps of a loop take here: 7 s of a fast processor."""
    script = (
        "import sys, time\nsys.path.append(sys.argv[1])\nfrom pathlib import Path\n"
        "from engine.errors import ModelLoadError\n"
        f"from {module} import {function} as read\n"
        "begun_s = time.process_time()\nsum(number * number for number in range(5_000_000))\n"
        "most_s = 40 * (time.process_time() - begun_s)\n"
        "for path in Path(sys.argv[1]).glob(sys.argv[2]):\n"
        "    start_s = time.process_time()\n"
        "    try:\n        read(path)\n        sys.exit(f'{path} was read')\n"
        "    except ModelLoadError:\n        pass\n"
        "    took_s = time.process_time() - start_s\n"
        "    if took_s > most_s:\n        sys.exit(f'{path} took {took_s} of {most_s} s')\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script, str(folder), pattern],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)),
    )
