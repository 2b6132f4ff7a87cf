"""Values of the memory plan: what the user fixed, what models and devices are, and the plan itself. `engine.memory`
makes it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

from engine.disk_cache.cache import DiskCache
from engine.told import Told

KvType = Literal["f16", "q8_0"]
WeightFormat = Literal["fp8", "int8", "int4"]

DEFAULT_CONTEXT_TOKENS = 8192
DEFAULT_NUM_SEQS = 8
COMFORTABLE_CONTEXT_TOKENS = 4096    # given up only after half of the chats at once
MIN_CONTEXT_TOKENS = 1024
WORKING_BYTES = 64 << 20             # logits, buffers of a step, copies of KV on their way
GPU_WORKING_BYTES = 768 << 20        # there too; a step's logits alone take 0.5 GiB with 262,144 words


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """What the user fixed, where None leaves it to the plan, and what other models were promised."""

    context_tokens: int | None = None
    max_num_seqs: int | None = None
    cache_bytes: int | None = None
    threads: int | None = None
    kv_type: KvType = "f16"
    gpu_layers: int | None = None    # the output counts as one
    main_gpu: int | None = None      # which one, where there are several; None: the one with most free memory
    weight_format: WeightFormat | None = None    # of a model in safetensors, made while it loads; None: as on disk
    max_queue: int = 256
    state_dir: Path | None = None    # where outcomes of trials are remembered; None: nowhere
    draft_model: Path | None = None  # a file of a smaller model with the same vocabulary, which guesses
    disk: DiskCache | None = None    # that idle prefixes go to; None: they last as long as the model is loaded
    promised_bytes: int = 0          # that models in memory may still take, as their chats grow
    promised_gpu_bytes: int = 0      # likewise, of the GPU's memory
    budget_bytes: int | None = None  # of host and GPU together, that this model may take; None: as much as fits
    least_context_tokens: int = MIN_CONTEXT_TOKENS       # with less it is not loaded, where the user fixed nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLimits:
    """What was fixed for one model alone. None: as for all."""

    context_tokens: int | None = None
    max_num_seqs: int | None = None
    threads: int | None = None
    kv_type: KvType | None = None
    gpu_layers: int | None = None
    main_gpu: int | None = None
    weight_format: WeightFormat | None = None

    def over(self, limits: LoadLimits) -> LoadLimits:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(limits, **{name: value for name, value in own.items() if value is not None})


NO_OWN_LIMITS = OwnLimits()


@dataclass(frozen=True, slots=True)
class LayerFacts:
    weight_bytes: int
    kv_bytes_per_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    name: str
    weight_bytes: int
    kv_bytes_per_token: int
    context_length: int              # tokens it was trained for
    layers: tuple[LayerFacts, ...] = ()      # first to last; empty where nothing of it can go to a GPU
    output_bytes: int = 0            # of what turns the last layer's numbers into logits
    shares_output: bool = False      # it is the input's table, of which a GPU gets a copy of its own
    draft_kv_bytes_per_token: int = 0    # of a draft model beside it, whose weights are among its own


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    name: str
    total_bytes: int
    available_bytes: int
    is_shared: bool = False          # a GPU without memory of its own: what it takes, the host lacks


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShare:
    """What goes to the GPU. Upper bounds, as in the plan."""

    name: str                        # as the back end has it: "CUDA0"
    num_layers: int                  # from the last backwards; the output is the first of them
    weight_bytes: int
    kv_bytes: int
    spared_bytes: int                # of the host's memory, which it would take otherwise

    @property
    def total_bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes + GPU_WORKING_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Upper bounds: memory for KV and cache is taken as it is needed."""

    max_model_len: int
    max_num_seqs: int
    cache_bytes: int                 # of idle prefixes, in the host's memory; 0: none are kept
    weight_bytes: int                # of the whole model, wherever they lie
    kv_bytes: int                    # of running sequences, likewise
    kv_type: KvType                  # that this is for
    gpu: GpuShare | None = None      # None: all of it runs on the processor
    gpu_note: Told | None = None     # why, where there is a GPU that might have taken some of it

    @property
    def gpu_layers(self) -> int:
        return self.gpu.num_layers if self.gpu else 0

    @property
    def total_bytes(self) -> int:
        """Of the host's memory."""
        spared_bytes = self.gpu.spared_bytes if self.gpu else 0
        return self.weight_bytes + self.kv_bytes + self.cache_bytes + WORKING_BYTES - spared_bytes

    @property
    def everywhere_bytes(self) -> int:
        """Of the host's memory and the GPU's: what a budget counts."""
        return self.weight_bytes + self.kv_bytes + self.cache_bytes
