"""Models that transformers' own code runs with our attention: the same logits and texts as transformers alone.

That chunks, cached prefixes, preemption and batch mates change nothing is the conformance suite's, on a Mixtral.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from engine.backends.torch.backend import TorchBackend, TorchConfig
from engine.backends.torch.device import TorchDevice
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.folder import read_folder
from engine.backends.torch.other_config import OtherConfig
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.transformers_decoder import TransformersDecoder
from engine.backends.torch.transformers_model import read_pretrained
from engine.batch import BatchRow, SamplingInput
from engine.errors import ModelLoadError
from engine.hardware import inspect_machine
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.load_torch import _check_way_to, _plan
from engine.memory import DeviceFacts, OwnLimits
from engine.params import SamplingParams
from tests.engine.driving import Driver
from tests.engine.sameness import ask
from tests.engine.torch.tiny_folder import write_tiny_folder

EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
FAMILIES: dict[str, dict[str, Any]] = {
    "mixtral": {"num_local_experts": 4, "sliding_window": 24},
    "qwen3_moe": EXPERTS,
    "qwen2_moe": EXPERTS | {"shared_expert_intermediate_size": 48},
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "granitemoe": {"num_local_experts": 4, "logits_scaling": 4.0, "attention_multiplier": 0.2},
    "glm4_moe": {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1,
                 "topk_group": 1, "first_k_dense_replace": 1},
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32},
    "olmo2": {},
    "olmo3": {"sliding_window": 24, "num_hidden_layers": 4},
    "cohere2": {"sliding_window": 24, "num_hidden_layers": 4},
    "smollm3": {},
    "starcoder2": {"sliding_window": 24},
    "stablelm": {},
    "gpt_neox": {"num_key_value_heads": 4},
    "gpt2": {"num_key_value_heads": 4},
}
CPU = torch.device("cpu")


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_tiny_folder(tmp_path / "tiny", family=request.param, **FAMILIES[request.param])


def _reference(folder: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
    )


def test_logits_are_those_of_transformers_whole_and_in_chunks_and_beside_others(folder: Path) -> None:
    chance = torch.Generator().manual_seed(3)
    text, other = (torch.randint(0, 256, (length,), generator=chance) for length in (90, 70))
    reference = _reference(folder)
    with torch.inference_mode():
        wanted, wanted_other = (reference(ids[None], use_cache=False).logits[0] for ids in (text, other))
    config = read_folder(folder).config
    assert isinstance(config, OtherConfig)
    decoder = TransformersDecoder(read_pretrained(folder, config, torch.float32, CPU).code)
    kv = PagedKv(config, 24, torch.float32, CPU)
    tables = ([5, 2, 9, 0, 7, 11], [1, 3, 4, 6, 8])
    found, found_other = [], []
    for here, there in (((0, 50), (0, 66)), ((50, 51), (66, 67)), ((51, 90), (67, 70))):
        rows = [_row(slot, ids[slice(*part)].tolist(), part[0], table) for slot, (ids, part, table) in enumerate(
            zip((text, other), (here, there), tables, strict=True)
        )]
        step = flatten(rows, CPU, for_kernels=False)
        logits = decoder.forward(replace(step, wanted=torch.arange(len(step.token_ids))), kv)
        found.append(logits[: here[1] - here[0]])
        found_other.append(logits[here[1] - here[0] :])
    torch.testing.assert_close(torch.cat(found), wanted, rtol=3e-4, atol=3e-4)
    torch.testing.assert_close(torch.cat(found_other), wanted_other, rtol=3e-4, atol=3e-4)


def test_greedy_is_what_generate_says(folder: Path) -> None:
    prompt = list(b"Once upon a time there was")
    wanted = _reference(folder).generate(
        torch.tensor([prompt]), max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0
    )[0, len(prompt) :]
    backend = TorchBackend(TorchConfig(
        folder=folder, device="cpu", dtype="float32", num_blocks=20, max_model_len=128, max_num_seqs=2,
        max_num_batched_tokens=16,
    ))
    params = SamplingParams(temperature=0.0, ignore_eos=True)
    asked = ask("r", bytes(prompt).decode(), max_tokens=20, params=params)
    assert Driver(backend).run(asked) == {"r": wanted.tolist()}


def _row(slot: int, token_ids: list[int], position: int, table: list[int]) -> BatchRow:
    sampling = SamplingInput(params=SamplingParams(), seed=0, token_ids=[], num_prompt_tokens=0)
    return BatchRow(slot=slot, token_ids=token_ids, position=position, block_table=table, sampling=sampling)


# --- the memory plan --------------------------------------------------------------------------------------------------


def test_the_plan_counts_the_weights_of_all_experts_and_steps_those_of_a_tokens_own(tmp_path: Path) -> None:
    few, many = (
        read_folder(write_tiny_folder(tmp_path / f"{number}", family="mixtral", num_local_experts=number))
        for number in (2, 8)
    )
    experts_bytes = 6 * 2 * 3 * 32 * 64 * 4         # six more in each of two layers, three matrices each
    assert many.weight_bytes("float32") - few.weight_bytes("float32") == pytest.approx(experts_bytes, rel=0.05)
    assert many.config.step_values_per_token == few.config.step_values_per_token
    assert many.kv_bytes_per_token("float32") == 2 * 2 * 2 * 8 * 4


async def test_it_loads_and_says_what_it_takes(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family="qwen3_moe", **EXPERTS)
    engine = await load_engine(ModelSpec("tiny", "Tiny", folder, "1"), LoadLimits(context_tokens=512, gpu_layers=0))
    try:
        foretold = read_folder(folder).weight_bytes("float32")
        assert 0.8 * foretold < engine.info.weight_bytes <= foretold
        assert engine.info.quantisation == "F32"
    finally:
        await engine.close()


def test_its_weights_are_not_made_smaller(tmp_path: Path) -> None:
    folder = read_folder(write_tiny_folder(tmp_path / "tiny", family="olmo2"))
    facts = DeviceFacts(name="GPU", total_bytes=1 << 34, available_bytes=1 << 34)
    device = TorchDevice(name="cuda:0", dtype="bfloat16", facts=facts)
    spec = ModelSpec("tiny", "Tiny", folder.path, "1")
    with pytest.raises(ModelLoadError, match="models set tiny --weights auto"):
        _plan(spec, folder, device, OwnLimits(weight_format="int8").over(LoadLimits()))
    _check_way_to(device, spec, folder, inspect_machine(), LoadLimits())
    with pytest.raises(ModelLoadError, match="passes through this machine's memory"):
        _check_way_to(device, spec, folder, replace(inspect_machine(), available_bytes=1000), LoadLimits())


# --- what does not run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "says"), [
    ({"model_type": "mamba", "state_size": 16}, "running state"),
    ({"layer_types": ["linear_attention", "full_attention"]}, "running state"),
    ({"is_encoder_decoder": True}, "an encoder with a decoder"),
    ({"architectures": ["BertForMaskedLM"]}, "no model that writes .BertForMaskedLM."),
    ({"text_config": {"model_type": "llama4_text"}}, "more than text"),
    ({"kv_lora_rank": 512}, "in a way of its own"),
    ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "beside a longer one"),
    ({"quantization_config": {"quant_method": "mxfp4"}}, "is quantised"),
    ({"num_hidden_layers": 0}, "misstates num_hidden_layers"),
    ({"num_key_value_heads": 3}, "misstates num_key_value_heads"),
    ({"vocab_size": None}, "lacks or misstates"),
])
def test_what_its_settings_tell_is_refused_before_anything_is_loaded(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family="olmo2")
    _change(folder, changes)
    with pytest.raises(ModelLoadError, match=says):
        read_folder(folder)


@pytest.mark.parametrize(("family", "more", "says"), [
    ("diffllama", {}, "in a way of its own"),                       # attention that is not what it hands over
    ("gpt_oss", {"num_local_experts": 4, "num_experts_per_tok": 2}, "in a way of its own"),      # with sinks
    ("llama4_text", {"num_local_experts": 4}, "in a way of its own"),                            # in pieces of its text
])
def test_what_does_not_keep_to_the_rules_is_found_by_a_try(
    family: str, more: dict[str, Any], says: str, tmp_path: Path
) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family=family, **more)
    with pytest.raises(ModelLoadError, match=says):
        _read(folder)


def test_code_in_the_folder_is_never_run(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family="olmo2")
    _change(folder, {"model_type": "my_own", "auto_map": {
        "AutoConfig": "code.MyConfig", "AutoModelForCausalLM": "code.MyModel",
    }})
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(ModelLoadError, match="code from downloads is never run"):
        _read(folder)
    _change(folder, {"model_type": "olmo2"})
    _read(folder)                                       # transformers' own code, whatever the folder offers
    assert not (tmp_path / "ran").exists()


def test_a_tensor_that_is_not_there_is_told(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family="olmo2")
    tensors = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.up_proj.weight"
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelLoadError, match=f"lacks the tensor {name}"):
        _read(folder)


def _read(folder: Path) -> None:
    config = read_folder(folder).config
    assert isinstance(config, OtherConfig)
    read_pretrained(folder, config, torch.float32, CPU)


def _change(folder: Path, changes: dict[str, Any]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
