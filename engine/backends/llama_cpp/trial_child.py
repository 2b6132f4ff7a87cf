"""The child process of a trial: loads a model as the back end will, and takes two steps. It may die of it.

Started by `engine.backends.llama_cpp.trial`.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.llama_cpp.embedder import EmbedderConfig, LlamaCppEmbedder
from engine.backends.llama_cpp.model import RunOptions, supports_gpu
from engine.backends.llama_cpp.streams import BLOCK_SIZE
from engine.backends.llama_cpp.tokenizer import GgufTokenizer, LlamaTokenizer
from engine.batch import Batch, BatchRow, Release, SamplingInput
from engine.child import report, report_error, take_task
from engine.errors import EngineError
from engine.lora import Adapter
from engine.params import SamplingParams

_PROMPT_TOKENS = 64
_NUM_TIMINGS = 3
_EVERY_BYTE = " ".join(map(chr, (*range(0x1000), *range(0x1000, 0xd800, 0x3f), *range(0xe000, 0x110000, 0x3ff))))
_TRICKY_TEXT = "Grüße, 漢字 👩‍👩‍👧 \t\r\n\0 1234567890 " + "a" * 1000 + " " * 1000 + "\U0010ffff" + _EVERY_BYTE


def main() -> int:
    task = take_task()
    options = RunOptions(**task["options"])
    if options.gpu_layers and not supports_gpu():
        options = replace(options, gpu_layers=0)
    report(options=asdict(options))
    try:
        if task["vocabulary_only"]:
            speed = _try_vocabulary(task)
        else:
            speed = _try_embedding(task, options) if task["pooling"] else _try(task, options)
        report(prefill_tokens_per_s=speed)
    except EngineError as error:
        report_error(error)
        return 1
    return 0


def _try(task: dict[str, Any], options: RunOptions) -> float:
    """Tokens of a prompt that this machine computes in a second, when nothing else runs on it."""
    num_threads: int = task["num_threads"]
    adapters = tuple(Adapter(Path(path), scale) for path, scale in task["adapters"])
    backend = LlamaCppBackend(LlamaCppConfig(
        path=Path(task["path"]), adapters=adapters, kv_type=task["kv_type"], options=options,
        max_model_len=4 * _PROMPT_TOKENS, max_num_seqs=2, cache_bytes=1 << 30,
        num_threads=num_threads, max_num_batched_tokens=2 * _PROMPT_TOKENS,
    ))
    _try_tokenizer(backend.tokenizer)
    prompt = [token_id % backend.info.vocab_size for token_id in range(_PROMPT_TOKENS)]
    took_s = min(_processor_time_s(backend, prompt) for _ in range(_NUM_TIMINGS)) / num_threads
    backend.execute(Batch(rows=[_row(0, prompt, position=0)]))
    backend.execute(Batch(rows=[_row(0, prompt[:1], position=_PROMPT_TOKENS), _row(1, prompt, position=0)]))
    backend.execute(Batch(released=[Release(slot=slot, kept_blocks=[]) for slot in (0, 1)]))
    backend.check_integrity()
    backend.close()
    return _PROMPT_TOKENS / took_s


def _try_embedding(task: dict[str, Any], options: RunOptions) -> float:
    """As `_try`, for a model that embeds: one input, several at once, one that is longer than a step, one again."""
    num_threads: int = task["num_threads"]
    embedder = LlamaCppEmbedder(EmbedderConfig(
        path=Path(task["path"]), pooling=task["pooling"], options=options, max_model_len=8 * _PROMPT_TOKENS,
        max_num_batched_tokens=2 * _PROMPT_TOKENS, bytes_per_token=0, num_threads=num_threads,
    ))
    _try_tokenizer(embedder.tokenizer)
    longest = [token_id % embedder.info.vocab_size for token_id in range(embedder.info.max_model_len)]
    text = longest[:_PROMPT_TOKENS]
    took_s = float("inf")
    for _ in range(_NUM_TIMINGS):
        start_s = time.process_time()
        embedder.embed([text])
        took_s = min(took_s, time.process_time() - start_s)
    embedder.embed([text, text[:1]])
    embedder.embed([longest])
    embedder.embed([text])
    embedder.close()
    return len(text) * num_threads / max(took_s, 1e-6)


def _try_vocabulary(task: dict[str, Any]) -> float:
    tokenizer = GgufTokenizer(Path(task["path"]))
    _try_tokenizer(tokenizer)
    tokenizer.close()
    return 0.0


def _try_tokenizer(tokenizer: LlamaTokenizer) -> None:
    for parse_special in (True, False):
        tokenizer.encode(_TRICKY_TEXT, add_special=True, parse_special=parse_special)
    for token_id in range(tokenizer.vocab_size):
        tokenizer.token_bytes(token_id)


def _processor_time_s(backend: LlamaCppBackend, prompt: list[int]) -> float:
    """Of all threads, and not by the clock on the wall: that would tell how busy the machine is just now."""
    start_s = time.process_time()
    backend.execute(Batch(rows=[_row(0, prompt, position=0)]))
    took_s = time.process_time() - start_s
    backend.execute(Batch(released=[Release(slot=0, kept_blocks=[])]))
    return max(took_s, 1e-6)


def _row(slot: int, token_ids: list[int], *, position: int) -> BatchRow:
    num_blocks = -(-(position + len(token_ids)) // BLOCK_SIZE)
    greedy = SamplingInput(
        params=SamplingParams(temperature=0.0), seed=0, token_ids=token_ids, num_prompt_tokens=len(token_ids)
    )
    return BatchRow(
        slot=slot, token_ids=token_ids, position=position, block_table=list(range(num_blocks)), sampling=greedy
    )


if __name__ == "__main__":
    sys.exit(main())
