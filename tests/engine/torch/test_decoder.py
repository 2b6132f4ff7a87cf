"""The decoder beside transformers' own code: tiny random models of each family, logits to float32 rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from engine.backends.torch.attention import Span
from engine.backends.torch.config import DecoderConfig, read_config
from engine.backends.torch.decoder import Decoder, FlatStep
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.weights import read_weights

SIZES: dict[str, Any] = {
    "vocab_size": 160, "hidden_size": 96, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "pad_token_id": 0,
}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama 3": ("Llama", {"rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    "llama with biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "mistral": ("Mistral", {"sliding_window": 24}),
    "qwen2": ("Qwen2", {"use_sliding_window": True, "sliding_window": 24, "max_window_layers": 2}),
    "qwen3": ("Qwen3", {"tie_word_embeddings": True}),
    "granite": ("Granite", {"embedding_multiplier": 6.0, "residual_multiplier": 0.3, "attention_multiplier": 0.05,
                            "logits_scaling": 4.0}),
    "phi3": ("Phi3", {"sliding_window": None}),
    "phi4-mini": ("Phi3", {"sliding_window": 200, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10_000.0, "partial_rotary_factor": 0.75, "long_factor": [1.5] * 6,
        "short_factor": [1.1] * 6, "original_max_position_embeddings": 64}, "original_max_position_embeddings": 64}),
    "gemma2": ("Gemma2", {"sliding_window": 24, "query_pre_attn_scalar": 32}),
    "gemma3": ("Gemma3Text", {"sliding_window": 24, "query_pre_attn_scalar": 32, "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0}}}),
}


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name, more = FAMILIES[request.param]
    torch.manual_seed(7)
    config = getattr(transformers, f"{name}Config")(**SIZES | more)
    model = getattr(transformers, f"{name.removesuffix('Text')}ForCausalLM")(config).float()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.normal_(0, 0.2)
    model.save_pretrained(tmp_path)
    return tmp_path


def test_logits_are_those_of_transformers_whole_and_in_chunks_and_beside_others(folder: Path) -> None:
    token_ids = torch.randint(1, 160, (90,), generator=torch.Generator().manual_seed(3))
    other_ids = torch.randint(1, 160, (70,), generator=torch.Generator().manual_seed(4))
    reference = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.inference_mode():
        wanted, wanted_other = reference(token_ids[None]).logits[0], reference(other_ids[None]).logits[0]
    config = read_config(folder)
    assert isinstance(config, DecoderConfig)
    weights = read_weights(folder, config, torch.float32, torch.device("cpu"))
    decoder = Decoder(config, weights, max_model_len=512)
    kv = PagedKv(config, 24, torch.float32, torch.device("cpu"))
    table, other_table = torch.tensor([5, 2, 9, 0, 7, 11]), torch.tensor([1, 3, 4, 6, 8])
    first = _run(decoder, kv, (token_ids[:50], 0, table), (other_ids[:66], 0, other_table))
    second = _run(decoder, kv, (token_ids[50:], 50, table), (other_ids[66:], 66, other_table))
    found = torch.cat((first[:50], second[:40]))
    torch.testing.assert_close(found, wanted, rtol=2e-4, atol=2e-4)
    torch.testing.assert_close(torch.cat((first[50:], second[40:])), wanted_other, rtol=2e-4, atol=2e-4)


def test_many_sequences_of_one_token_each_are_as_each_alone(folder: Path) -> None:
    config = read_config(folder)
    assert isinstance(config, DecoderConfig)
    weights = read_weights(folder, config, torch.float32, torch.device("cpu"))
    decoder = Decoder(config, weights, max_model_len=128)
    kv = PagedKv(config, 24, torch.float32, torch.device("cpu"))
    lengths = (1, 16, 17, 63)
    tables = [torch.arange(start, start + 4) for start in (0, 4, 8, 12)]
    prompts = [torch.arange(3, 3 + length) for length in lengths]
    _run(decoder, kv, *((prompt, 0, table) for prompt, table in zip(prompts, tables, strict=True)))
    rows = [(torch.tensor([9]), length, table) for length, table in zip(lengths, tables, strict=True)]
    together = _run(decoder, kv, *rows)
    alone = torch.cat([_run(decoder, kv, row) for row in rows])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


def _run(decoder: Decoder, kv: PagedKv, *rows: tuple[torch.Tensor, int, torch.Tensor]) -> torch.Tensor:
    """Logits after each token of (token ids, tokens before them, block table)."""
    spans, positions, blocks = [], [], []
    start = 0
    for token_ids, before, table in rows:
        at = torch.arange(before, before + len(token_ids))
        used = table[: -(-(before + len(token_ids)) // BLOCK_SIZE)]
        spans.append(Span(start=start, num_tokens=len(token_ids), num_before=before, table=used))
        positions.append(at)
        blocks.append(table[at // BLOCK_SIZE])
        start += len(token_ids)
    flat = torch.cat(positions)
    return decoder.forward(
        FlatStep(
            token_ids=torch.cat([row[0] for row in rows]), positions=flat, blocks=torch.cat(blocks),
            spans=spans, wanted=torch.arange(start),
        ),
        kv,
    )
