"""The style sheets fit every reader: lines from right to left, and text of any size. What nothing has is in none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ui.theme import ASSETS, DARK, LIGHT

SHEETS = sorted((ASSETS / "styles").glob("*.css"))
PHYSICAL = re.compile(
    r"(?<![\w-])((?:margin|padding|border|inset)-(?:left|right)(?:-(?:width|style))?|left|right|float)\s*:"
    r"|text-align\s*:\s*(?:left|right)"
)
OF_THE_DEVICE = re.compile(r"padding-(?:left|right): env\(safe-area-inset-(?:left|right)\)")
FOUR_SIDES = re.compile(r"(?<![\w-])(?:margin|padding): ([^\s;}]+) ([^\s;}]+) ([^\s;}]+) ([^\s;}!]+)")


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_nothing_is_told_to_be_left_or_right(sheet: Path) -> None:
    css = _css(sheet)
    assert [found.group() for found in PHYSICAL.finditer(OF_THE_DEVICE.sub("", css))] == []
    sides = [found.group() for found in FOUR_SIDES.finditer(re.sub(r"\((?:[^()]|\([^()]*\))*\)", "()", css))]
    uneven = [side for side in sides if (each := FOUR_SIDES.match(side)) and each[2] != each[4] and "env" not in side]
    assert uneven == [], "write padding-block and padding-inline"


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_widths_of_windows_are_measured_in_the_reader_s_own_text(sheet: Path) -> None:
    assert re.findall(r"\((?:min|max)-width: ?[\d.]+px\)", _css(sheet)) == [], "write it in em: 16 px are 1"


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_text_grows_with_the_reader_s_settings(sheet: Path) -> None:
    sizes = re.findall(r"font-size: ?([\d.]+px)|font: [^;]*?([\d.]+px)", _css(sheet))
    assert sizes == [], "write it in rem"


def test_the_browser_s_bar_has_the_page_s_own_colours() -> None:
    tokens = (ASSETS / "styles" / "tokens.css").read_text(encoding="utf-8")
    assert re.findall(r"--bg: (#\w+);", tokens) == [LIGHT, DARK]


def _css(sheet: Path) -> str:
    """Without comments, and without selectors by attribute."""
    return re.sub(r"/\*.*?\*/|\[[^\]]*\]", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_no_class_is_styled_that_nothing_has() -> None:
    sources = (
        path for folder in (ASSETS.parent / "ui", ASSETS / "scripts", *(ASSETS / "build").glob("[a-z]*/"))
        for path in folder.rglob("*") if path.suffix in (".py", ".js", ".html") and "node_modules" not in path.parts
    )
    named = set(re.findall(r"[\w-]+", "\n".join(path.read_text(encoding="utf-8") for path in sources)))
    styled = {name for sheet in SHEETS for name in re.findall(r"\.(nk-[\w-]+)", _css(sheet))}
    assert sorted(styled - named) == []
