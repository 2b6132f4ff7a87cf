"""An embedder that does what a test says: a vector tells its input's length and first token, steps wait at a gate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from engine.backends.embedder import EmbedderInfo
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.embedding_worker import Vectors
from engine.errors import EngineFailed

POISON = ord("!")                   # an input that begins with it has no vector
BOMB = ord("*")                     # one that begins with it ends the engine
PATIENCE_S = 60


class ScriptedEmbedder:
    def __init__(self, *, is_held: bool = False) -> None:
        self.tokenizer = ByteTokenizer()
        self.info = EmbedderInfo(
            name="scripted", version="1", device="cpu", width=3, vocab_size=self.tokenizer.vocab_size, max_model_len=50,
            max_num_inputs=4, max_num_batched_tokens=20,
        )
        self.held_bytes = 0
        self.steps: list[list[int]] = []            # lengths of the inputs of each
        self.is_closed = False
        self.entered = threading.Semaphore(0)       # once for each step that has begun
        self._may_pass = threading.Semaphore(0)
        self._is_held = is_held

    def let_pass(self, num_steps: int = 1) -> None:
        self._may_pass.release(num_steps)

    def open(self) -> None:
        self._is_held = False
        self._may_pass.release(1)

    def embed(self, inputs: Sequence[Sequence[int]], is_wanted: Callable[[], bool] = lambda: True) -> Vectors | None:
        self.steps.append([len(each) for each in inputs])
        self.entered.release()
        if self._is_held:
            assert self._may_pass.acquire(timeout=PATIENCE_S)
        if any(each[0] == BOMB for each in inputs):
            raise EngineFailed("The numbers ran out.")
        if not is_wanted():
            return None
        return np.array([[np.nan if each[0] == POISON else len(each), each[0], 0] for each in inputs], np.float32)

    def close(self) -> None:
        self.is_closed = True
