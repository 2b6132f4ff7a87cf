"""The back ends that `test_conformance.py` tries, each made in a given shape. A new one gets a line in `BACKENDS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.backends.scripted import ScriptedBackend
from engine.disk_cache.cache import DiskCache
from tests.engine.tiny_gguf import write_tiny_gguf


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """In blocks of 16 tokens; torch has half as many of 32. Every back end has a vocabulary of bytes and 32-bit KV:
    texts are compared exactly.
    """

    num_blocks: int = 64
    max_num_seqs: int = 8
    max_num_batched_tokens: int = 64
    max_model_len: int = 512
    can_speculate: bool = False

    @property
    def block_size(self) -> int:
        return 16


def scripted_paged(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    return _scripted(shape, disk, memory="paged")


def scripted_ahead(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """As one that begins with the next step before this one's tokens are known: it wants blocks for them."""
    return _scripted(shape, disk, num_tokens_ahead=1)


def scripted_in_runs(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """As one that takes several steps at once."""
    return _scripted(shape, disk, num_tokens_ahead=6, max_steps=4)


def scripted_pooled(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    return _scripted(shape, disk, memory="pooled")


def _scripted(shape: Shape, disk: DiskCache | None, **changes: Any) -> Backend:
    return ScriptedBackend(
        logits=scripted_logits,
        block_size=shape.block_size,
        num_blocks=shape.num_blocks,
        max_num_seqs=shape.max_num_seqs,
        max_num_batched_tokens=shape.max_num_batched_tokens,
        max_model_len=shape.max_model_len,
        can_speculate=shape.can_speculate,
        disk=disk,
        **changes,
    )


def llama_cpp(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """A tiny model with random weights in the real library. Its KV is 512 bytes a token: 2 layers, K and V of 32."""
    from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig

    path = folder / "tiny.gguf"
    if not path.exists():
        write_tiny_gguf(path)
    return LlamaCppBackend(
        LlamaCppConfig(
            path=path,
            max_model_len=shape.max_model_len,
            max_num_seqs=shape.max_num_seqs,
            cache_bytes=shape.num_blocks * shape.block_size * 512,
            num_threads=1,
            max_num_batched_tokens=shape.max_num_batched_tokens,
            kv_type="f32",
            speculate=shape.can_speculate,
            disk=disk,
        )
    )


def torch_plain(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """A tiny model with random weights, by torch on the processor."""
    return _torch(shape, folder / "torch", device="cpu", dtype="float32")


def torch_others(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """A mixture of experts, which transformers' own code runs with our attention."""
    return _torch(shape, folder / "torch", device="cpu", dtype="float32", family="mixtral", num_local_experts=4)


def torch_cuda(shape: Shape, folder: Path, disk: DiskCache | None = None) -> Backend:
    """The same kind of model on the GPU, by kernels and graphs: in 16 bits, for there are none of these in 32."""
    return _torch(shape, folder / "torch", device="cuda:0", dtype="bfloat16", head_dim=64)


def _torch(shape: Shape, folder: Path, *, device: str, dtype: str, **model: Any) -> Backend:
    from engine.backends.torch.backend import TorchBackend, TorchConfig
    from engine.backends.torch.model_config import BLOCK_SIZE
    from tests.engine.torch.tiny_folder import write_tiny_folder

    if not folder.exists():
        write_tiny_folder(folder, **model)
    return TorchBackend(
        TorchConfig(
            folder=folder,
            device=device,
            dtype=dtype,
            num_blocks=shape.num_blocks * shape.block_size // BLOCK_SIZE,
            max_model_len=shape.max_model_len,
            max_num_seqs=shape.max_num_seqs,
            max_num_batched_tokens=shape.max_num_batched_tokens,
            num_threads=1 if device == "cpu" else 0,
            speculate=shape.can_speculate,
        )
    )


BACKENDS: dict[str, Callable[[Shape, Path, DiskCache | None], Backend]] = {
    "scripted-paged": scripted_paged,
    "scripted-ahead": scripted_ahead,
    "scripted-in-runs": scripted_in_runs,
    "scripted-pooled": scripted_pooled,
    "llama.cpp": llama_cpp,
    "torch": torch_plain,
    "torch-others": torch_others,
}
if which("nvidia-smi") and find_spec("torch"):
    BACKENDS["torch-cuda"] = torch_cuda


def scripted_logits(token_ids: Sequence[int]) -> NDArray[np.float32]:
    """As if by chance, but the same for the same tokens."""
    seed = crc32(np.array(token_ids, dtype=np.int32).tobytes())
    return np.random.default_rng(seed).standard_normal(259, dtype=np.float32) * 3
