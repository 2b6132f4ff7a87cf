"""What the conformance suites share: every back end in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.backends.base import Backend
from tests.engine.conformance import BACKENDS, Shape

Make = Callable[[Shape], Backend]


@pytest.fixture(params=sorted(BACKENDS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    if request.param == "torch":
        pytest.importorskip("torch")        # `make test` installs it, `make check` does without
    made: list[Backend] = []

    def make_backend(shape: Shape) -> Backend:
        made.append(BACKENDS[request.param](shape, tmp_path, None))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()
