"""How a checkpoint was quantised, by its `quantization_config`: GPTQ or AWQ, 4 bits. Without torch; any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

METHODS: Final = ("gptq", "awq")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFormat:
    method: str                     # one of METHODS
    zeros_are_less_one: bool        # than they are meant, as GPTQ's first form has them

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> CheckpointFormat:
        """Of config.json's `quantization_config`. Raises ValueError, with what it is that does not run here."""
        method = str(raw.get("quant_method", "")).lower()
        if method not in METHODS:
            raise ValueError(f"the method {method or 'without a name'}")
        bits = raw.get("bits", raw.get("w_bit"))
        if bits != 4:
            raise ValueError(f"{bits} bits")
        if method == "awq" and str(raw.get("version", "gemm")).lower() != "gemm":
            raise ValueError(f"AWQ in the form {raw['version']}")
        is_second = str(raw.get("checkpoint_format", "gptq")) == "gptq_v2"
        return cls(method=method, zeros_are_less_one=method == "gptq" and not is_second)
