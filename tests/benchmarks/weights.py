"""What weights, keys and values in few bits cost in quality: `python -m tests.benchmarks.weights`, on the processor, a
minute or two.

The starter model, dequantised and run by torch in 32 bits, against itself in each format: Kullback-Leibler divergence
of the next tokens over a text of English prose, and how often both find the same token likeliest. GPTQ and AWQ are
the forms, of weights rounded to the nearest; their own tools choose better ones. Speed is measured on a GPU:
`python -m tests.benchmarks.gpu --weights FORMAT`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from engine.backends.torch.config import DecoderConfig, read_config
from engine.backends.torch.decoder import Decoder
from engine.backends.torch.flat_step import flatten
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.quantised import BITS
from engine.backends.torch.weights import read_weights
from engine.batch import BatchRow, SamplingInput
from engine.divergence import DivergenceMeter
from engine.params import SamplingParams
from tests.benchmarks.cpu.servers import model_path
from tests.engine.torch.dequantised import write_dequantised
from tests.engine.torch.packed_checkpoint import FORMATS, write_packed

YARDSTICK = Path(__file__).resolve().parents[2] / "engine" / "yardstick.txt"
NUM_TOKENS = 1024


def logits_of(
    folder: Path, weight_format: str | None, token_ids: list[int], *, quantises_kv: bool = False
) -> tuple[NDArray[np.float32], int]:
    """After each token, [tokens, vocab]; and the bytes of the weights."""
    config, device = read_config(folder), torch.device("cpu")
    assert isinstance(config, DecoderConfig)
    weights = read_weights(folder, config, torch.float32, device, weight_format=weight_format)
    num_blocks = -(-len(token_ids) // BLOCK_SIZE)
    kv = PagedKv(config, num_blocks, torch.float32, device, quantises=quantises_kv)
    decoder = Decoder(config, weights, max_model_len=num_blocks * BLOCK_SIZE)
    row = BatchRow(
        slot=0, token_ids=token_ids, position=0, block_table=list(range(num_blocks)), num_proposed=len(token_ids) - 1,
        sampling=SamplingInput(params=SamplingParams(), seed=0, token_ids=token_ids, num_prompt_tokens=0),
    )
    return decoder.forward(flatten([row], device, for_kernels=False), kv).numpy(), weights.num_bytes


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as scratch:
        folder = write_dequantised(model_path(), Path(scratch) / "plain")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        token_ids = tokenizer.encode(YARDSTICK.read_text(encoding="utf-8")).ids[:NUM_TOKENS]
        original, num_bytes = logits_of(folder, None, token_ids)
        print(f"{model_path().stem}, dequantised, torch {torch.__version__}, {len(token_ids)} tokens of prose")
        kinds: list[tuple[str, Path, str | None]] = [(kind, folder, kind) for kind in BITS]
        kinds += [(method, write_packed(folder, Path(scratch) / method, method), None) for method in FORMATS]
        for name, its_folder, weight_format in [*kinds, ("kv", folder, None)]:
            other, num_bytes_of_it = logits_of(its_folder, weight_format, token_ids, quantises_kv=name == "kv")
            meter = DivergenceMeter()
            meter.add(original, other)
            result = meter.result()
            print(
                f"{name:5} mean KL {result.mean_nats:.4f} nats, 99 of 100 below {result.p99_nats:.3f}, "
                f"same likeliest {result.same_top_share:.1%}, {num_bytes_of_it / num_bytes:.0%} of the bytes of F32",
                flush=True,
            )


if __name__ == "__main__":
    main()
