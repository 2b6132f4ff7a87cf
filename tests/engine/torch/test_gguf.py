"""GGUF files by torch: numbers as the format's own package reads them, texts as llama.cpp and transformers say them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers

from app.services.models import find_starter
from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.torch.backend import LoadedModel, TorchBackend, TorchConfig
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.dequantise import dequantise
from engine.backends.torch.device import TorchDevice
from engine.backends.torch.folder import read_folder
from engine.backends.torch.gguf_config import READABLE, read_gguf
from engine.backends.torch.gguf_model import load_gguf
from engine.batch import SampledToken
from engine.errors import EngineFailed, ModelLoadError
from engine.gguf import read_header
from engine.hardware import inspect_machine
from engine.load import LoadLimits, ModelSpec, load_engine, plan_load
from engine.load_torch import gguf_by_torch
from engine.memory import DeviceFacts
from engine.params import SamplingParams
from tests.engine.driving import Driver, request
from tests.engine.sameness import STORY, ask, assert_same
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.torch.dequantised import write_dequantised

GREEDY = SamplingParams(temperature=0.0)
QUESTIONS = ("What is the capital of France?", "Name three colours.", "Why is the sea salt?")
WITH_A_LEAST = ("Q4_1", "Q5_1", "Q4_K", "Q5_K")     # beside the scale of a block


@pytest.mark.parametrize("kind", sorted(READABLE))
def test_numbers_are_those_that_the_formats_own_package_reads(kind: str) -> None:
    number_type = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[number_type]
    raw = np.random.default_rng(5).integers(0, 256, (600, size), np.uint8)
    if kind not in ("F32", "F16", "BF16"):          # bytes of chance may be no number
        scales = slice(208, None) if kind == "Q6_K" else slice(4 if kind in WITH_A_LEAST else 2)
        chance = np.random.default_rng(6).standard_normal((600, len(raw[0, scales]) // 2))
        raw[:, scales] = chance.astype(np.float16).view(np.uint8)
    wanted = gguf.quants.dequantize(raw, number_type).reshape(600, elements)
    found = dequantise(torch.from_numpy(raw), kind).numpy().reshape(600, elements)
    np.testing.assert_array_equal(np.nan_to_num(found), np.nan_to_num(wanted.astype(np.float32)))


def _config(path: Path, **changes: Any) -> TorchConfig:
    return TorchConfig(**{
        "folder": path, "device": "cpu", "dtype": "float32", "num_blocks": 40, "max_model_len": 512, "max_num_seqs": 4,
        "max_num_batched_tokens": 64, **changes,
    })


def _torch(path: Path, **changes: Any) -> TorchBackend:
    folder = read_gguf(read_header(path))
    return TorchBackend(_config(path, **changes), lambda config: load_gguf(folder, config))


def _llama_cpp(path: Path) -> LlamaCppBackend:
    return LlamaCppBackend(LlamaCppConfig(
        path=path, max_model_len=512, max_num_seqs=4, cache_bytes=1 << 24, num_threads=1, max_num_batched_tokens=64,
        kv_type="f32",
    ))


def _said(backend: Backend) -> dict[str, list[SampledToken]]:
    drive = Driver(backend)
    drive.run(*(ask(f"r{number}", STORY[: 20 + 30 * number], max_tokens=20) for number in range(3)))
    return drive.tokens


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_it_says_what_llama_cpp_says(kv_heads: int, tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf", kv_heads=kv_heads)
    assert_same(_said(_torch(path)), _said(_llama_cpp(path)))


def test_where_its_kv_has_no_room_the_vocabulary_is_given_back(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    folder, loaded = read_gguf(read_header(path)), []

    def load(config: TorchConfig) -> LoadedModel:
        loaded.append(load_gguf(folder, config))
        return loaded[0]

    with pytest.raises(RuntimeError):
        TorchBackend(_config(path, num_blocks=1 << 44), load)
    with pytest.raises(EngineFailed):
        loaded[0].tokenizer.encode("Hi", add_special=False, parse_special=False)


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "granite"])
def test_other_kinds_say_what_llama_cpp_says(kind: str, tmp_path: Path) -> None:
    path = _of_kind(kind, write_tiny_gguf(tmp_path / "llama.gguf"), tmp_path / f"{kind}.gguf")
    assert_same(_said(_torch(path)), _said(_llama_cpp(path)))


def test_llama_3s_rotation_is_read_as_it_was_worked_out(tmp_path: Path) -> None:
    path = _of_kind("llama", write_tiny_gguf(tmp_path / "plain.gguf"), tmp_path / "scaled.gguf", rope_factors=True)
    config = read_gguf(read_header(path)).config
    assert isinstance(config, DecoderConfig)
    assert config.layers[0].rope.kind == "factors"
    assert_same(_said(_torch(path)), _said(_llama_cpp(path)))


def _of_kind(kind: str, source: Path, path: Path, *, rope_factors: bool = False) -> Path:
    """The same model as one of another kind, with what that has besides."""
    reader, chance = gguf.GGUFReader(source), np.random.default_rng(9)
    writer = gguf.GGUFWriter(path, kind)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        name, types = field.name.replace("llama.", f"{kind}."), field.types
        writer.add_key_value(name, field.contents(), types[0], sub_type=types[-1] if len(types) > 1 else None)
    if kind == "granite":
        for name, value in (("embedding_scale", 2.0), ("residual_scale", 0.5), ("attention.scale", 0.2),
                            ("logit_scale", 1.5)):
            writer.add_float32(f"granite.{name}", value)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.array(tensor.data))
        stem = tensor.name.removesuffix(".weight")
        rows = len(tensor.data)
        if kind == "qwen2" and stem.endswith(("attn_q", "attn_k", "attn_v")):
            writer.add_tensor(f"{stem}.bias", chance.standard_normal(rows).astype(np.float32))
        if kind == "qwen3" and stem.endswith(("attn_q", "attn_k")):
            writer.add_tensor(f"{stem}_norm.weight", (1 + 0.2 * chance.standard_normal(16)).astype(np.float32))
    if rope_factors:
        writer.add_tensor("rope_freqs.weight", np.linspace(1, 8, 8).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_what_torch_does_not_read_is_left_to_llama_cpp(tmp_path: Path) -> None:
    tiny = write_tiny_gguf(tmp_path / "tiny.gguf")
    with pytest.raises(ValueError, match="the kind gemma2"):
        read_gguf(read_header(_of_kind("gemma2", tiny, tmp_path / "gemma2.gguf")))


def test_a_file_that_was_cut_short_meanwhile_is_told(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    folder = read_gguf(read_header(path))
    config = TorchConfig(
        folder=path, device="cpu", dtype="float32", num_blocks=4, max_model_len=64, max_num_seqs=1,
        max_num_batched_tokens=16,
    )
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(ModelLoadError, match="cut off"):
        load_gguf(folder, config)


def test_an_unloaded_model_has_no_vocabulary_left(tmp_path: Path) -> None:
    backend = _torch(write_tiny_gguf(tmp_path / "tiny.gguf"))
    assert backend.tokenizer.encode("the", add_special=False, parse_special=False)
    backend.close()
    with pytest.raises(EngineFailed):
        backend.tokenizer.encode("the", add_special=False, parse_special=False)


@pytest.mark.slow
def test_the_starter_model_says_what_generate_says_and_nearly_what_llama_cpp_does(tmp_path: Path) -> None:
    path = find_starter()
    assert path is not None
    folder = write_dequantised(path, tmp_path)
    assert read_folder(folder).config.num_layers == read_gguf(read_header(path)).config.num_layers
    reference = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    backend, other = _torch(path), _llama_cpp(path)
    assert backend.tokenizer.chat_template == other.tokenizer.chat_template
    num_same = 0
    for number, question in enumerate(QUESTIONS):
        prompt = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        token_ids = backend.tokenizer.encode(prompt, add_special=True, parse_special=True)
        assert token_ids == other.tokenizer.encode(prompt, add_special=True, parse_special=True)
        wanted = reference.generate(torch.tensor([token_ids]), max_new_tokens=24, do_sample=False)[0, len(token_ids) :]
        asked = request(f"r{number}", token_ids, max_tokens=24, params=GREEDY)
        said = Driver(backend).run(asked)[asked.request_id]
        assert said == wanted.tolist()[: len(said)]
        there = Driver(other).run(asked)[asked.request_id]
        num_same += next((place for place, (a, b) in enumerate(zip(said, there, strict=False)) if a != b), len(said))
    assert num_same >= 15                               # llama.cpp rounds activations to 8 bits


# --- which back end runs one ------------------------------------------------------------------------------------------


class _AsGpu(TorchDevice):
    """The processor, taken for a GPU."""

    @property
    def is_gpu(self) -> bool:
        return True


@pytest.fixture
def gpu_of_torch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def of(num_bytes: int) -> None:
        facts = DeviceFacts(name="GPU", total_bytes=num_bytes, available_bytes=num_bytes)
        device = _AsGpu(name="cpu", dtype="float32", facts=facts)
        monkeypatch.setattr("engine.load_torch.has_gpu_driver", lambda: True)
        monkeypatch.setattr("engine.backends.torch.device.choose_device", lambda machine, limits: device)

    return of


LIMITS = LoadLimits(context_tokens=256, max_num_seqs=1)


async def _backend_of(path: Path, limits: LoadLimits = LIMITS) -> str:
    spec = ModelSpec("tiny", "Tiny", path, "1")
    engine = await load_engine(spec, limits)
    try:
        params = SamplingParams(temperature=0.0, max_tokens=4, ignore_eos=True)
        deltas = [delta async for delta in engine.complete("the", params)]
        assert deltas[-1].usage is not None and deltas[-1].usage.completion_tokens == 4
        assert engine.info.quantisation == "F32"
        foretold = await plan_load(spec, limits)
        assert foretold.max_model_len >= engine.info.max_model_len > 0
        return engine.info.backend.split()[0]
    finally:
        await engine.close()


async def test_torch_runs_it_where_only_torch_has_a_gpu(
    tmp_path: Path, gpu_of_torch: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    assert await _backend_of(path) == "llama.cpp"
    gpu_of_torch(8 << 30)
    assert await _backend_of(path) == "torch"
    assert await _backend_of(path, replace(LIMITS, gpu_layers=0)) == "llama.cpp"
    gemma = _of_kind("gemma2", path, tmp_path / "gemma2.gguf")
    header = await asyncio.to_thread(read_header, gemma)
    assert await gguf_by_torch(header, inspect_machine(), LIMITS) is None
    gpu_of_torch(100 << 20)                             # too small for it
    assert await _backend_of(path) == "llama.cpp"
    gpu_of_torch(8 << 30)
    monkeypatch.setattr("engine.load_torch.has_gpu_build", lambda: True)
    assert await gguf_by_torch(read_header(path), inspect_machine(), LIMITS) is None
