"""Numbers that come as text: as programs and people write them, and not whatever Python would read."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands import _adapter
from app.numbers import decimal_number, typed_number, whole_number
from engine.errors import ModelLoadError

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
def test_what_is_no_number_after_an_adapter_is_part_of_its_name_or_a_slip(scale: str, tmp_path: Path) -> None:
    style = tmp_path / "style.gguf"
    assert (_adapter(f"{style}=0.5").path, _adapter(f"{style}=0.5").scale) == (style, 0.5)
    named = _adapter(f"{style}={scale}")
    assert (named.path.name, named.scale) == (f"style.gguf={scale}", 1.0)
    style.touch()
    with pytest.raises(ModelLoadError, match=f"cannot act with the scale {scale}"):
        _adapter(f"{style}={scale}")
    named.path.touch()
    assert _adapter(f"{style}={scale}") == named
