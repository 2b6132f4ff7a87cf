"""Copies in another weight format, by the real library: what they are, how they differ, and what comes of failures."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from engine.copies import compare_copy, make_copy, read_original
from engine.errors import ModelLoadError, OutOfMemory
from engine.gguf import GgufHeader, read_header
from engine.hardware import Machine
from engine.memory import LoadLimits
from engine.weight_formats import FORMATS, WeightFormat, copy_bytes, format_called, formats_to_try
from tests.engine.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[2]
LIMITS = LoadLimits(threads=1)


def called(name: str) -> WeightFormat:
    found = format_called(name)
    assert found is not None
    return found


@pytest.fixture
def tiny(tmp_path: Path) -> GgufHeader:
    return read_original(write_tiny_gguf(tmp_path / "tiny.gguf"))


class TestTheTable:
    def test_numbers_are_the_formats_own(self) -> None:
        for each in FORMATS:
            assert gguf.LlamaFileType(each.file_type).name == f"MOSTLY_{each.name}"

    def test_a_format_is_found_however_it_is_spelled(self) -> None:
        assert called("q4_k_m").name == "Q4_K_M"
        assert format_called("Q9_9") is None

    def test_what_rows_do_not_fit_and_what_the_model_is_in_already_is_not_tried(
        self, tiny: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert [each.name for each in formats_to_try(tiny)] == ["Q4_0", "Q5_0", "Q8_0"]
        monkeypatch.setattr("tests.engine.tiny_gguf.EMBEDDING", 256)
        monkeypatch.setattr("tests.engine.tiny_gguf.FEED_FORWARD", 512)
        monkeypatch.setattr(gguf.GGUFWriter, "add_file_type", lambda self, _: self.add_uint32("general.file_type", 7))
        wide = read_header(write_tiny_gguf(tmp_path / "wide.gguf"))
        assert [each.name for each in formats_to_try(wide)] == ["Q4_0", "Q4_K_M", "Q5_0"]


class TestRefusedBeforeAnythingNative:
    def test_a_model_without_a_tokenizer(self, tmp_path: Path) -> None:
        path = write_tiny_gguf(tmp_path / "mute.gguf", vocabulary=False, chat_template=None)
        with pytest.raises(ModelLoadError, match="holds no tokenizer"):
            read_original(path)

    def test_a_model_in_several_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        start, add = gguf.GGUFWriter.add_name, gguf.GGUFWriter.add_tensor
        for number in range(2):
            def add_split(self: gguf.GGUFWriter, name: str, number: int = number) -> None:
                start(self, name)
                self.add_uint16("split.no", number)
                self.add_uint16("split.count", 2)

            def add_tensor(self: gguf.GGUFWriter, name: str, *args: Any, number: int = number, **kwargs: Any) -> None:
                add(self, f"{name}.{number}" if number else name, *args, **kwargs)     # each part has its own

            monkeypatch.setattr(gguf.GGUFWriter, "add_name", add_split)
            monkeypatch.setattr(gguf.GGUFWriter, "add_tensor", add_tensor)
            write_tiny_gguf(tmp_path / f"m-{number + 1:05}-of-00002.gguf")
        with pytest.raises(ModelLoadError, match=r"is one of 2 files\. Copies are made of models in one file"):
            read_original(tmp_path / "m-00001-of-00002.gguf")

    async def test_more_than_the_memory(self, tiny: GgufHeader, monkeypatch: pytest.MonkeyPatch) -> None:
        machine = Machine(processor="", system="", num_cores=1, total_bytes=1 << 30, available_bytes=50_000_000)
        monkeypatch.setattr("engine.copies.inspect_machine", lambda: machine)
        with pytest.raises(OutOfMemory, match=r"needs 0\.1 GiB of memory, and 48 MiB can be used now"):
            await compare_copy(tiny, tiny.path, LIMITS)


@pytest.mark.slow
class TestMaking:
    @pytest.mark.parametrize("name", [each.name for each in FORMATS])
    async def test_every_format_of_the_table(
        self, tiny: GgufHeader, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        target = tmp_path / "copy.gguf.part"
        before = tiny.path.read_bytes()
        await make_copy(tiny, target, called(name), LIMITS)
        copy = read_header(target)
        assert (copy.quantisation, copy.architecture, len(copy.tensors)) == (name, "llama", len(tiny.tensors))
        monkeypatch.setattr("engine.weight_formats._SLACK_BYTES", 4096)
        assert copy.file_bytes <= copy_bytes(tiny, called(name)) < 1.5 * copy.file_bytes
        assert tiny.path.read_bytes() == before

    async def test_a_copy_of_a_copy(self, tiny: GgufHeader, tmp_path: Path) -> None:
        await make_copy(tiny, tmp_path / "one.gguf", called("Q4_1"), LIMITS)
        await make_copy(read_original(tmp_path / "one.gguf"), tmp_path / "two.gguf", called("Q4_0"), LIMITS)
        assert read_header(tmp_path / "two.gguf").quantisation == "Q4_0"

    async def test_what_the_library_refuses_is_told_in_its_words(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(np, "ones", lambda shape, kind: np.full(shape, np.nan, kind))
        monkeypatch.setattr("tests.engine.tiny_gguf.np.random.default_rng", lambda _seed: _NotNumbers())
        broken = read_original(write_tiny_gguf(tmp_path / "broken.gguf"))
        with pytest.raises(ModelLoadError, match=r"makes no copy of broken\.gguf in Q8_0: .*valid.* another format"):
            await make_copy(broken, tmp_path / "copy.gguf.part", called("Q8_0"), LIMITS)

    async def test_a_disk_that_fills_leaves_what_is_no_model(self, tiny: GgufHeader, tmp_path: Path) -> None:
        target = tmp_path / "copy.gguf.part"
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
        try:
            with pytest.raises(ModelLoadError, match=r"makes no copy|is damaged"):
                await make_copy(tiny, target, called("Q8_0"), LIMITS)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert target.stat().st_size > 0
        with pytest.raises(ModelLoadError):
            read_header(target)

    @pytest.mark.parametrize("by", ["a signal", "its parent's end"])
    def test_a_child_that_ends_half_way_leaves_what_is_no_model(
        self, tiny: GgufHeader, tmp_path: Path, by: str
    ) -> None:
        target = tmp_path / "copy.gguf.part"
        os.mkfifo(target)                            # it can write only as far as somebody reads
        child = subprocess.Popen(
            [sys.executable, "-m", "engine.backends.llama_cpp.requantise_child"], cwd=ROOT,
            stdin=subprocess.PIPE, text=True,
        )
        assert child.stdin is not None
        task = {"source": str(tiny.path), "target": str(target), "file_type": 7, "num_threads": 1}
        child.stdin.write(json.dumps(task) + "\n")
        child.stdin.flush()
        with target.open("rb", buffering=0) as written:
            begun = written.read(4096)
            if by == "a signal":
                child.kill()
                assert child.wait(timeout=60) == -signal.SIGKILL
            else:
                child.stdin.close()                  # as the kernel does when the parent is killed
                assert child.wait(timeout=60) == 1
        left = tmp_path / "left.gguf"
        left.write_bytes(begun)
        with pytest.raises(ModelLoadError):
            read_header(left)


class _NotNumbers:
    def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
        return np.full(shape, np.nan)


@pytest.mark.slow
class TestComparing:
    async def test_a_model_is_no_way_off_itself(self, tiny: GgufHeader) -> None:
        comparison = await compare_copy(tiny, tiny.path, LIMITS)
        divergence = comparison.divergence
        assert (divergence.mean_nats, divergence.p99_nats, divergence.same_top_share) == (0.0, 0.0, 1.0)
        assert divergence.num_tokens == 2048
        assert all(0.3 < ratio < 3.0 for ratio in comparison.ratios())

    async def test_fewer_bits_are_further_off(self, tiny: GgufHeader, tmp_path: Path) -> None:
        nats = []
        for name in ("Q8_0", "Q4_0"):
            await make_copy(tiny, tmp_path / name, called(name), LIMITS)
            comparison = await compare_copy(tiny, tmp_path / name, LIMITS)
            assert comparison.copy_bytes == (tmp_path / name).stat().st_size
            assert 0.0 < comparison.divergence.mean_nats < comparison.divergence.p99_nats
            nats.append(comparison.divergence.mean_nats)
        assert nats == sorted(nats)

    async def test_another_models_file_is_not_taken_for_a_copy(
        self, tiny: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tests.engine.tiny_gguf.MARKERS", ("<|endoftext|>", "<|im_end|>"))
        other = write_tiny_gguf(tmp_path / "other.gguf")
        with pytest.raises(ModelLoadError, match="another vocabulary"):
            await compare_copy(tiny, other, LIMITS)
