"""Four bits as GPTQ and AWQ write them, eight numbers in each int32, as our own `Quantised`. At load.

GPTQ packs along the inputs, lowest bits first; AWQ along the outputs, in an order of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from engine.backends.torch.checkpoint_format import CheckpointFormat
from engine.backends.torch.quantised import PACKED_TOGETHER, Matrix, Quantised, packed

TENSORS: Final = (".qweight", ".qzeros", ".scales")
_AWQ_ORDER: Final = (0, 2, 4, 6, 1, 3, 5, 7)        # of the outputs in an int32, from its lowest bits on


def read_matrix(take: Callable[[str], Tensor | None], form: CheckpointFormat, dtype: torch.dtype) -> Matrix:
    """`take` gives a tensor by the end of its name. Raises ValueError where they do not belong together."""
    qweight, qzeros, scales = (_needed(take, name) for name in TENSORS)
    is_gptq = form.method == "gptq"
    numbers = _unpacked(qweight, along_rows=is_gptq, order=None if is_gptq else _AWQ_ORDER)       # [in, out]
    zeros = _unpacked(qzeros, along_rows=False, order=None if is_gptq else _AWQ_ORDER)           # [groups, out]
    if form.zeros_are_less_one:
        zeros = (zeros + 1) & 15
    size_in, size_out = numbers.shape
    if zeros.shape != scales.shape or scales.shape[1] != size_out or size_in % len(scales):
        raise ValueError(f"scales {tuple(scales.shape)} for {size_in} x {size_out}")
    group_of = take(".g_idx")
    group = size_in // len(scales)
    in_order = group_of is None or torch.equal(group_of.cpu().long(), torch.arange(size_in) // group)
    if in_order and group % PACKED_TOGETHER == 0:
        return Quantised(
            kind="int4", values=packed(numbers.T.contiguous()), scales=scales.T.float().contiguous(),
            zeros=zeros.T.contiguous(), size_in=size_in,
        )
    rows = group_of.long() if group_of is not None else torch.arange(size_in, device=scales.device) // group
    return ((numbers.float() - zeros[rows]) * scales[rows].float()).T.to(dtype).contiguous()


def _needed(take: Callable[[str], Tensor | None], name: str) -> Tensor:
    tensor = take(name)
    if tensor is None:
        raise ValueError(f"no {name.removeprefix('.')}")
    return tensor


def _unpacked(words: Tensor, *, along_rows: bool, order: tuple[int, ...] | None) -> Tensor:
    """int32 [rows, columns] to uint8, eight times as many rows, or columns."""
    shifts = torch.arange(0, 32, 4, device=words.device, dtype=torch.int32)
    numbers = (words[..., None] >> shifts & 15).to(torch.uint8)                 # [rows, columns, 8]
    if order is not None:
        places = torch.empty(8, dtype=torch.long)
        places[list(order)] = torch.arange(8)
        numbers = numbers[..., places.to(words.device)]
    if along_rows:
        return numbers.transpose(1, 2).reshape(-1, words.shape[1])
    return numbers.reshape(len(words), -1)
