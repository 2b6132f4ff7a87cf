"""The words for sizes."""

from __future__ import annotations

import pytest

from engine.sizes import GIB, MIB, rate, size


@pytest.mark.parametrize(("num_bytes", "words"), [
    (0, "0 MiB"), (400_000, "0.4 MiB"), (9.96 * MIB, "10.0 MiB"), (98 * MIB, "98 MiB"), (GIB // 8, "0.1 GiB"),
    (4.9 * GIB, "4.9 GiB"), (1400 * GIB, "1,400.0 GiB"),
])
def test_a_size_is_told_in_one_kind_of_unit(num_bytes: float, words: str) -> None:
    assert size(num_bytes) == words
    assert rate(num_bytes) == f"{words}/s"
