"""Where torch runs a model, and as what. Called by `engine.load_torch`, on any thread."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
import torch

from engine.hardware import Machine, cpu_device
from engine.memory import DeviceFacts, LoadLimits

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchDevice:
    name: str                           # "cuda:0", "mps", "cpu"
    dtype: str
    facts: DeviceFacts

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"


def choose_device(machine: Machine, limits: LoadLimits) -> TorchDevice:
    """CUDA, else Apple's, else the processor, where torch runs correctly but llama.cpp is several times as fast."""
    if limits.gpu_layers != 0 and torch.cuda.is_available():
        index = limits.main_gpu or 0
        free_bytes, total_bytes = torch.cuda.mem_get_info(index)
        facts = DeviceFacts(
            name=torch.cuda.get_device_name(index),
            total_bytes=total_bytes,
            available_bytes=max(0, free_bytes - limits.promised_gpu_bytes),
        )
        dtype = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        return TorchDevice(name=f"cuda:{index}", dtype=dtype, facts=facts)
    facts = cpu_device(machine, limits.promised_bytes)
    if limits.gpu_layers != 0 and torch.backends.mps.is_available():
        return TorchDevice(name="mps", dtype="float16", facts=facts)
    logger.info("torch runs on the processor: the GGUF file of a model is faster there")
    return TorchDevice(name="cpu", dtype="float32", facts=facts)
