"""Where torch runs a model, and as what. Called by `engine.load_torch` and `engine.torch_speed`, on any thread."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import structlog
import torch

from engine.hardware import Machine, cpu_device
from engine.memory import DeviceFacts, LoadLimits

_NUM_COPIES: Final = 16         # one after the other, so that launching them is no part of it
_NUM_ROUNDS: Final = 4

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


def measure_bandwidth(name: str, num_bytes: int = 512 << 20) -> float:
    """Bytes a second that the memory of this device gives and takes together: of copies of this many, the best of a few
    rounds. A moment, on any thread; what it takes is given back. Raises RuntimeError where there is no room for two.
    """
    module = torch.get_device_module(name)
    source = torch.ones(num_bytes // 4, dtype=torch.float32, device=name)
    target = torch.empty_like(source)
    best_s = min(_copying_s(module, name, source, target) for _ in range(_NUM_ROUNDS))
    del source, target
    if name != "cpu":
        module.empty_cache()
    return 2 * num_bytes * _NUM_COPIES / best_s


def _copying_s(module: Any, name: str, source: torch.Tensor, target: torch.Tensor) -> float:
    module.synchronize(name)
    begun_s = time.perf_counter()
    for _ in range(_NUM_COPIES):
        target.copy_(source)
    module.synchronize(name)
    return time.perf_counter() - begun_s
