"""What fits: one pure function from a model, this machine and the user's limits to a plan. The page calls it before a
download, the loader before a load, so that promise and deed agree.

Where there is a GPU, layers move to it from the last one backwards, the output first, as llama.cpp does it. The number
is settled before the context is: as many as fit with a comfortable context, which then grows into what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.errors import OutOfMemory
from engine.memory_plan import COMFORTABLE_CONTEXT_TOKENS as COMFORTABLE_CONTEXT_TOKENS
from engine.memory_plan import DEFAULT_CONTEXT_TOKENS as DEFAULT_CONTEXT_TOKENS
from engine.memory_plan import DEFAULT_NUM_SEQS as DEFAULT_NUM_SEQS
from engine.memory_plan import GPU_WORKING_BYTES as GPU_WORKING_BYTES
from engine.memory_plan import MIN_CONTEXT_TOKENS as MIN_CONTEXT_TOKENS
from engine.memory_plan import NO_OWN_LIMITS as NO_OWN_LIMITS
from engine.memory_plan import WORKING_BYTES as WORKING_BYTES
from engine.memory_plan import DeviceFacts as DeviceFacts
from engine.memory_plan import GpuShare as GpuShare
from engine.memory_plan import KvType as KvType
from engine.memory_plan import LayerFacts as LayerFacts
from engine.memory_plan import LoadLimits as LoadLimits
from engine.memory_plan import MemoryPlan as MemoryPlan
from engine.memory_plan import ModelFacts as ModelFacts
from engine.memory_plan import OwnLimits as OwnLimits
from engine.memory_plan import WeightFormat as WeightFormat
from engine.sizes import size
from engine.told import Told

_RESERVE_SHARE = 8                   # of a memory, one part in so many stays with the system and its other programs,
_RESERVE_BOUNDS = (256 << 20, 4 << 30)   # within these


@dataclass(frozen=True, slots=True)
class _Shape:
    context: int
    num_seqs: int

    @property
    def num_tokens(self) -> int:
        return self.context * self.num_seqs


def plan(model: ModelFacts, device: DeviceFacts, limits: LoadLimits, gpu: DeviceFacts | None = None) -> MemoryPlan:
    """The most layers on the GPU, and then the most chats at once with the longest context, that fit.

    `device` is the host's memory. Raises OutOfMemory with numbers.
    """
    num_layers = _num_gpu_layers(model, limits, gpu) if gpu else 0
    usable = _usable_bytes(device)
    for shape in _shapes(model, limits):
        share = _gpu_share(model, gpu, num_layers, shape) if gpu and num_layers else None
        if gpu and share and share.total_bytes > _usable_bytes(gpu):
            continue
        smallest = _plan_of(model, shape, share, limits)
        left = min(usable - smallest.total_bytes, _budget_bytes(limits) - smallest.everywhere_bytes)
        if left >= 0:
            note = _gpu_too_small(model, gpu, shape) if gpu and not num_layers and _may_use_gpu(model, limits) else None
            return replace(_with_more_cache(smallest, limits, left), gpu_note=note)
    if gpu and num_layers and _gpu_share(model, gpu, num_layers, shape).total_bytes > _usable_bytes(gpu):
        raise _gpu_out_of_memory(model, gpu, num_layers, shape)
    if smallest.total_bytes <= usable:
        raise _over_budget(model, limits, smallest)
    raise _out_of_memory(model, device, limits, smallest, gpu)


def _shapes(model: ModelFacts, limits: LoadLimits) -> Iterator[_Shape]:
    """From what is wished for down to the least, within what the user fixed."""
    context = min(limits.context_tokens or DEFAULT_CONTEXT_TOKENS, model.context_length)
    num_seqs = limits.max_num_seqs or DEFAULT_NUM_SEQS
    least_context = min(limits.least_context_tokens, model.context_length)
    while True:
        yield _Shape(context, num_seqs)
        context_may_shrink = limits.context_tokens is None and context > least_context
        seqs_may_shrink = limits.max_num_seqs is None and num_seqs > 1
        if context_may_shrink and (context > COMFORTABLE_CONTEXT_TOKENS or not seqs_may_shrink or num_seqs <= 2):
            context = max(context // 2, least_context)
        elif seqs_may_shrink:
            num_seqs //= 2
        else:
            return


def _plan_of(model: ModelFacts, shape: _Shape, share: GpuShare | None, limits: LoadLimits) -> MemoryPlan:
    return MemoryPlan(
        max_model_len=shape.context,
        max_num_seqs=shape.num_seqs,
        cache_bytes=_least_cache_bytes(model, limits, shape.context),
        weight_bytes=model.weight_bytes,
        kv_bytes=shape.num_tokens * (model.kv_bytes_per_token + model.draft_kv_bytes_per_token),
        kv_type=limits.kv_type,
        gpu=share,
    )


def _least_cache_bytes(model: ModelFacts, limits: LoadLimits, context: int) -> int:
    """The scheduler counts in blocks of the cache: with less than a whole sequence there, none could use its window."""
    one_sequence = -(-context // 16) * 16 * model.kv_bytes_per_token
    if limits.cache_bytes is None:
        return one_sequence
    return max(limits.cache_bytes, one_sequence) if limits.cache_bytes else 0


def _with_more_cache(smallest: MemoryPlan, limits: LoadLimits, left: int) -> MemoryPlan:
    """Up to as much as running sequences have: then they never push each other out."""
    if limits.cache_bytes is not None:
        return smallest
    least = smallest.cache_bytes
    return replace(smallest, cache_bytes=max(least, min(least + left, smallest.max_num_seqs * least)))


def _budget_bytes(limits: LoadLimits) -> int:
    return 1 << 62 if limits.budget_bytes is None else max(0, limits.budget_bytes)


def _usable_bytes(device: DeviceFacts) -> int:
    return max(0, device.available_bytes - _reserve_bytes(device))


def _reserve_bytes(device: DeviceFacts) -> int:
    low, high = _RESERVE_BOUNDS
    return min(max(device.total_bytes // _RESERVE_SHARE, low), high)


# -- the GPU's part ----------------------------------------------------------------------------------------------------


def _num_gpu_layers(model: ModelFacts, limits: LoadLimits, gpu: DeviceFacts) -> int:
    most = len(model.layers) + 1 if model.layers else 0
    if limits.gpu_layers is not None:
        return min(limits.gpu_layers, most)
    shape = _comfortable(model, limits)
    fitting = (n for n in range(most, 0, -1) if _gpu_share(model, gpu, n, shape).total_bytes <= _usable_bytes(gpu))
    return next(fitting, 0)


def _may_use_gpu(model: ModelFacts, limits: LoadLimits) -> bool:
    return bool(model.layers) and limits.gpu_layers != 0


def _comfortable(model: ModelFacts, limits: LoadLimits) -> _Shape:
    """The least shape with a context that serves: layers on the GPU are worth more than longer contexts, to there."""
    wished, *smaller = _shapes(model, limits)
    enough = min(wished.context, COMFORTABLE_CONTEXT_TOKENS)
    return next((shape for shape in reversed(smaller) if shape.context >= enough), wished)


def _gpu_share(model: ModelFacts, gpu: DeviceFacts, num_layers: int, shape: _Shape) -> GpuShare:
    moved = model.layers[len(model.layers) - (num_layers - 1):]
    layer_bytes = sum(layer.weight_bytes for layer in moved)
    kv_bytes = shape.num_tokens * sum(layer.kv_bytes_per_token for layer in moved)
    spared_bytes = layer_bytes + kv_bytes + (0 if model.shares_output else model.output_bytes)
    if gpu.is_shared:
        spared_bytes = -GPU_WORKING_BYTES - (model.output_bytes if model.shares_output else 0)
    return GpuShare(
        name=gpu.name,
        num_layers=num_layers,
        weight_bytes=layer_bytes + model.output_bytes,
        kv_bytes=kv_bytes,
        spared_bytes=spared_bytes,
    )


# -- what a person is told ---------------------------------------------------------------------------------------------


def _gpu_out_of_memory(model: ModelFacts, gpu: DeviceFacts, num_layers: int, shape: _Shape) -> OutOfMemory:
    needed = _gpu_share(model, gpu, num_layers, shape).total_bytes
    return OutOfMemory(Told(
        "needs-gpu-memory", model=model.name, needed=size(needed), gpu=gpu.name, layers=num_layers,
        chats=shape.num_seqs, context=shape.context, usable=size(_usable_bytes(gpu)), total=size(gpu.total_bytes),
    ))


def _gpu_too_small(model: ModelFacts, gpu: DeviceFacts, shape: _Shape) -> Told:
    needed = _gpu_share(model, gpu, 1, shape).total_bytes
    return Told(
        "gpu-too-small", gpu=gpu.name, needed=size(needed), usable=size(_usable_bytes(gpu)), total=size(gpu.total_bytes)
    )


def _out_of_memory(
    model: ModelFacts, device: DeviceFacts, limits: LoadLimits, smallest: MemoryPlan, gpu: DeviceFacts | None
) -> OutOfMemory:
    usable = _usable_bytes(device)
    values: dict[str, str | int] = {
        "model": model.name, "needed": size(smallest.total_bytes), "chats": smallest.max_num_seqs,
        "context": smallest.max_model_len, "weights": size(model.weight_bytes), "usable": size(usable),
        "total": size(device.total_bytes), "advice": _what_would_fit(model, device, limits, usable, gpu),
    }
    if gpu and smallest.gpu_layers:
        return OutOfMemory(Told("needs-memory-beside-gpu", layers=smallest.gpu_layers, gpu=gpu.name, **values))
    return OutOfMemory(Told("needs-memory", **values))


def _over_budget(model: ModelFacts, limits: LoadLimits, smallest: MemoryPlan) -> OutOfMemory:
    left = _budget_bytes(limits)
    least = model.weight_bytes + 2 * min(MIN_CONTEXT_TOKENS, model.context_length) * model.kv_bytes_per_token
    advice = Told("advice-budget") if least <= left else Told("advice-budget-smaller", largest=size(left))
    return OutOfMemory(Told(
        "needs-budget", model=model.name, needed=size(smallest.everywhere_bytes), chats=smallest.max_num_seqs,
        context=smallest.max_model_len, weights=size(model.weight_bytes), left=size(left), advice=advice,
    ))


def _what_would_fit(
    model: ModelFacts, device: DeviceFacts, limits: LoadLimits, usable: int, gpu: DeviceFacts | None
) -> Told:
    if limits.context_tokens or limits.max_num_seqs or limits.cache_bytes or limits.gpu_layers is not None:
        try:
            smaller = plan(model, device, LoadLimits(), gpu)
        except OutOfMemory:
            pass
        else:
            chats, context = smaller.max_num_seqs, smaller.max_model_len
            if gpu and smaller.gpu_layers:
                layers = smaller.gpu_layers
                return Told("advice-limits-gpu", chats=chats, context=context, layers=layers, gpu=gpu.name)
            return Told("advice-limits", chats=chats, context=context)
    least_kv = 2 * min(MIN_CONTEXT_TOKENS, model.context_length) * model.kv_bytes_per_token
    largest = max(0, usable - least_kv - WORKING_BYTES)
    if largest < 64 << 20:
        return Told("advice-close")
    return Told("advice-smaller", largest=size(largest))
