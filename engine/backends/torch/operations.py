"""The parts of a layer: in plain torch, which is the reference, and by kernels on CUDA.

`Decoder` is given one of them at load. On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.attention import Prompts, Singles, Span, attend_paged, attend_span
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.quantised import Matrix, product
from engine.backends.torch.rope import turn

if TYPE_CHECKING:
    from engine.backends.torch.paged_attention import PagedAttention

# What `torch.nn.attention.varlen.varlen_attn` calls, without its 0.1 ms of Python, twice a layer: prompts of small
# models waited for it.
_flash_attention = torch.ops.aten._flash_attention_forward

Norms = tuple[Tensor, Tensor]       # weights, of q and of k


def fits_kernels(config: DecoderConfig) -> bool:
    """Whether its arithmetic is that of the kernels; all else runs in plain torch, launched piece by piece."""
    return (
        not config.norms_outputs and not config.norm_adds_one and config.activation == "silu"
        and config.residual_scale == 1.0 and config.head_dim in (64, 128, 256)
    )


class Operations(Protocol):
    def product(self, x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
        """`x` [tokens, in] times `matrix` [out, in]."""

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        """Root mean square, Zhang and Sennrich 2019, over the last dimension."""

    def gated(self, gate_up: Tensor) -> Tensor:
        """[tokens, 2 * size] to the activation of the first half times the second."""

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        """`qkv` [tokens, (heads + 2 kv_heads) * head_dim]; queries come back, [tokens, heads, head_dim], turned, and
        keys and values are in the cache. `rotary` is of all positions.
        """

    def attend(
        self, qkv: Tensor, queries: Tensor, kv: PagedKv, layer: int, step: AttendedStep, *, scale: float,
        softcap: float | None, window: int | None,
    ) -> Tensor:
        """What `rotate_and_write` left, to [tokens, heads, head_dim]: each token sees its own sequence up to itself."""


class AttendedStep(Protocol):
    """Which sequences the tokens of a step belong to."""

    @property
    def spans(self) -> Sequence[Span]: ...
    @property
    def singles(self) -> Singles | None: ...
    @property
    def prompts(self) -> Sequence[Prompts] | None: ...


class PlainOperations:
    def __init__(self, config: DecoderConfig) -> None:
        self._config = config

    def product(self, x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
        return product(x, matrix, bias)

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        full = x.float()
        normed = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + self._config.norm_eps)
        if self._config.norm_adds_one:
            return (normed * weight).to(x.dtype)
        return weight * normed.to(x.dtype)

    def gated(self, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        activated = F.silu(gate) if self._config.activation == "silu" else F.gelu(gate, approximate="tanh")
        return activated * up

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        config = self._config
        heads, kv_heads = config.num_heads, config.num_kv_heads
        queries, keys, values = qkv.view(len(qkv), -1, config.head_dim).split((heads, kv_heads, kv_heads), dim=1)
        if norms is not None:
            queries, keys = self.norm(queries, norms[0]), self.norm(keys, norms[1])
        cos, sin = rotary[0][positions], rotary[1][positions]
        kv.write(layer, blocks, positions, turn(keys, cos, sin), values)
        return turn(queries, cos, sin)

    def attend(
        self, qkv: Tensor, queries: Tensor, kv: PagedKv, layer: int, step: AttendedStep, *, scale: float,
        softcap: float | None, window: int | None,
    ) -> Tensor:
        return attend_paged(queries, kv, layer, step.spans, window=window, scale=scale, softcap=softcap)


class CudaOperations(PlainOperations):
    """Where `fits_kernels`."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__(config)
        self._attention: PagedAttention | None = None

    def product(self, x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
        if isinstance(matrix, Tensor):
            return F.linear(x, matrix, bias)
        from engine.backends.torch.quantised_kernels import product as fast  # noqa: PLC0415 - Triton is CUDA's

        return fast(x, matrix, bias)

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self._config.norm_eps)

    def gated(self, gate_up: Tensor) -> Tensor:
        from engine.backends.torch.kernels import silu_mul  # noqa: PLC0415 - Triton is CUDA's

        out = gate_up.new_empty(len(gate_up), gate_up.shape[-1] // 2)
        silu_mul(gate_up, out)
        return out

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        from engine.backends.torch.kernels import rotate_and_write  # noqa: PLC0415 - as above

        config = self._config
        rotate_and_write(
            qkv, kv.layers[layer], blocks, positions, rotary, norms, num_heads=config.num_heads, eps=config.norm_eps,
            scales=kv.scales(layer),
        )
        return qkv.view(len(qkv), -1, config.head_dim)[:, : config.num_heads]

    def attend(
        self, qkv: Tensor, queries: Tensor, kv: PagedKv, layer: int, step: AttendedStep, *, scale: float,
        softcap: float | None, window: int | None,
    ) -> Tensor:
        """The step's rows lie in the order of their kinds, so the parts lie behind one another."""
        parts = []
        if step.singles is not None:
            parts.append(self._attend_singles(qkv, kv, layer, step.singles, scale, softcap, window))
        if softcap is None:
            parts += [self._attend_prompts(qkv, kv, layer, run, scale, window) for run in step.prompts or ()]
        elif step.spans:
            mixed = torch.empty_like(queries, memory_format=torch.contiguous_format)
            for span in step.spans:
                attend_span(queries, mixed, kv, layer, span, window, scale, softcap)
            parts.append(mixed[step.spans[0].start :])
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _attend_singles(
        self, qkv: Tensor, kv: PagedKv, layer: int, singles: Singles, scale: float, softcap: float | None,
        window: int | None,
    ) -> Tensor:
        number, config = len(singles.slots), self._config
        out = qkv.new_empty(number, config.num_heads * config.head_dim)
        self._paged(qkv.device)(
            qkv[:number], kv.layers[layer], singles.tables, singles.slots, singles.positions, out, scale=scale,
            softcap=softcap, window=window, scales=kv.scales(layer),
        )
        return out.view(number, config.num_heads, config.head_dim)

    def _attend_prompts(
        self, qkv: Tensor, kv: PagedKv, layer: int, prompts: Prompts, scale: float, window: int | None
    ) -> Tensor:
        config = self._config
        heads = qkv[prompts.start : prompts.end].view(prompts.end - prompts.start, -1, config.head_dim)
        q, k, v = heads.split((config.num_heads, config.num_kv_heads, config.num_kv_heads), dim=1)
        if prompts.blocks is not None and prompts.positions is not None:
            from engine.backends.torch.kernels import gather  # noqa: PLC0415 - as above

            k, v = gather(kv.layers[layer], prompts.blocks, prompts.positions, qkv.dtype, kv.scales(layer))
        mixed: Tensor = _flash_attention(
            q, k, v, prompts.query_bounds, prompts.key_bounds, prompts.most_queries, prompts.most_keys, 0.0,
            window is None, False, scale=scale, window_size_left=-1 if window is None else window - 1,
            window_size_right=0,
        )[0]
        return mixed

    def _paged(self, device: torch.device) -> PagedAttention:
        if self._attention is None:
            from engine.backends.torch.kernels import Card  # noqa: PLC0415 - as above
            from engine.backends.torch.paged_attention import PagedAttention  # noqa: PLC0415

            card, config = Card.of(device), self._config
            self._attention = PagedAttention(config.num_heads, config.num_kv_heads, config.head_dim, card, device)
        return self._attention
