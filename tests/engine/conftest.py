"""What the conformance suites share: every back end in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.backends.base import Backend
from tests.engine import sameness
from tests.engine.conformance import BACKENDS, Shape

Make = Callable[..., Backend]               # of a Shape, or of the usual one

USUAL = Shape()
IN_16_BITS = 0.3                            # of a log probability; a block in the wrong place is off by more


@pytest.fixture(params=sorted(BACKENDS))
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    if request.param in ("torch", "torch-others"):
        pytest.importorskip("torch")        # `make test` installs it, `make check` does without
    if request.param == "torch-cuda":
        monkeypatch.setattr(sameness, "ROUNDING", IN_16_BITS)
    made: list[Backend] = []

    def make_backend(shape: Shape = USUAL) -> Backend:
        made.append(BACKENDS[request.param](shape, tmp_path, None))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()
