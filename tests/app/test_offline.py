"""Without a network: the start and an answer ask for nothing beyond this machine, no name and no connection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_start_and_an_answer_reach_for_nothing_outside(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.app.offline_server", str(tmp_path / "data")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("outside")] == [], done.stderr
    assert lines and lines[-1].startswith("answered"), done.stderr
    assert "Paris" in lines[-1]
