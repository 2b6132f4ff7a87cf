"""What the machine is said to have, on this one and in a container with limits."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from engine import hardware
from engine.hardware import cpu_device, inspect_machine, native_devices


def test_this_machine_has_cores_and_memory() -> None:
    machine = inspect_machine()
    assert 1 <= machine.num_cores <= (psutil.cpu_count() or 1)
    assert 0 < machine.available_bytes <= machine.total_bytes <= psutil.virtual_memory().total
    assert machine.processor
    assert cpu_device(machine).available_bytes == machine.available_bytes


def test_what_other_models_were_promised_is_not_available() -> None:
    machine = inspect_machine()
    assert cpu_device(machine, 1000).available_bytes == machine.available_bytes - 1000
    assert cpu_device(machine, 1 << 60).available_bytes == 0
    assert cpu_device(machine, 1000).total_bytes == machine.total_bytes


def test_the_library_finds_the_processor() -> None:
    assert "CPU" in [device.name for device in native_devices()]


@pytest.mark.parametrize("files", [
    {"memory.max": "1073741824", "memory.current": "629145600", "memory.stat": "anon 1\ninactive_file 104857600\n"},
    {
        "memory/memory.limit_in_bytes": "1073741824",
        "memory/memory.usage_in_bytes": "629145600",
        "memory/memory.stat": "inactive_file 5\ntotal_inactive_file 104857600\n",
    },
])
def test_a_containers_limit_counts_without_its_page_cache(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(hardware, "_CGROUP", tmp_path)
    machine = inspect_machine()
    assert machine.total_bytes == 1 << 30
    assert machine.available_bytes == (1 << 30) - 629_145_600 + 104_857_600


@pytest.mark.parametrize("quota, num_cores", [("100000 100000", 1), ("50000 100000", 1), ("max 100000", None)])
def test_a_containers_share_of_the_processor_counts(
    quota: str, num_cores: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlimited = inspect_machine().num_cores
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(hardware, "_CGROUP", tmp_path)
    assert inspect_machine().num_cores == (num_cores or unlimited)
