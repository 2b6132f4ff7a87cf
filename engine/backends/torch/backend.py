"""torch as a `Backend`: models in safetensors, and in GGUF where torch has a GPU and llama.cpp has none. On CUDA, MPS
or the processor, all of it on the engine's thread.

A block id is an address in `PagedKv`: nothing moves when a sequence leaves, and shared prefixes are read in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from engine.backends.base import BackendInfo, Tokenizer
from engine.backends.torch.config import DecoderConfig, read_config
from engine.backends.torch.decoder import AnyDecoder, Decoder
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.model_config import BLOCK_SIZE, ModelConfig
from engine.backends.torch.operations import CudaOperations, PlainOperations, fits_kernels
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.token_rows import as_far_as_right
from engine.backends.torch.tokenizer import FolderTokenizer
from engine.backends.torch.warm_up import warm_up_batches
from engine.backends.torch.weights import Weights, read_weights
from engine.batch import Batch, BatchRow, SampledToken, StepOutput
from engine.disk_cache.blocks import DiskBlocks
from engine.errors import EngineFailed
from engine.memory_plan import KvType
from engine.proposer import Proposer
from engine.sampler import is_plain
from engine.step_sampler import StepSampler
from engine.told import Told

if TYPE_CHECKING:
    from engine.backends.torch.device_sampler import DeviceSampler
    from engine.backends.torch.graph_decoder import GraphDecoder
    from engine.backends.torch.prompt_graphs import PromptGraphs
    from engine.backends.torch.transformers_model import PretrainedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchConfig:
    """What the memory plan decided."""

    folder: Path
    device: str                     # "cuda:0", "mps", "cpu"
    dtype: str                      # "bfloat16", "float32"
    num_blocks: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    num_threads: int = 0            # of the processor; 0: as torch likes
    weight_format: str | None = None    # of quantised.py, for the matrices of layers; None: as they are on disk
    kv_type: KvType = "f16"         # q8_0: KV in 8 bits; else in `dtype`
    speculate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """What lies in the folder, on the device."""

    config: ModelConfig
    weights: Weights | PretrainedModel      # of the kinds that our decoder knows; of all others
    tokenizer: Tokenizer
    close: Callable[[], None] = lambda: None        # of what the tokenizer holds


def load_model(config: TorchConfig, on_share: Callable[[float], None] = lambda share: None) -> LoadedModel:
    """`on_share` hears how much of it is loaded, from 0 to 1. Raises ModelLoadError."""
    described = read_config(config.folder)
    tokenizer = FolderTokenizer(
        config.folder, vocab_size=described.vocab_size, eos_token_ids=described.eos_token_ids
    )
    dtype, device = getattr(torch, config.dtype), torch.device(config.device)
    if isinstance(described, DecoderConfig):
        weights = read_weights(
            config.folder, described, dtype, device, weight_format=config.weight_format, on_share=on_share
        )
        return LoadedModel(config=described, weights=weights, tokenizer=tokenizer)
    from engine.backends.torch.transformers_model import read_pretrained  # noqa: PLC0415 - it takes seconds to come

    pretrained = read_pretrained(config.folder, described, dtype, device)
    return LoadedModel(config=described, weights=pretrained, tokenizer=tokenizer)


class _StepInterrupted(Exception):
    pass


class TorchBackend:
    """Raises ModelLoadError when it cannot be made."""

    def __init__(self, config: TorchConfig, load: Callable[[TorchConfig], LoadedModel] = load_model) -> None:
        if config.num_threads:
            torch.set_num_threads(config.num_threads)
        self._config = config
        self._device = torch.device(config.device)
        with ExitStack() as undo:
            model = load(config)
            undo.callback(model.close)
            described, self._tokenizer, self._close_model = model.config, model.tokenizer, model.close
            # Some builds of torch for CUDA come without it, on Windows for one: then all is plain torch.
            self._has_triton = self._device.type == "cuda" and find_spec("triton") is not None
            self._has_kernels = self._has_triton and isinstance(described, DecoderConfig) and fits_kernels(described)
            self._decoder: AnyDecoder | None = self._make_decoder(model)
            # One block more than sequences get: rows that only fill up a graph work there.
            self._kv: PagedKv | None = PagedKv(
                described, config.num_blocks + 1, getattr(torch, config.dtype), self._device,
                quantises=config.kv_type == "q8_0",
            )
            self._sampler = StepSampler(described.vocab_size)
            self._device_sampler = self._make_device_sampler(described)
            self._graphs, self._prompt_graphs = self._make_graphs(self._decoder, self._kv)
            self._is_interrupted = threading.Event()
            self._lengths: dict[int, int] = {}          # tokens with KV, by running slot
            self._info = self._describe(described, model.weights.num_bytes, self._kv.num_bytes)
            if self._graphs is not None:
                self._warm_up(self._decoder, self._kv, self._graphs)
            undo.pop_all()

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def held_bytes(self) -> int:
        return self._info.kv_bytes

    @property
    def proposers(self) -> tuple[Proposer, ...]:
        return ()

    @property
    def disk(self) -> DiskBlocks | None:
        return None

    def execute(self, batch: Batch) -> StepOutput:
        for release in batch.released:
            del self._lengths[release.slot]
            if self._graphs is not None:
                self._graphs.forget(release.slot)
        if not batch.rows:
            return StepOutput([])
        if self._decoder is None or self._kv is None:
            raise EngineFailed(Told("gone"))
        self._enter(batch.rows, self._kv)
        try:
            tokens = self._choose(batch, self._decoder, self._kv)
        except _StepInterrupted:
            return StepOutput([], was_interrupted=True)
        for row, chosen in zip(batch.rows, tokens, strict=True):
            self._lengths[row.slot] = row.num_tokens_after(len(chosen))
            if row.num_proposed and self._graphs is not None:
                self._graphs.forget(row.slot)       # of its blocks, those behind wrong proposals go
        return StepOutput(tokens)

    def interrupt(self) -> None:
        self._is_interrupted.set()

    def resume(self) -> None:
        self._is_interrupted.clear()

    def prepare(self) -> bool:
        return any(graphs is not None and graphs.prepare() for graphs in (self._graphs, self._prompt_graphs))

    def check_integrity(self) -> None:
        if self._lengths:
            raise EngineFailed(f"Slots {sorted(self._lengths)} are held though nothing runs. Load the model again.")

    def close(self) -> None:
        if self._graphs is not None:
            self._graphs.close()
        self._decoder = self._kv = self._graphs = self._prompt_graphs = self._device_sampler = None
        self._close_model()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _warm_up(self, decoder: AnyDecoder, kv: PagedKv, graphs: GraphDecoder) -> None:
        """Compile the kernels that a first answer needs, and take its steps: no person waits for that."""
        from engine.backends.torch.launching import rehearsal  # noqa: PLC0415 - Triton is not everywhere

        with rehearsal(self._device):
            graphs.rehearse()
            for batch in warm_up_batches(self._info):
                if batch.rows and not graphs.takes(batch.rows):
                    decoder.forward(flatten(batch.rows, self._device, for_kernels=True), kv, self._check)
        for batch in warm_up_batches(self._info):
            self.execute(batch)

    def _make_decoder(self, model: LoadedModel) -> AnyDecoder:
        described, weights = model.config, model.weights
        if isinstance(described, DecoderConfig) and isinstance(weights, Weights):
            operations = CudaOperations(described) if self._has_kernels else PlainOperations(described)
            return Decoder(described, weights, max_model_len=self._config.max_model_len, operations=operations)
        from engine.backends.torch.transformers_decoder import TransformersDecoder  # noqa: PLC0415 - it is there by now

        assert not isinstance(weights, Weights)
        return TransformersDecoder(weights.code)

    def _make_device_sampler(self, described: ModelConfig) -> DeviceSampler | None:
        if not self._has_triton:
            return None
        from engine.backends.torch.device_sampler import DeviceSampler  # noqa: PLC0415 - Triton is not everywhere
        from engine.backends.torch.graph_decoder import most_rows  # noqa: PLC0415

        return DeviceSampler(most_rows(self._config.max_num_seqs), described.vocab_size, self._device)

    def _make_graphs(self, decoder: AnyDecoder, kv: PagedKv) -> tuple[GraphDecoder | None, PromptGraphs | None]:
        if not self._has_kernels or self._device_sampler is None or not isinstance(decoder, Decoder):
            return None, None
        from engine.backends.torch.graph_capture import GraphCapture  # noqa: PLC0415 - as above
        from engine.backends.torch.graph_decoder import GraphDecoder  # noqa: PLC0415
        from engine.backends.torch.prompt_graphs import PromptGraphs  # noqa: PLC0415
        from engine.backends.torch.stream import current_stream  # noqa: PLC0415

        config, stream = self._config, current_stream()
        capture = GraphCapture(stream)
        graphs = GraphDecoder(
            decoder, kv, self._device_sampler, stream, capture, max_num_seqs=config.max_num_seqs,
            max_model_len=config.max_model_len, speculates=config.speculate,
        )
        return graphs, PromptGraphs(decoder, kv, capture, max_num_batched_tokens=config.max_num_batched_tokens)

    def _choose(self, batch: Batch, decoder: AnyDecoder, kv: PagedKv) -> list[tuple[SampledToken, ...]]:
        """Where it can, the device chooses, and only ids come back."""
        rows = batch.rows
        if self._graphs is not None and self._graphs.takes(rows):       # over before it could be interrupted
            tokens = self._graphs.choose(rows, batch.num_steps)
            if tokens is not None:
                return [as_far_as_right(row, each) for row, each in zip(rows, tokens, strict=True)]
            return self._chosen_from(self._graphs.forward(rows), rows)
        logits = None if self._prompt_graphs is None else self._prompt_graphs.forward(rows)
        if logits is None:
            logits = decoder.forward(flatten(rows, self._device, for_kernels=self._has_kernels), kv, self._check)
        return self._chosen_from(logits, rows)

    def _chosen_from(self, logits: torch.Tensor, rows: Sequence[BatchRow]) -> list[tuple[SampledToken, ...]]:
        """`logits` [sum of num_sampled_from, vocab]. Only those cross to the processor that must be looked at there."""
        if all(_is_plainly_greedy(row) for row in rows):
            best = iter(logits.argmax(dim=-1).tolist())
            return [as_far_as_right(row, list(islice(best, row.num_sampled_from))) for row in rows]
        if self._device_sampler is None:
            return self._sampler.sample(logits.cpu().numpy(), rows)
        return self._device_sampler.sample(logits, rows, self._sampler)

    def _check(self) -> None:
        if self._is_interrupted.is_set():
            raise _StepInterrupted

    def _enter(self, rows: Sequence[BatchRow], kv: PagedKv) -> None:
        """Sequences that were just admitted: whole blocks are read where they lie, a beginning is copied."""
        copies = []
        for row in rows:
            if row.slot not in self._lengths:
                num_whole, num_more = divmod(row.position, BLOCK_SIZE)
                if num_more:
                    copies.append((row.restored_blocks[num_whole], row.block_table[num_whole], num_more))
            elif self._lengths[row.slot] != row.position:
                length = self._lengths[row.slot]
                raise EngineFailed(f"Slot {row.slot} goes on at {row.position}, but has KV for {length} tokens.")
            self._lengths[row.slot] = row.position
        kv.copy_beginnings(copies)

    def _describe(self, described: ModelConfig, weight_bytes: int, kv_bytes: int) -> BackendInfo:
        config = self._config
        return BackendInfo(
            name="torch",
            version=torch.__version__,
            device=config.device,
            block_size=BLOCK_SIZE,
            num_blocks=config.num_blocks,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=config.max_num_batched_tokens,
            max_model_len=min(config.max_model_len, described.context_length),
            vocab_size=described.vocab_size,
            prefix_cache=True,
            can_speculate=config.speculate,
            num_tokens_ahead=0 if self._graphs is None else self._graphs.num_tokens_ahead,
            max_steps=1 if self._graphs is None else self._graphs.max_steps,
            weight_bytes=weight_bytes,
            kv_bytes=kv_bytes,
        )


def _is_plainly_greedy(row: BatchRow) -> bool:
    return row.sampling is None or (row.sampling.params.is_greedy and is_plain(row.sampling))
