"""Numbers in settings, from wherever they come: what no machine has is refused by name, not taken and broken upon."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings
from tests.app.command_line import Inglenook

WRONG = [
    ("memory_budget_gib", each) for each in ("inf", "nan", "-inf", "-1", "0", "1e999", "1e30", "2000000")
] + [
    (name, each)
    for name in (
        "threads", "context_tokens", "max_num_seqs", "cache_bytes", "cache_disk_bytes", "gpu_layers", "main_gpu",
        "import_max_bytes", "download_bytes_per_s", "keep_alive_s", "max_queue", "session_days", "port",
    )
    for each in ("-1", "9" * 19, "9" * 400, "inf", "nan", "1.5")
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_number_that_cannot_be_is_refused_from_file_environment_and_flag(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**flags: object) -> bool:
        with pytest.raises(ValidationError) as told:
            Settings.load(data_dir=tmp_path, **flags)
        return [each["loc"] for each in told.value.errors()] == [(name,)]

    assert refused(**{name: value})
    (tmp_path / "inglenook.toml").write_text(f"{name} = '{value}'\n")
    assert refused()
    (tmp_path / "inglenook.toml").unlink()
    monkeypatch.setenv(f"INGLENOOK_{name.upper()}", value)
    assert refused()


@pytest.mark.parametrize("written", ["inf", "nan", "-inf"])
def test_a_file_may_write_such_numbers_as_toml_does(written: str, tmp_path: Path) -> None:
    (tmp_path / "inglenook.toml").write_text(f"memory_budget_gib = {written}\n")
    with pytest.raises(ValidationError):
        Settings.load(data_dir=tmp_path)


def test_the_largest_that_may_be_are_taken(tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, memory_budget_gib=1_000_000, keep_alive_s=10 * 365 * 86_400)
    assert settings.memory_budget_bytes == 1_000_000 * 2**30


@pytest.mark.parametrize("budget", ["inf", "nan", "-3", "1e30"])
def test_a_budget_without_end_is_told_on_the_command_line(inglenook: Inglenook, budget: str) -> None:
    outcome = inglenook("serve", "--memory-budget", budget, "--no-browser")
    assert outcome.exit_code == 2
    assert "The setting memory_budget_gib (" in outcome.err
