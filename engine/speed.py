"""How many tokens a second a model should write on this machine's processor or GPU, before it ever has: by the bytes of
weights that a token reads, and how fast memory gives them. Pure, but for `measure_bandwidth`; any thread.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.gguf import GgufHeader
from engine.hardware import Machine

# llama.cpp's kernels unpack a quantised weight before they multiply it, which a core does at about this pace, whatever
# memory gives: the starter writes 113 tokens/s on two virtual cores, which is 11 GB/s of 30.
CORE_BYTES_PER_S = 8e9
STEP_S = 0.002              # of each token: layers wait for one another, and a token is chosen

# Of torch on CUDA, by the format of its matrices: the part of the card's bandwidth that is used while they are read;
# numbers in few bits wait for being unpacked. With the launches of a step it gives what was measured on an H200 (4.25
# TB/s): an 8B of 15.0 GB a token 237 tokens/s in bf16, 295 in INT8, 249 in INT4; a 0.6B of 1.2 GB 1101.
GPU_STEP_S = 0.00062
GPU_SHARES = {"": 0.98, "int8": 0.70, "fp8": 0.56, "int4": 0.37}

_EMBEDDING, _LAYERS_EMBEDDING = "token_embd.weight", "per_layer_token_embd.weight"     # a token reads a row of each
_CHUNK_NUMBERS = 1 << 20     # of eight bytes: read in one go, while nobody waits for the GIL
_MOST_BYTES = 256 << 20     # read over and over: more than most caches hold
_MOST_THREADS = 16          # they use what memory gives; more of them would only need more of it
_LEAST_BYTES_PER_S, _MOST_BYTES_PER_S = 1e8, 1e13
_ROUND_S, _NUM_ROUNDS = 0.05, 4


def bytes_per_token(header: GgufHeader) -> int:
    """Of weights. Of a mixture of experts those that are chosen count, as many as the file says."""
    has_output = any(tensor.name == "output.weight" for tensor in header.tensors)
    tables = {_EMBEDDING, _LAYERS_EMBEDDING} if has_output else {_LAYERS_EMBEDDING}      # else it is the output, too
    share = _active_share(header)
    return round(sum(
        tensor.num_bytes * (share if "_exps." in tensor.name else 1.0)
        for tensor in header.tensors if tensor.name not in tables
    ))


def expected_tokens_per_s(num_bytes: float, bandwidth_bytes_per_s: float, num_cores: int) -> float:
    """Of one answer alone, on the processor."""
    return 1 / (STEP_S + num_bytes / min(bandwidth_bytes_per_s, num_cores * CORE_BYTES_PER_S))


def expected_on_gpu(num_bytes: float, bandwidth_bytes_per_s: float, weight_format: str = "") -> float:
    """Tokens a second of one answer alone, run by torch. `weight_format`: a key of GPU_SHARES."""
    return 1 / (GPU_STEP_S + num_bytes / (bandwidth_bytes_per_s * GPU_SHARES[weight_format]))


def measure_bandwidth(machine: Machine) -> float:
    """Bytes a second that its cores read together: the best of a few short rounds, for whatever else runs here only
    takes away. Half a second; numpy lets other threads run meanwhile.
    """
    num_threads = min(machine.num_cores, _MOST_THREADS)
    num_numbers = max(_CHUNK_NUMBERS, min(_MOST_BYTES, machine.available_bytes // 8) // num_threads // 8)
    # Written, not only asked for: pages that were never touched are all the same one.
    blocks = [np.full(num_numbers, thread + 1, np.int64) for thread in range(num_threads)]
    with ThreadPoolExecutor(num_threads, "bandwidth") as pool:
        best = max(sum(pool.map(_read_for_a_while, blocks)) for _ in range(_NUM_ROUNDS))
    return min(max(best, _LEAST_BYTES_PER_S), _MOST_BYTES_PER_S)


def _read_for_a_while(block: NDArray[np.int64]) -> float:
    begun_s = time.perf_counter()
    num_bytes = 0
    while (elapsed_s := time.perf_counter() - begun_s) < _ROUND_S:
        for start in range(0, block.size, _CHUNK_NUMBERS):
            chunk = block[start : start + _CHUNK_NUMBERS]
            chunk.max()
            num_bytes += chunk.nbytes
    return num_bytes / elapsed_s


def _active_share(header: GgufHeader) -> float:
    count, used = (
        header.metadata.get(f"{header.architecture}.{name}") for name in ("expert_count", "expert_used_count")
    )
    if isinstance(count, int) and isinstance(used, int) and 0 < used <= count:
        return used / count
    return 1.0
