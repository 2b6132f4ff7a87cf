"""The child process of a comparison: both models in memory, the same work for each in turn. Started by `compare`.

Speeds are by the time that the processor spent, not by the clock on the wall, and so what they are when nothing else
runs here: beside a busy server the clock tells how busy that is. Where a GPU computes, the clock must do. Each piece
of work is done by one right after the other, for neighbours change what a processor's second is worth.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.context import CELL_STEP, Context, ContextShape, StreamRow, whole_cells
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.child import report, report_error, take_task
from engine.divergence import Divergence, DivergenceMeter
from engine.errors import EngineError, ModelLoadError
from engine.format_advice import NUM_PEOPLE, Speeds
from engine.gguf import read_header
from engine.told import Told

YARDSTICK = Path(__file__).parents[2] / "yardstick.txt"
MAX_TEXT_TOKENS = 2048               # of it are compared: a vocabulary without German spells it out letter by letter
PROMPT_TOKENS = 192                  # three tiles of the attention; each reader's text is so long when writing begins

_TEXT_TOKENS_A_STEP = 64             # each with logits for all the vocabulary
_MIN_STEPS, _MAX_STEPS = 3, CELL_STEP - PROMPT_TOKENS
_STEPS_S = 0.25                      # after which a turn of writing ends
_MIN_TURNS, _MAX_TURNS = 7, 15
_TURNS_S = 10.0                      # after which no further turn begins

Logits = NDArray[np.float32]


def main() -> int:
    task = take_task()
    try:
        original, copy = (_Side(side, task["num_threads"]) for side in task["sides"])
        if original.model.vocab_size != copy.model.vocab_size:
            raise ModelLoadError(Told("compare-vocabulary"))
        text = original.tokenizer.encode(YARDSTICK.read_text("utf-8"), add_special=True, parse_special=False)
        report(divergence=asdict(_divergence(original, copy, text[: min(MAX_TEXT_TOKENS, original.context_length)])))
        report(speeds=[asdict(speeds) for speeds in _speeds(original, copy, text)])
    except EngineError as error:
        report_error(error)
        return 1
    return 0


class _Side:
    def __init__(self, task: dict[str, Any], num_threads: int) -> None:
        path = Path(task["path"])
        self.context_length = read_header(path).context_length
        self.model = NativeModel(path, RunOptions(**task["options"]))
        self.tokenizer = LlamaTokenizer(self.model)
        self._num_threads = num_threads
        self._is_on_gpu = self.model.options.gpu_layers > 0

    def now_s(self) -> float:
        """Of computing, by all threads side by side."""
        return time.perf_counter() if self._is_on_gpu else time.process_time() / self._num_threads

    def new_context(self, num_streams: int, num_tokens: int, *, num_batch_tokens: int) -> Context:
        return Context(
            self.model, ContextShape(num_streams, whole_cells(num_tokens)),
            num_batch_tokens=num_batch_tokens, num_threads=self._num_threads,
        )


# -- how far apart -----------------------------------------------------------------------------------------------------


def _divergence(original: _Side, copy: _Side, token_ids: list[int]) -> Divergence:
    meter = DivergenceMeter()
    shape = (1, len(token_ids))
    with (
        closing(original.new_context(*shape, num_batch_tokens=_TEXT_TOKENS_A_STEP)) as one,
        closing(copy.new_context(*shape, num_batch_tokens=_TEXT_TOKENS_A_STEP)) as other,
    ):
        for start in range(0, len(token_ids), _TEXT_TOKENS_A_STEP):
            piece = token_ids[start : start + _TEXT_TOKENS_A_STEP]
            rows = [StreamRow(0, start + index, [token], num_logits=1) for index, token in enumerate(piece)]
            meter.add(one.decode(rows), other.decode(rows))
    return meter.result()


# -- how fast ----------------------------------------------------------------------------------------------------------


class _Runner:
    """Reads a prompt into the first of NUM_PEOPLE streams, and writes after it in one or all of them."""

    def __init__(self, side: _Side, text: list[int]) -> None:
        self._now_s = side.now_s
        self._context = side.new_context(NUM_PEOPLE, CELL_STEP, num_batch_tokens=PROMPT_TOKENS)
        self._prompt, self._first_words = text[:PROMPT_TOKENS], text[-NUM_PEOPLE:]
        self.alone: list[float] = []
        self.together: list[float] = []
        self.prompt: list[float] = []
        self._read_prompt()                        # the first of all is slower: memory is met for the first time
        self._state = self._context.read_stream(0).copy()

    def read_prompt(self) -> None:
        self.prompt.append(self._read_prompt())

    def write_alone(self) -> None:
        self.alone.append(self._write(1))

    def write_together(self) -> None:
        self.together.append(self._write(NUM_PEOPLE))

    def speeds(self) -> Speeds:
        return Speeds(alone=tuple(self.alone), together=tuple(self.together), prompt=tuple(self.prompt))

    def _read_prompt(self) -> float:
        for stream in range(NUM_PEOPLE):
            self._context.clear_stream(stream)
        start_s = self._now_s()
        self._context.decode([StreamRow(0, 0, self._prompt, num_logits=1)])
        return len(self._prompt) / (self._now_s() - start_s)

    def _write(self, num_people: int) -> float:
        """The likeliest token of each, step by step, as a server would."""
        for stream in range(num_people):
            self._context.write_stream(stream, self._state)
        next_tokens = self._first_words[:num_people]           # so that no two write the same
        start_s, num_steps = self._now_s(), 0
        while num_steps < _MIN_STEPS or (num_steps < _MAX_STEPS and self._now_s() - start_s < _STEPS_S):
            logits: Logits = self._context.decode([
                StreamRow(stream, len(self._prompt) + num_steps, [token], num_logits=1)
                for stream, token in enumerate(next_tokens)
            ])
            next_tokens = logits.argmax(axis=1).tolist()
            num_steps += 1
        return num_steps * num_people / (self._now_s() - start_s)


def _speeds(original: _Side, copy: _Side, text: list[int]) -> list[Speeds]:
    runners = [_Runner(original, text), _Runner(copy, text)]
    end_s = time.perf_counter() + _TURNS_S
    for turn in range(_MAX_TURNS):
        if turn >= _MIN_TURNS and time.perf_counter() > end_s:
            break
        for measure in (_Runner.read_prompt, _Runner.write_alone, _Runner.write_together):
            for runner in runners:
                measure(runner)
    return [runner.speeds() for runner in runners]


if __name__ == "__main__":
    sys.exit(main())
