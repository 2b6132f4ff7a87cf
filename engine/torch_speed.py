"""What torch reads for a token of an answer on this machine's GPU, and how fast that card gives it: how fast a model
should write there is `engine.speed`'s to say. Called by `app.services.model_speeds`, on the event loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.backends.torch.folder import read_folder
from engine.gguf import read_header
from engine.hardware import has_gpu_driver, inspect_machine
from engine.load_torch import bring_torch, gguf_by_torch
from engine.memory import LoadLimits
from engine.model_spec import ModelSpec
from engine.select import has_torch, select_backend


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReads:
    device: str             # as torch names it: "cuda:0"
    card: str               # "NVIDIA H200"
    total_bytes: int        # of its memory
    num_bytes: int          # of weights, for each token
    weight_format: str      # of the matrices; "": they are plain


async def gpu_reads(spec: ModelSpec, limits: LoadLimits) -> GpuReads | None:
    """None where this model is not run by torch on CUDA with our own decoder. Raises ModelLoadError."""
    limits = spec.own_limits.over(limits)
    if limits.gpu_layers == 0 or spec.adapters or not (has_torch() and has_gpu_driver()):
        return None             # looked at first: torch takes seconds to come
    await bring_torch()
    from engine.backends.torch.device import choose_device  # noqa: PLC0415 - it is there by now

    machine = await asyncio.to_thread(inspect_machine)
    if await asyncio.to_thread(select_backend, spec.path) == "torch":
        folder = await asyncio.to_thread(read_folder, spec.path)
    else:
        header = await asyncio.to_thread(read_header, spec.path)
        by_torch = None if header.pooling else await gguf_by_torch(header, machine, limits)
        if by_torch is None:
            return None
        folder = by_torch
    device = await asyncio.to_thread(choose_device, machine, limits)
    num_bytes = folder.bytes_per_token(device.dtype, limits.weight_format)
    if not device.name.startswith("cuda") or not num_bytes:
        return None
    return GpuReads(
        device=device.name, card=device.facts.name, total_bytes=device.facts.total_bytes, num_bytes=num_bytes,
        weight_format="int4" if folder.checkpoint is not None else limits.weight_format or "",
    )


async def gpu_bandwidth(device: str) -> float:
    """Measured now, in bytes a second. Raises RuntimeError where the card has no room for it."""
    await bring_torch()
    from engine.backends.torch.device import measure_bandwidth  # noqa: PLC0415 - as above

    return await asyncio.to_thread(measure_bandwidth, device)
