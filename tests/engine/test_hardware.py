"""What the machine is said to have, on this one and in a container with limits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine import hardware
from engine.backends.llama_cpp import devices
from engine.backends.llama_cpp.devices import usable_gpus
from engine.hardware import NativeDevice, cpu_device, find_gpus, gpu_device, inspect_machine, native_devices


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
    assert ("CPU", "cpu") in [(device.name, device.kind) for device in native_devices()]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_llama_cpp_itself_is_asked_not_a_second_copy_of_its_parts() -> None:
    """Which has a registry of its own: a device that llama.cpp was told of is not in it. In a process of its own, for
    what any other test opens stays open.
    """
    script = """
from pathlib import Path
from engine.backends.llama_cpp.abort_flag import AbortFlag
from engine.backends.llama_cpp.devices import list_devices
list_devices(), AbortFlag()
files = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "/libggml" in line}
print(*sorted({Path(file).name.split(".")[0] for file in files}), len(files))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *parts, num_files = ended.stdout.split()
    assert "libggml" in parts and int(num_files) == len(parts)


def test_a_library_elsewhere_is_looked_at_where_it_is_loaded_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libggml-cuda.so").touch()
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    assert devices.has_gpu_build()


class TestGpus:
    async def test_a_build_without_parts_for_any_is_not_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ("libggml-base.so.0", "libggml-cpu.so", "libggml.so", "libllama.so", "ggml-blas.dll")
        monkeypatch.setattr(devices, "library_files", lambda: [Path(name) for name in names])
        monkeypatch.setattr("asyncio.create_subprocess_exec", None)
        assert await find_gpus() == ()

    @pytest.mark.parametrize("part", ["libggml-cuda.so", "ggml-vulkan.dll", "libggml-metal.dylib", "libggml-hip.so.0"])
    async def test_one_with_such_a_part_is_asked_in_a_process_of_its_own(
        self, monkeypatch: pytest.MonkeyPatch, part: str
    ) -> None:
        asked: list[list[devices.Device]] = []

        def note(found: list[devices.Device]) -> list[devices.Device]:
            asked.append(found)
            return usable_gpus(found)

        monkeypatch.setattr(devices, "library_files", lambda: [Path(part)])
        monkeypatch.setattr(devices, "usable_gpus", note)
        assert await find_gpus() == ()
        ((name, kind, _, total_bytes, _),), = asked
        assert (name, kind) == ("CPU", "cpu")
        assert total_bytes > 0

    @pytest.mark.parametrize("script", ["import os; os.abort()", "print('[no list')", "print('{}')", ""])
    async def test_what_goes_wrong_there_means_none(self, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
        start = asyncio.create_subprocess_exec

        async def start_another(program: str, *_: str, **options: Any) -> asyncio.subprocess.Process:
            return await start(program, "-c", script, **options)

        monkeypatch.setattr(devices, "library_files", lambda: [Path("libggml-cuda.so")])
        monkeypatch.setattr(asyncio, "create_subprocess_exec", start_another)
        assert await find_gpus() == ()

    def test_integrated_ones_serve_only_where_there_is_no_other(self) -> None:
        cpu, card, chip = (("CPU", "cpu", "", 9, 9), ("CUDA0", "gpu", "", 9, 9), ("Vulkan0", "igpu", "", 9, 9))
        assert usable_gpus([chip, card, cpu]) == [card]
        assert usable_gpus([chip, cpu]) == [chip]
        assert usable_gpus([cpu]) == []

    def test_a_card_that_two_drivers_show_is_taken_once(self) -> None:
        found = [(name, "gpu", "", 9, 9) for name in ("CUDA0", "CUDA1", "Vulkan0", "Vulkan1")]
        assert usable_gpus(found) == found[:2]

    @pytest.mark.parametrize("name, kind, is_shared", [
        ("CUDA0", "gpu", False), ("Vulkan0", "igpu", True), ("Metal", "gpu", True), ("MTL0", "gpu", True),
    ])
    def test_memory_is_the_cards_or_the_hosts(self, name: str, kind: str, is_shared: bool) -> None:
        facts = gpu_device(NativeDevice(name, kind, "", 1000, 600), promised_bytes=100)
        assert (facts.total_bytes, facts.available_bytes, facts.is_shared) == (1000, 500, is_shared)


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
