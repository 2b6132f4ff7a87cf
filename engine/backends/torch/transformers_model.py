"""A model that transformers' own code runs: from its folder to the device, and tried there. At load, on the engine's
thread.

Nothing is fetched, and no code of the folder's is run. Whether a kind of model keeps to the rules of
`TransformersDecoder` is not to be known from its name: so a short text is read both in transformers' plain way and in
ours, in pieces beside another, and both must say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.backends.torch.flat_step import flatten
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.other_config import OtherConfig
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.transformers_decoder import ATTENTION_NAME, TransformersDecoder
from engine.batch import BatchRow, SamplingInput
from engine.errors import ModelLoadError
from engine.params import SamplingParams
from engine.told import Told

_TRIED_TOKENS: Final = 40           # more than two blocks
_LEAST_AGREEMENT: Final = 0.95      # correlation of logits: 16 bits may choose other experts; a fault is near 0

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@dataclass(frozen=True, slots=True)
class PretrainedModel:
    code: PreTrainedModel

    @property
    def num_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in (*self.code.parameters(), *self.code.buffers()))


def read_pretrained(folder: Path, config: OtherConfig, dtype: torch.dtype, device: torch.device) -> PretrainedModel:
    """Raises ModelLoadError where it is not known, not whole, or does not run by paged attention."""
    if config.family not in transformers.CONFIG_MAPPING:
        raise ModelLoadError(Told("family-unknown", model=folder.name, kind=config.family))
    try:
        settings = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        code, found = AutoModelForCausalLM.from_pretrained(
            folder, config=settings, dtype=dtype, attn_implementation=ATTENTION_NAME, use_safetensors=True,
            trust_remote_code=False, local_files_only=True, output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError, SafetensorError) as error:
        raise ModelLoadError(Told("family-not-loaded", model=folder.name, detail=str(error))) from error
    _check_whole(folder, found)
    if not code._supports_flash_attn:       # its windows may be in its masks alone, and our attention is given none
        raise ModelLoadError(Told("family-attention", model=folder.name))
    model = PretrainedModel(code.to(device).eval())
    _try(folder, model, config, dtype, device)
    return model


def _check_whole(folder: Path, found: dict[str, Any]) -> None:
    for name in sorted(found["missing_keys"]):
        raise ModelLoadError(Told("folder-tensor-missing", folder=folder.name, tensor=name))
    for name, *_ in found["mismatched_keys"]:
        detail = "it has another shape than config.json says"
        raise ModelLoadError(Told("folder-tensor-unreadable", tensor=name, folder=folder.name, detail=detail))


def _try(folder: Path, model: PretrainedModel, config: OtherConfig, dtype: torch.dtype, device: torch.device) -> None:
    """Raises ModelLoadError where our attention does not say what transformers' own does."""
    try:
        wanted, found = _plainly(model.code, config, device), _in_pieces(model.code, config, dtype, device)
        agreement = torch.corrcoef(torch.stack((wanted, found)))[0, 1].item()
    except (RuntimeError, ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
        raise ModelLoadError(Told("family-attention", model=folder.name)) from error
    if not agreement >= _LEAST_AGREEMENT:               # nor is it no number
        raise ModelLoadError(Told("family-attention", model=folder.name))


def _text(config: OtherConfig, first: int, num_tokens: int) -> list[int]:
    return [(first + 37 * place) % config.vocab_size for place in range(num_tokens)]


def _plainly(code: PreTrainedModel, config: OtherConfig, device: torch.device) -> Tensor:
    """Logits [vocab] after the text, by transformers alone."""
    code.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            token_ids = torch.tensor([_text(config, 11, _TRIED_TOKENS)], device=device)
            logits: Tensor = code(input_ids=token_ids, use_cache=False).logits[0, -1]
        return logits.float()
    finally:
        code.set_attn_implementation(ATTENTION_NAME)


def _in_pieces(code: PreTrainedModel, config: OtherConfig, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The same by ours: in three pieces, beside another text."""
    decoder = TransformersDecoder(code)
    kv = PagedKv(config, 2 * -(-_TRIED_TOKENS // BLOCK_SIZE), dtype, device)
    tables = [list(range(1, kv.num_blocks, 2)), list(range(0, kv.num_blocks, 2))]
    texts = _text(config, 11, _TRIED_TOKENS), _text(config, 5, _TRIED_TOKENS)
    sampling = SamplingInput(params=SamplingParams(), seed=0, token_ids=[], num_prompt_tokens=0)
    for start, end in ((0, 18), (18, _TRIED_TOKENS - 1), (_TRIED_TOKENS - 1, _TRIED_TOKENS)):
        rows = [
            BatchRow(slot=slot, token_ids=text[start:end], position=start, block_table=table, sampling=sampling)
            for slot, (text, table) in enumerate(zip(texts, tables, strict=True))
        ]
        logits = decoder.forward(flatten(rows, device, for_kernels=False), kv)
    return logits[0]
