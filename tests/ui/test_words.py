"""Numbers, times and names as people read them."""

from __future__ import annotations

from contextvars import copy_context
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.language import languages
from engine.sizes import GIB, MIB
from tests.app.measured import run_of
from ui.bench.words import with_what
from ui.language import speak_in_request, t
from ui.words import (
    brief,
    context,
    date,
    day_label,
    folder,
    greeting,
    initials,
    last,
    number,
    percent,
    seconds,
    size,
    speed,
    when,
)

NOON = datetime(2026, 3, 10, 12, 0)


@pytest.mark.parametrize(
    ("hour", "words"),
    [(3, "Hello"), (5, "Good morning"), (12, "Good afternoon"), (18, "Good evening"), (23, "Hello")],
)
def test_the_greeting_fits_the_hour(hour: int, words: str) -> None:
    assert greeting("Mira Kovač", NOON.replace(hour=hour)) == f"{words}, Mira"


@pytest.mark.parametrize(
    ("name", "letters"), [("Mira Kovač", "MK"), ("ada", "A"), ("Anna Maria de Vries", "AV"), ("李雷", "李")]
)
def test_initials_are_of_the_first_and_the_last_name(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_a_folder_is_told_as_a_shell_would(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    paths = (tmp_path / "models", tmp_path, tmp_path.parent)
    assert [folder(path) for path in paths] == [str(Path("~", "models")), "~", str(tmp_path.parent)]


def test_numbers_have_units_and_a_space() -> None:
    assert [size(98 * MIB), size(5 * GIB), size(GIB // 2)] == ["98 MiB", "5.0 GiB", "0.5 GiB"]
    assert [context(512), context(2048), context(32768)] == ["512", "2k", "32k"]
    assert [seconds(0.84), seconds(59.9), seconds(61.2)] == ["0.8 s", "59.9 s", "1 min 1 s"]
    assert [number(1234), number(1.25, 1), number(0.5, None)] == ["1,234", "1.2", "0.5"]


def test_a_day_in_a_list_is_as_short_as_it_can_be() -> None:
    days = (NOON, datetime(2026, 3, 9, 8, 0), datetime(2026, 1, 2, 8, 0), datetime(2025, 12, 31, 8, 0))
    assert [day_label(at, NOON) for at in days] == ["Today", "Yesterday", "2 Jan", "31 Dec 2025"]
    assert date(NOON) == "10 Mar 2026"


def test_numbers_and_days_are_written_as_the_language_writes_them() -> None:
    def german() -> None:
        speak_in_request(languages()["de"])
        assert [size(5 * GIB), seconds(0.84), number(1234.5, 1)] == ["5,0\u00a0GiB", "0,8\u00a0s", "1.234,5"]
        assert [day_label(datetime(2026, 1, 2, 8, 0), NOON), date(NOON)] == ["2. Jan.", "10.03.2026"]
        assert greeting("Mira Kovač", NOON) == "Guten Tag, Mira"

    copy_context().run(german)


def test_when_something_happened_is_told_by_its_day() -> None:
    noon = datetime(2026, 3, 10, 12, 0).astimezone()
    days = [when(noon - timedelta(days=number), noon) for number in (-1, 0, 1, 2)]
    assert days == ["today", "today", "yesterday", "on 8 Mar 2026"]
    assert last("settings-key-used", None) == "not used yet"

    def german() -> None:
        speak_in_request(languages()["de"])
        assert t("people-seen", when=when(noon - timedelta(days=2), noon)) == "Zuletzt am 08.03.2026 da"
        assert t("connection-answered", when=when(noon, noon)) == "antwortete heute"

    copy_context().run(german)


def test_times_speeds_and_shares_that_change_are_short() -> None:
    assert [brief(value_s) for value_s in (0.00123, 0.0249, 0.4213, 0.996, 1.94, 34.2, 60.0)] == [
        "1.2 ms", "25 ms", "420 ms", "1 s", "1.9 s", "34 s", "60 s",
    ]
    assert [speed(tokens_per_s) for tokens_per_s in (0.0, 0.42, 9.96, 41.3)] == [
        "0 tok/s", "0.4 tok/s", "10.0 tok/s", "41 tok/s",
    ]
    assert (percent(None), percent(0.0), percent(0.624)) == (None, "0 %", "62 %")


def test_of_a_server_elsewhere_no_more_is_told_than_is_known() -> None:
    row = run_of("parrot")
    row.backend, row.device, row.kv_type, row.max_num_seqs, row.num_threads = "HTTP", "elsewhere", "", 256, 0
    assert with_what(row).startswith("HTTP to a server elsewhere, 4k context, Inglenook ")
