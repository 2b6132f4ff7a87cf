"""From a file to an engine: what is refused before anything native runs, what a trial finds, and what it remembers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import pytest

from engine.backends.llama_cpp import trial
from engine.backends.llama_cpp.model import RunOptions
from engine.backends.llama_cpp.trial import Candidate, TrialResult, try_model
from engine.child import Ended, run_child
from engine.disk_cache.cache import DiskCache
from engine.engine import ChatMessage, ChatRequest
from engine.errors import ModelLoadError, OutOfMemory
from engine.gguf import GgufHeader, read_header
from engine.hardware import NativeDevice
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.memory import DeviceFacts, LayerFacts, MemoryPlan, ModelFacts, plan
from engine.params import SamplingParams
from engine.told import Told
from tests.engine.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[2]
CHILD = "from engine.backends.llama_cpp import trial_child; trial_child.main()"
CARD = NativeDevice("CUDA0", "gpu", "A card", 8000, 6000)
Asked = list[tuple[ModelFacts, DeviceFacts | None]]
CHILD_THAT_HANGS = f"""
import threading
from engine.backends.llama_cpp import trial_child
trial_child._try = lambda *_: threading.Event().wait()
{CHILD}
"""


def spec_of(path: Path) -> ModelSpec:
    return ModelSpec("tiny", "Tiny", path, "1")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")


def test_importing_the_loader_imports_no_native_library() -> None:
    script = (
        "import sys, engine, engine.load\n"
        "loaded = [name for name in sys.modules if name.split('.')[0] in ('llama_cpp', 'torch', 'transformers')"
        " or name.startswith('engine.backends.llama_cpp')]\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


class TestRefusedBeforeAnythingNative:
    async def test_a_file_that_is_no_model(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        path.touch()
        with pytest.raises(ModelLoadError, match="Choose the folder that it lies in"):
            await load_engine(spec_of(path), LoadLimits())

    async def test_a_file_that_is_cut_off(self, tiny: Path) -> None:
        os.truncate(tiny, 100_000)
        with pytest.raises(ModelLoadError, match="is cut off"):
            await load_engine(spec_of(tiny), LoadLimits())

    async def test_a_model_without_a_tokenizer(self, tmp_path: Path) -> None:
        path = write_tiny_gguf(tmp_path / "mute.gguf", vocabulary=False, chat_template=None)
        with pytest.raises(ModelLoadError, match="holds no tokenizer"):
            await load_engine(spec_of(path), LoadLimits())

    async def test_a_file_that_goes_away_meanwhile(self, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def take_away(path: Path) -> GgufHeader:
            header = read_header(path)
            path.unlink()
            return header

        monkeypatch.setattr("engine.load.read_header", take_away)
        with pytest.raises(ModelLoadError, match=r"Tiny could not be loaded: .*No such file"):
            await load_engine(spec_of(tiny), LoadLimits())

    async def test_more_than_the_memory(self, tiny: Path) -> None:
        with pytest.raises(OutOfMemory, match=r"It fits with 8 x 4096 tokens: lower your limits\."):
            await load_engine(spec_of(tiny), LoadLimits(cache_bytes=1 << 50))


class TestTheGpu:
    @pytest.fixture(autouse=True)
    def gpus(self, monkeypatch: pytest.MonkeyPatch) -> list[NativeDevice]:
        """What is found: any that a test puts here."""
        found: list[NativeDevice] = []

        async def find() -> tuple[NativeDevice, ...]:
            return tuple(found)

        monkeypatch.setattr("engine.load.find_gpus", find)
        return found

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> Asked:
        """What the plan was asked about. It then refuses, so that nothing is loaded."""
        seen: Asked = []

        def refuse(model: ModelFacts, _host: DeviceFacts, _limits: LoadLimits, gpu: DeviceFacts | None) -> MemoryPlan:
            seen.append((model, gpu))
            raise OutOfMemory(Told("trial-failed", detail="too large"))

        monkeypatch.setattr("engine.load.plan", refuse)
        return seen

    async def test_that_has_most_free_memory_is_planned_with(
        self, tiny: Path, gpus: list[NativeDevice], asked: Asked
    ) -> None:
        gpus += [CARD, replace(CARD, name="CUDA1", free_bytes=7000)]
        for limits in (LoadLimits(promised_gpu_bytes=500), LoadLimits(main_gpu=0), LoadLimits(gpu_layers=0)):
            with pytest.raises(OutOfMemory):
                await load_engine(spec_of(tiny), limits)
        chosen = [gpu and (gpu.name, gpu.available_bytes) for _, gpu in asked]
        assert chosen == [("CUDA1", 6500), ("CUDA0", 6000), None]

    async def test_that_is_asked_for_and_not_there_is_an_error(self, tiny: Path) -> None:
        with pytest.raises(ModelLoadError, match=r"gpu_layers is set to 5, but llama\.cpp finds no GPU here"):
            await load_engine(spec_of(tiny), LoadLimits(gpu_layers=5))

    async def test_that_is_named_by_a_wrong_number_is_an_error(self, tiny: Path, gpus: list[NativeDevice]) -> None:
        gpus.append(CARD)
        with pytest.raises(ModelLoadError, match=r"main_gpu is set to 1; here 0 is CUDA0 \(A card\)\. Choose one"):
            await load_engine(spec_of(tiny), LoadLimits(main_gpu=1))

    async def test_is_planned_with_each_weight_where_the_library_puts_it(self, tiny: Path, asked: Asked) -> None:
        with pytest.raises(OutOfMemory):
            await load_engine(spec_of(tiny), LoadLimits())
        ((model, _),) = asked
        sizes = {tensor.name: tensor.num_bytes for tensor in read_header(tiny).tensors}
        first_layer = sum(num_bytes for name, num_bytes in sizes.items() if name.startswith("blk.0."))
        assert model.layers == 2 * (LayerFacts(first_layer, 128),)
        assert model.output_bytes == sizes["output.weight"] + sizes["output_norm.weight"]
        assert model.weight_bytes == 2 * first_layer + model.output_bytes + sizes["token_embd.weight"]
        assert not model.shares_output

    async def test_is_named_where_layers_run_on_it(
        self, tiny: Path, gpus: list[NativeDevice], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def run_there(candidate: Candidate, **_where: Any) -> TrialResult:
            return TrialResult(options=RunOptions(gpu_layers=candidate.gpu_layers), prefill_tokens_per_s=100.0)

        monkeypatch.setattr("engine.backends.llama_cpp.trial.try_model", run_there)
        gpus += [CARD, replace(CARD, name="CUDA1", total_bytes=8 << 30, free_bytes=8 << 30)]
        engine = await load_engine(spec_of(tiny), LoadLimits(context_tokens=512, max_num_seqs=2))
        assert (engine.info.device, engine.info.gpu_layers, engine.info.gpu_note) == ("CUDA1", 3, None)
        await engine.close()

    @pytest.mark.slow
    async def test_that_does_not_work_leaves_all_to_the_processor(
        self, tiny: Path, gpus: list[NativeDevice], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plans: list[MemoryPlan] = []

        def note(*arguments: Any) -> MemoryPlan:
            plans.append(plan(*arguments))
            return plans[-1]

        monkeypatch.setattr("engine.load.plan", note)
        gpus.append(replace(CARD, total_bytes=8 << 30, free_bytes=8 << 30))
        engine = await load_engine(spec_of(tiny), LoadLimits(context_tokens=512, max_num_seqs=2))
        assert [each.gpu_layers for each in plans] == [3, 0]
        assert engine.info.gpu_note == "A trial with layers on CUDA0 ended badly, so the processor has them all."
        assert (engine.info.device, engine.info.gpu_layers, engine.info.gpu_kv_bytes) == ("cpu", 0, 0)
        await engine.close()


@pytest.mark.slow
class TestTheTrial:
    async def test_leads_to_an_engine_that_answers(self, tiny: Path) -> None:
        engine = await load_engine(spec_of(tiny), LoadLimits(context_tokens=512, max_num_seqs=2, cache_bytes=1 << 20))
        info = engine.info
        assert (info.model_id, info.version, info.device, info.quantisation) == ("tiny", "1", "cpu", "F32")
        assert (info.max_model_len, info.max_num_seqs, info.has_chat_template) == (512, 2, True)
        assert info.kv_bytes == 2 * 512 * 256
        asked = ChatRequest(
            messages=(ChatMessage(role="user", content="Hello"),),
            params=SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True),
        )
        deltas = [delta async for delta in engine.chat(asked)]
        assert deltas[-1].usage is not None
        assert deltas[-1].usage.completion_tokens == 5
        await engine.close()

    async def test_leads_to_an_engine_that_goes_on_where_the_one_before_was(self, tiny: Path, tmp_path: Path) -> None:
        asked = ChatRequest(
            messages=(ChatMessage(role="user", content="Hello " * 40),),
            params=SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True),
        )
        texts: list[str] = []
        for expected in (0, None, 0):
            disk = DiskCache(tmp_path / "kv")
            engine = await load_engine(spec_of(tiny), LoadLimits(state_dir=tmp_path / "state", disk=disk))
            deltas = [delta async for delta in engine.chat(asked)]
            texts.append("".join(delta.text for delta in deltas))
            usage = deltas[-1].usage
            assert usage is not None
            assert usage.cached_tokens == (usage.prompt_tokens - 1 if expected is None else expected)
            await engine.close()
            disk.close()
            if expected is None:                             # another model under the same name
                os.utime(tiny)
        assert texts[0] == texts[1] == texts[2]
        assert len(list((tmp_path / "kv").iterdir())) == 1

    async def test_is_not_repeated_while_nothing_changed(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limits = LoadLimits(state_dir=tmp_path / "state")
        await (await load_engine(spec_of(tiny), limits)).close()
        start, children = asyncio.create_subprocess_exec, []

        async def count(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
            children.append(arguments)
            return await start(*arguments, **options)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", count)
        await (await load_engine(spec_of(tiny), limits)).close()
        assert len(children) == 0
        os.utime(tiny)
        await (await load_engine(spec_of(tiny), limits)).close()
        assert len(children) == 1

    async def test_is_repeated_where_what_was_remembered_is_damaged(self, tiny: Path, tmp_path: Path) -> None:
        memory = tmp_path / "state" / "trials.json"
        limits = LoadLimits(state_dir=memory.parent)
        await (await load_engine(spec_of(tiny), limits)).close()
        whole = json.loads(memory.read_text())
        (key,) = whole
        for damaged in ("", "[1]", "{\"" + key + "\": {\"options\": {\"sorcery\": 1}}}", "{\"" + key + "\": 7}"):
            memory.write_text(damaged)
            await (await load_engine(spec_of(tiny), limits)).close()
            assert json.loads(memory.read_text())[key]["options"] == whole[key]["options"]

    async def test_no_verdict_is_lost_where_several_end_at_once(self, tmp_path: Path) -> None:
        verdict = TrialResult(options=RunOptions(), prefill_tokens_per_s=1.0)
        keys = [str(number) for number in range(40)]
        await asyncio.gather(*(asyncio.to_thread(trial._remember, tmp_path, key, verdict) for key in keys))
        assert sorted(json.loads((tmp_path / "trials.json").read_text())) == sorted(keys)

    async def test_quotes_the_library_where_it_refuses(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.engine.tiny_gguf.LAYERS", 3)
        path = write_tiny_gguf(tmp_path / "m.gguf")
        monkeypatch.undo()
        content = path.read_bytes()
        path.write_bytes(content.replace(b"blk.2.attn_norm.weight", b"blk.7.attn_norm.weight"))
        with pytest.raises(ModelLoadError) as refused:
            await load_engine(spec_of(path), LoadLimits())
        assert str(refused.value) == (
            "llama.cpp refuses m.gguf: check_tensor_dims: tensor 'blk.2.attn_norm.weight' not found. "
            "Get the file again, or take another model."
        )

    async def test_survives_a_model_that_ends_its_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A vocabulary without the bytes that its tokenizer falls back to: the library aborts when it meets one."""
        monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_model", lambda self, _: self.add_string(
            gguf.Keys.Tokenizer.MODEL, "llama"
        ))
        path = write_tiny_gguf(tmp_path / "trap.gguf")
        with pytest.raises(ModelLoadError, match=r"llama\.cpp crashed when it tried trap\.gguf \(SIGABRT, saying"):
            await load_engine(spec_of(path), LoadLimits(state_dir=tmp_path / "state"))
        assert not (tmp_path / "state" / "trials.json").exists()

    async def test_meets_every_byte_and_every_token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tokenizer falls back to bytes, and one that only a rare letter has is not there."""
        bytes_in_order = [f"<0x{value:02X}>" for value in range(256)]
        bytes_in_order[0xF4] = "<missing>"
        monkeypatch.setattr("tests.engine.tiny_gguf._byte_tokens", lambda: bytes_in_order)
        monkeypatch.setattr(gguf.GGUFWriter, "add_token_types", lambda self, types: self.add_array(
            gguf.Keys.Tokenizer.TOKEN_TYPE, [gguf.TokenType.BYTE] * 0xF4 + [gguf.TokenType.NORMAL] + types[0xF5:]
        ))
        monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_model", lambda self, _: (
            self.add_string(gguf.Keys.Tokenizer.MODEL, "llama"), self.add_token_scores([0.0] * 264)
        ))
        path = write_tiny_gguf(tmp_path / "trap.gguf")
        with pytest.raises(ModelLoadError, match=r"llama\.cpp crashed when it tried trap\.gguf \(SIGABRT"):
            await load_engine(spec_of(path), LoadLimits())

    async def test_is_for_nothing_where_the_file_is_replaced_meanwhile(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = asyncio.create_subprocess_exec

        async def replace_first(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
            write_tiny_gguf(tmp_path / "other", seed=1).replace(tiny)
            return await start(*arguments, **options)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", replace_first)
        with pytest.raises(ModelLoadError, match=r"tiny\.gguf was replaced while it was tried"):
            await load_engine(spec_of(tiny), LoadLimits(state_dir=tmp_path / "state"))
        assert not (tmp_path / "state").exists()

    async def test_needs_no_place_to_remember(self, tiny: Path, tmp_path: Path) -> None:
        (tmp_path / "a file").touch()
        await (await load_engine(spec_of(tiny), LoadLimits(state_dir=tmp_path / "a file" / "state"))).close()

    async def test_that_takes_too_long_is_not_tried_in_four_more_ways(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start, children = asyncio.create_subprocess_exec, []

        async def start_one_that_hangs(*_: str, **options: Any) -> asyncio.subprocess.Process:
            children.append(await start(sys.executable, "-c", CHILD_THAT_HANGS, **options))
            return children[-1]

        monkeypatch.setattr(asyncio, "create_subprocess_exec", start_one_that_hangs)
        monkeypatch.setattr("engine.backends.llama_cpp.trial._BASE_TIMEOUT_S", 0.0)
        with pytest.raises(ModelLoadError, match=r"tiny\.gguf gave no token in 0 s, so it was given up"):
            await load_engine(spec_of(tiny), LoadLimits())
        assert [child.returncode for child in children] == [-signal.SIGKILL]

    async def test_of_a_gpu_that_takes_too_long_is_followed_by_one_of_the_processor(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang_on_the_gpu(module: str, task: dict[str, Any], timeout_s: float) -> Ended:
            if task["options"]["gpu_layers"]:
                raise TimeoutError
            return await run_child(module, task, timeout_s=timeout_s)

        monkeypatch.setattr("engine.backends.llama_cpp.trial.run_child", hang_on_the_gpu)
        result = await try_model(Candidate(paths=(tiny,), num_threads=1, gpu_layers=2), processor="", state_dir=None)
        assert result.options == RunOptions()

    def test_ends_with_the_process_that_wanted_it(self) -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD_THAT_HANGS], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps({"path": "", "options": {}, "num_threads": 1}) + "\n")
        child.stdin.flush()
        assert child.stdout.readline().startswith('{"options"')
        child.stdin.close()                                 # as the kernel does when the parent is killed
        assert child.wait(timeout=60) == 1
        child.stdout.close()

    @pytest.mark.parametrize("noise", ["print('x' * 1_000_000)", "print('{ this is no report')", "print('[1]')"])
    async def test_hears_its_child_through_any_noise(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch, noise: str
    ) -> None:
        start = asyncio.create_subprocess_exec

        async def start_noisy(*_: str, **options: Any) -> asyncio.subprocess.Process:
            return await start(sys.executable, "-c", f"{noise}\n{CHILD}", **options)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", start_noisy)
        await (await load_engine(spec_of(tiny), LoadLimits())).close()

    async def test_ends_its_child_when_it_is_cancelled(self, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        started: asyncio.Future[asyncio.subprocess.Process] = asyncio.get_running_loop().create_future()
        start = asyncio.create_subprocess_exec

        async def tell(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
            process = await start(*arguments, **options)
            started.set_result(process)
            return process

        monkeypatch.setattr(asyncio, "create_subprocess_exec", tell)
        loading = asyncio.create_task(load_engine(spec_of(tiny), LoadLimits()))
        process = await started
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert process.returncode is not None
