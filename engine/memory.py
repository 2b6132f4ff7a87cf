"""What fits: one pure function from a model, a device and the user's limits to a plan. The page calls it before a
download, the loader before a load, so that promise and deed agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.disk_cache.cache import DiskCache
from engine.errors import OutOfMemory

DEFAULT_CONTEXT_TOKENS = 8192
DEFAULT_NUM_SEQS = 8
COMFORTABLE_CONTEXT_TOKENS = 4096    # given up only after half of the chats at once
MIN_CONTEXT_TOKENS = 1024
WORKING_BYTES = 64 << 20             # logits, buffers of a step, copies of KV on their way

_RESERVE_SHARE = 8                   # of the device's memory, one part in so many stays with the system,
_RESERVE_BOUNDS = (256 << 20, 4 << 30)   # within these


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """What the user fixed, where None leaves it to the plan, and what other models were promised."""

    context_tokens: int | None = None
    max_num_seqs: int | None = None
    cache_bytes: int | None = None
    threads: int | None = None
    max_queue: int = 256
    state_dir: Path | None = None    # where outcomes of trials are remembered; None: nowhere
    disk: DiskCache | None = None    # that idle prefixes go to; None: they last as long as the model is loaded
    promised_bytes: int = 0          # that models in memory may still take, as their chats grow


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    name: str
    weight_bytes: int
    kv_bytes_per_token: int
    context_length: int              # tokens it was trained for


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    name: str
    total_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Upper bounds: memory for KV and cache is taken as it is needed."""

    max_model_len: int
    max_num_seqs: int
    cache_bytes: int                 # of idle prefixes; 0: none are kept
    weight_bytes: int
    kv_bytes: int                    # of running sequences

    @property
    def total_bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes + self.cache_bytes + WORKING_BYTES


def plan(model: ModelFacts, device: DeviceFacts, limits: LoadLimits) -> MemoryPlan:
    """The most chats at once, with the longest context, that fit. Raises OutOfMemory with numbers."""
    budget = device.available_bytes - _reserve_bytes(device) - model.weight_bytes - WORKING_BYTES
    context = min(limits.context_tokens or DEFAULT_CONTEXT_TOKENS, model.context_length)
    num_seqs = limits.max_num_seqs or DEFAULT_NUM_SEQS
    while not _fits(model, limits, budget, context, num_seqs):
        context_may_shrink = limits.context_tokens is None and context > MIN_CONTEXT_TOKENS
        seqs_may_shrink = limits.max_num_seqs is None and num_seqs > 1
        if context_may_shrink and (context > COMFORTABLE_CONTEXT_TOKENS or not seqs_may_shrink or num_seqs <= 2):
            context = max(context // 2, MIN_CONTEXT_TOKENS)
        elif seqs_may_shrink:
            num_seqs //= 2
        else:
            raise _out_of_memory(model, device, limits, context, num_seqs)
    kv_bytes = num_seqs * context * model.kv_bytes_per_token
    return MemoryPlan(
        max_model_len=context,
        max_num_seqs=num_seqs,
        cache_bytes=_cache_bytes(model, limits, budget - kv_bytes, context, num_seqs),
        weight_bytes=model.weight_bytes,
        kv_bytes=kv_bytes,
    )


def _fits(model: ModelFacts, limits: LoadLimits, budget: int, context: int, num_seqs: int) -> bool:
    kv_bytes = num_seqs * context * model.kv_bytes_per_token
    return kv_bytes + _least_cache_bytes(model, limits, context) <= budget


def _least_cache_bytes(model: ModelFacts, limits: LoadLimits, context: int) -> int:
    """The scheduler counts in blocks of the cache: with less than a whole sequence there, none could use its window."""
    one_sequence = -(-context // 16) * 16 * model.kv_bytes_per_token
    if limits.cache_bytes is None:
        return one_sequence
    return max(limits.cache_bytes, one_sequence) if limits.cache_bytes else 0


def _cache_bytes(model: ModelFacts, limits: LoadLimits, left: int, context: int, num_seqs: int) -> int:
    """Up to as much as running sequences have: then they never push each other out."""
    least = _least_cache_bytes(model, limits, context)
    if limits.cache_bytes is not None:
        return least
    return max(least, min(left, num_seqs * least))


def _reserve_bytes(device: DeviceFacts) -> int:
    low, high = _RESERVE_BOUNDS
    return min(max(device.total_bytes // _RESERVE_SHARE, low), high)


def _out_of_memory(
    model: ModelFacts, device: DeviceFacts, limits: LoadLimits, context: int, num_seqs: int
) -> OutOfMemory:
    usable = max(0, device.available_bytes - _reserve_bytes(device))
    kv_bytes = num_seqs * context * model.kv_bytes_per_token
    cache_bytes = _least_cache_bytes(model, limits, context)
    needed = model.weight_bytes + kv_bytes + cache_bytes + WORKING_BYTES
    return OutOfMemory(
        f"{model.name} needs {_gib(needed)} with {num_seqs} x {context} tokens of context "
        f"({_gib(model.weight_bytes)} of it weights); {_gib(usable)} of {_gib(device.total_bytes)} can be used now. "
        + _what_would_fit(model, device, limits, usable)
    )


def _what_would_fit(model: ModelFacts, device: DeviceFacts, limits: LoadLimits, usable: int) -> str:
    if limits.context_tokens or limits.max_num_seqs or limits.cache_bytes:
        try:
            smaller = plan(model, device, LoadLimits())
        except OutOfMemory:
            pass
        else:
            return f"It fits with {smaller.max_num_seqs} x {smaller.max_model_len} tokens: lower your limits."
    least_kv = 2 * min(MIN_CONTEXT_TOKENS, model.context_length) * model.kv_bytes_per_token
    largest = max(0, usable - least_kv - WORKING_BYTES)
    if largest < 64 << 20:
        return "Close other programs or unload another model, then load it again."
    return f"Close other programs, unload another model, or take one whose file has at most {_gib(largest)}."


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):.1f} GiB"
