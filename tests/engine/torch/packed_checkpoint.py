"""A folder of safetensors in the forms of GPTQ and AWQ, as their own tools pack them, rounded to the nearest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from engine.backends.torch.quantised import Quantised, quantise, unpacked

FORMATS: dict[str, dict[str, Any]] = {
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 64},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm"},
}


def words(numbers: torch.Tensor, order: tuple[int, ...] = tuple(range(8))) -> torch.Tensor:
    """[rows, columns] of 0 to 15 to int32 [rows, columns / 8]."""
    eights = numbers.view(len(numbers), -1, 8).long()
    packed = sum(eights[..., place] << 4 * bits for bits, place in enumerate(order))
    assert isinstance(packed, torch.Tensor)
    return torch.where(packed >= 1 << 31, packed - (1 << 32), packed).to(torch.int32)


def packed_tensors(
    method: str, numbers: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor
) -> dict[str, torch.Tensor]:
    """By the ends of their names, of `numbers` [in, out], `zeros` and `scales` [groups, out]."""
    if method == "gptq":
        packed = {".qweight": words(numbers.T.contiguous()).T.contiguous(), ".qzeros": words(zeros - 1)}
    else:
        order = (0, 2, 4, 6, 1, 3, 5, 7)
        packed = {".qweight": words(numbers, order), ".qzeros": words(zeros, order)}
    rows = torch.arange(len(numbers)) // (len(numbers) // len(scales))
    return packed | {".scales": scales, ".g_idx": rows.to(torch.int32)}


def write_packed(plain: Path, folder: Path, method: str) -> Path:
    """The model of the folder `plain`."""
    folder.mkdir()
    for file in plain.iterdir():
        if file.suffix != ".safetensors":
            shutil.copy(file, folder)
    kept: dict[str, torch.Tensor] = {}
    for name, tensor in load_file(plain / "model.safetensors").items():
        matrix = quantise(tensor, "int4") if "_proj" in name else tensor
        if not isinstance(matrix, Quantised):
            kept[name] = matrix
            continue
        assert matrix.zeros is not None
        numbers, zeros = unpacked(matrix.values).T.contiguous(), matrix.zeros.T.contiguous()
        made = packed_tensors(method, numbers, zeros.int(), matrix.scales.T.half().contiguous())
        kept |= {name.removesuffix(".weight") + end: each for end, each in made.items()}
    save_file(kept, folder / "model.safetensors")
    config = json.loads((plain / "config.json").read_text(encoding="utf-8"))
    described = json.dumps(config | {"quantization_config": FORMATS[method]})
    (folder / "config.json").write_text(described, encoding="utf-8")
    return folder
