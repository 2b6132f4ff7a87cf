"""Weights in few bits: near what they stand for, the same joined or apart, and read as GPTQ and AWQ write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.backends.torch.backend import TorchConfig, load_model
from engine.backends.torch.checkpoint_format import CheckpointFormat
from engine.backends.torch.checkpoints import read_matrix
from engine.backends.torch.folder import read_folder
from engine.backends.torch.quantised import Quantised, joined, packed, product, quantise, unpacked
from engine.backends.torch.weights import Weights
from engine.errors import ModelLoadError
from tests.engine.torch.packed_checkpoint import FORMATS, packed_tensors, words
from tests.engine.torch.tiny_folder import write_tiny_folder

ERRORS = {"fp8": 0.03, "int8": 0.012, "int4": 0.12}       # of a random matrix, relative


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("kind", ERRORS)
def test_what_it_stands_for_is_near(kind: str) -> None:
    weight = _random(24, 384)
    made = quantise(weight, kind)
    assert isinstance(made, Quantised)
    assert made.shape == (24, 384) and made.plain(torch.float32).shape == (24, 384)
    assert 0.001 < _error(made.plain(torch.float32), weight) < ERRORS[kind]
    assert made.num_bytes < 0.3 * weight.nbytes


@pytest.mark.parametrize("kind", ERRORS)
def test_a_product_is_that_of_what_it_stands_for(kind: str) -> None:
    made, x, bias = quantise(_random(24, 384), kind), _random(5, 384), _random(24)
    assert isinstance(made, Quantised)
    wanted = x @ made.plain(torch.float32).T + bias
    assert _error(product(x, made, bias), wanted) < (0.04 if kind == "fp8" else 1e-6)      # FP8 rounds x as well


def test_rows_of_zeros_and_outliers_are_no_fault() -> None:
    weight = _random(4, 128)
    weight[1] = 0.0
    weight[2, 7] = 1000.0
    for kind in ERRORS:
        made = quantise(weight, kind)
        assert isinstance(made, Quantised)
        plain = made.plain(torch.float32)
        assert torch.isfinite(plain).all() and not plain[1].any()
        assert plain[2, 7] == pytest.approx(1000.0, rel=0.31)          # a cut range may be the lesser evil


def test_four_bits_are_packed_in_halves() -> None:
    numbers = torch.randint(0, 16, (3, 256), generator=torch.Generator().manual_seed(3), dtype=torch.uint8)
    assert torch.equal(unpacked(packed(numbers)), numbers)
    assert packed(numbers)[0, 0] == numbers[0, 0] | numbers[0, 32] << 4


def test_what_cannot_be_cut_into_groups_stays_as_it_is() -> None:
    weight = _random(8, 96)
    assert quantise(weight, "int4") is weight or torch.equal(quantise(weight, "int4"), weight)


@pytest.mark.parametrize("kind", ERRORS)
def test_parts_joined_are_the_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weight, x = _random(40, 128), _random(2, 128)
    whole = quantise(weight, kind)
    monkeypatch.setattr("engine.backends.torch.quantised._VALUES_AT_ONCE", 128 * 7)
    for made in (quantise(weight, kind), joined([quantise(part, kind) for part in weight.split([8, 30, 2])])):
        assert isinstance(made, Quantised)
        torch.testing.assert_close(product(x, made), product(x, whole))
    mixed = joined([weight[:8], quantise(weight[8:], kind)])
    assert isinstance(mixed, torch.Tensor) and mixed.shape == (40, 128)


# --- GPTQ and AWQ -----------------------------------------------------------------------------------------------------


def _checkpoint(method: str, size_in: int, size_out: int, group: int, *, seed: int = 0) -> dict[str, torch.Tensor]:
    """Tensors by the ends of their names, and "plain" [out, in], which they stand for."""
    chance = torch.Generator().manual_seed(seed)
    numbers = torch.randint(0, 16, (size_in, size_out), generator=chance)
    zeros = torch.randint(1, 16, (size_in // group, size_out), generator=chance)
    scales = (torch.rand(size_in // group, size_out, generator=chance) * 0.02 + 0.01).half()
    rows = torch.arange(size_in) // group
    plain = (numbers - zeros[rows]).float() * scales[rows].float()
    return packed_tensors(method, numbers, zeros, scales) | {"plain": plain.T.contiguous()}


@pytest.mark.parametrize("group", [128, 64, 32])
@pytest.mark.parametrize("method", FORMATS)
def test_a_checkpoint_stands_for_what_its_tools_meant(method: str, group: int) -> None:
    tensors = _checkpoint(method, 256, 48, group)
    made = read_matrix(tensors.get, CheckpointFormat.of(FORMATS[method]), torch.float32)
    assert isinstance(made, Quantised) is (group >= 64)             # smaller groups are kept plain
    plain = made if isinstance(made, torch.Tensor) else made.plain(torch.float32)
    torch.testing.assert_close(plain, tensors["plain"])


def test_gptq_in_another_order_of_its_inputs_is_kept_plain() -> None:
    tensors = _checkpoint("gptq", 128, 16, 64)
    order = torch.randperm(128, generator=torch.Generator().manual_seed(1))
    numbers = torch.randint(0, 16, (128, 16), generator=torch.Generator().manual_seed(2))
    tensors |= {".g_idx": order.to(torch.int32) // 64, ".qweight": words(numbers.T.contiguous()).T.contiguous()}
    made = read_matrix(tensors.get, CheckpointFormat.of(FORMATS["gptq"]), torch.float32)
    zeros = _checkpoint_zeros(tensors)
    wanted = ((numbers - zeros[order // 64]).float() * tensors[".scales"][order // 64].float()).T
    assert isinstance(made, torch.Tensor)
    torch.testing.assert_close(made, wanted)


def _checkpoint_zeros(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    shifts = torch.arange(0, 32, 4, dtype=torch.int32)
    return ((tensors[".qzeros"][..., None] >> shifts & 15) + 1 & 15).reshape(len(tensors[".qzeros"]), -1)


@pytest.mark.parametrize(("raw", "why"), [
    ({"quant_method": "gptq", "bits": 3}, "3 bits"),
    ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "AWQ in the form gemv"),
    ({"quant_method": "bitsandbytes", "bits": 4}, "the method bitsandbytes"),
    ({}, "without a name"),
])
def test_what_does_not_run_is_named(raw: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CheckpointFormat.of(raw)


@pytest.mark.parametrize("method", FORMATS)
def test_a_folder_of_it_is_the_model_that_it_stands_for(method: str, tmp_path: Path) -> None:
    plain, quantised = write_tiny_folder(tmp_path / "plain", hidden_size=128, head_dim=16), tmp_path / "quantised"
    write_tiny_folder(quantised, hidden_size=128, head_dim=16)
    tensors = load_file(plain / "model.safetensors")
    kept: dict[str, torch.Tensor] = {}
    for name, tensor in list(tensors.items()):
        if "_proj" not in name:
            kept[name] = tensor
            continue
        size_out, size_in = tensor.shape
        made = _checkpoint(method, size_in, size_out, 64, seed=len(name))
        tensors[name] = made.pop("plain")
        kept |= {name.removesuffix(".weight") + end: each for end, each in made.items()}
    save_file(tensors, plain / "model.safetensors")
    save_file(kept, quantised / "model.safetensors")
    config = json.loads((quantised / "config.json").read_text())
    (quantised / "config.json").write_text(json.dumps(config | {"quantization_config": FORMATS[method]}))
    assert read_folder(quantised).format_name == f"{method.upper()} INT4"
    one, other = (load_model(_config(folder)).weights for folder in (plain, quantised))
    assert isinstance(one, Weights) and isinstance(other, Weights)
    assert isinstance(other.layers[0].qkv, Quantised) and other.num_bytes < one.num_bytes
    assert other.num_bytes <= read_folder(quantised).weight_bytes("float32")
    for mine, theirs in zip(one.layers, other.layers, strict=True):
        for name in ("qkv", "out", "gate_up", "down"):
            matrix = getattr(theirs, name)
            torch.testing.assert_close(matrix.plain(torch.float32), getattr(mine, name))


def test_a_checkpoint_with_a_part_missing_says_which(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "model", hidden_size=128, head_dim=16)
    tensors = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.down_proj"
    tensors |= {f"{name}{end}": each for end, each in _checkpoint("awq", 64, 128, 64).items() if end[0] == "."}
    del tensors[f"{name}.weight"], tensors[f"{name}.scales"]
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": FORMATS["awq"]}))
    with pytest.raises(ModelLoadError, match=r"layers\.1\.mlp\.down_proj of model cannot be read: no scales"):
        load_model(_config(folder))


@pytest.mark.parametrize("kind", ERRORS)
def test_a_model_loads_in_the_format_that_was_asked_for_and_takes_what_was_foretold(kind: str, tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path / "model", hidden_size=128, head_dim=16)
    weights = load_model(_config(folder, kind)).weights
    assert isinstance(weights, Weights)
    assert all(isinstance(layer.down, Quantised) and layer.down.kind == kind for layer in weights.layers)
    foretold = read_folder(folder).weight_bytes("float32", kind)
    assert foretold / 2 < weights.num_bytes < foretold * 1.05      # scales are more of rows as short as these


def _config(folder: Path, weight_format: str | None = None) -> TorchConfig:
    return TorchConfig(
        folder=folder, device="cpu", dtype="float32", num_blocks=8, max_model_len=128, max_num_seqs=1,
        max_num_batched_tokens=64, weight_format=weight_format,
    )
