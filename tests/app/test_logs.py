"""Logs are for people; that they cannot be written is no fault of whoever had something to say."""

from __future__ import annotations

import io
import sys

import pytest
import structlog

from app.logs import set_up_logs


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stderr", [None, FullDisk()])
def test_a_log_that_goes_nowhere_stops_nothing(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO | None) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    set_up_logs()
    log = structlog.get_logger("test")
    log.warning("something", detail=1)
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("something broke")


def test_a_line_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs()
    structlog.get_logger("test").info("model loaded", model="parrot")
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "model loaded" in captured.err
    assert "model=parrot" in captured.err
