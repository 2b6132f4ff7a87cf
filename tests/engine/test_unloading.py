"""What a model had is given back as it goes, by counting references alone: nobody waits for the garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.disk_cache.cache import DiskCache
from engine.embedding import EmbeddingEngine
from engine.engine import ChatMessage, ChatRequest
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.local import LocalEngine
from engine.params import SamplingParams
from tests.engine.tiny_bert import write_tiny_bert
from tests.engine.tiny_gguf import write_tiny_gguf

HI = ChatRequest(
    messages=(ChatMessage(role="user", content="Hello there, " * 20),), params=SamplingParams(max_tokens=4)
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[DiskCache]:
    disk = DiskCache(tmp_path / "kv", 1 << 24, settle_s=0.0)
    disk.start()
    yield disk
    disk.close()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def test_of_a_model_that_wrote(tmp_path: Path, disk: DiskCache, no_collector: None) -> None:
    spec = ModelSpec("tiny", "Tiny", write_tiny_gguf(tmp_path / "tiny.gguf"), "1")
    engine = await load_engine(spec, LoadLimits(context_tokens=512, max_num_seqs=2, disk=disk))
    assert isinstance(engine, LocalEngine)
    for _ in range(2):
        assert [delta async for delta in engine.chat(HI)][-1].finish_reason is not None
    core = engine._core
    backend = core._worker._backend
    assert isinstance(backend, LlamaCppBackend)
    lives = [weakref.ref(each) for each in (engine, core, core._worker, core.tokenizer, backend, backend._streams)]
    assert backend._disk is not None
    on_disk = weakref.ref(backend._disk)
    del backend, core
    await engine.close()
    del engine
    assert [each() for each in lives] == [None] * len(lives)
    disk.close()                # whose thread keeps what it did last
    assert on_disk() is None


async def test_of_a_model_that_embeds(tmp_path: Path, no_collector: None) -> None:
    spec = ModelSpec("bert", "Bert", write_tiny_bert(tmp_path / "bert.gguf"), "1")
    engine = await load_engine(spec, LoadLimits(context_tokens=64, max_num_seqs=2))
    assert isinstance(engine, EmbeddingEngine)
    await engine.embed(["Hello"])
    lives = [weakref.ref(each) for each in (engine, engine._worker, engine._tokenizer)]
    await engine.close()
    del engine
    assert [each() for each in lives] == [None] * len(lives)
