"""Numbers that come as text: as programs and people write them, and not whatever Python would read."""

from __future__ import annotations

import pytest

from app.commands import _path_and_scale
from app.numbers import decimal_number, typed_number, whole_number

ODD = ["", " 1", "1 ", "1_0", "٥", "nan", "inf", "1e400", "0x10", "9" * 19, "1.5.5", "--1"]


@pytest.mark.parametrize("text", [*ODD, "1.0"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no whole number"):
        whole_number(text)


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        decimal_number(text)


def test_numbers_are_read_as_they_are_written() -> None:
    assert [whole_number(text) for text in ("0", "-7", "+12", "050257")] == [0, -7, 12, 50257]
    assert [decimal_number(text) for text in ("1", "-.5", "2.", "1e-3")] == [1.0, -0.5, 2.0, 0.001]


def test_people_write_in_their_own_digits_with_a_comma_or_a_point() -> None:
    assert [typed_number(text) for text in (" 0,7 ", "٠٫٧", "0.7")] == [0.7, 0.7, 0.7]


@pytest.mark.parametrize("scale", ["1_0", "nan", "٥"])
def test_a_name_that_ends_with_no_number_is_a_name(scale: str) -> None:
    assert _path_and_scale("style.gguf=0.5")[1] == 0.5
    path, used = _path_and_scale(f"style.gguf={scale}")
    assert (path.name, used) == (f"style.gguf={scale}", 1.0)
