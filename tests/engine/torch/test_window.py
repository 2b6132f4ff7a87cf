"""What the memory plan promises a torch model, in the blocks that its cache has."""

from __future__ import annotations

from pathlib import Path

from engine.engine import ChatMessage, ChatRequest
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from tests.engine.torch.tiny_folder import write_tiny_folder

HI = ChatRequest(messages=(ChatMessage(role="user", content="Hello"),), params=SamplingParams(max_tokens=2))


async def test_there_are_blocks_for_a_window_that_ends_amid_one(tmp_path: Path) -> None:
    spec = ModelSpec("tiny", "Tiny", write_tiny_folder(tmp_path / "tiny"), "1")
    engine = await load_engine(spec, LoadLimits(context_tokens=300, max_num_seqs=1, cache_bytes=0))
    try:
        assert [delta async for delta in engine.chat(HI)][-1].finish_reason is not None      # by now it has counted
        metrics = engine.metrics()
        assert engine.info.max_model_len == 300
        assert metrics.num_free_blocks * metrics.block_size >= 300
    finally:
        await engine.close()
