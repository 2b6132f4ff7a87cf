"""From the file of a model that embeds to its engine: what its header says, and the trial in a child process."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine.embedding import EmbeddingEngine
from engine.engine import ChatMessage, ChatRequest
from engine.errors import InvalidRequest, ModelLoadError, OutOfMemory
from engine.gguf import read_header
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from tests.engine.reference_embedding import embed as reference
from tests.engine.tiny_bert import HEADS, write_tiny_bert
from tests.engine.tiny_gguf import write_tiny_gguf


def spec_of(path: Path) -> ModelSpec:
    return ModelSpec("tiny", "Tiny", path, "1")


@pytest.mark.parametrize("pooling, expected", [("NONE", ""), ("MEAN", "mean"), ("CLS", "cls"), ("LAST", "last")])
def test_the_header_says_how_texts_are_pooled(tmp_path: Path, pooling: str, expected: str) -> None:
    encoder = read_header(write_tiny_bert(tmp_path / "e.gguf", pooling=gguf.PoolingType[pooling]))
    decoder = read_header(write_tiny_gguf(tmp_path / "d.gguf", pooling=gguf.PoolingType[pooling]))
    assert (encoder.pooling, encoder.is_causal, encoder.vocab_size) == (expected, False, 89)
    assert (decoder.pooling, decoder.is_causal, decoder.vocab_size) == (expected, True, 264)


def test_a_model_that_writes_has_no_pooling(tmp_path: Path) -> None:
    assert read_header(write_tiny_gguf(tmp_path / "tiny.gguf")).pooling == ""


def test_a_reranker_is_refused_with_words(tmp_path: Path) -> None:
    path = write_tiny_bert(tmp_path / "r.gguf", pooling=gguf.PoolingType.RANK)
    with pytest.raises(ModelLoadError, match=r"r\.gguf ranks texts \(a reranker\), which this version cannot do"):
        read_header(path)


def test_a_pooling_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    path = write_tiny_bert(tmp_path / "b.gguf")
    key = b"bert.pooling_type"
    content = path.read_bytes()
    place = content.index(key) + len(key) + 4
    path.write_bytes(content[:place] + (9).to_bytes(4, "little") + content[place + 4 :])
    with pytest.raises(ModelLoadError, match=r"its bert\.pooling_type is 9, where a whole number of 0 to 4 is due"):
        read_header(path)


async def test_more_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny_bert(tmp_path / "b.gguf")
    with pytest.raises(OutOfMemory, match=r"Tiny needs 67 MiB with 1 x 512 tokens of context"):
        await load_engine(spec_of(path), LoadLimits(promised_bytes=1 << 60))


@pytest.mark.slow
class TestTheTrial:
    @pytest.mark.parametrize("write", [write_tiny_bert, write_tiny_gguf])
    async def test_leads_to_an_engine_that_embeds(self, tmp_path: Path, write: type) -> None:
        path = write(tmp_path / "b.gguf", pooling=gguf.PoolingType.CLS, context_tokens=512)
        engine = await load_engine(spec_of(path), LoadLimits(context_tokens=300, state_dir=tmp_path / "state"))
        assert isinstance(engine, EmbeddingEngine)
        info = engine.info
        assert (info.embedding_width, info.max_model_len, info.device, info.quantisation) == (64, 300, "cpu", "F32")
        assert info.kv_bytes >= engine.metrics().held_bytes > 0
        token_ids = [5, 6, 7]
        expected = reference(path, token_ids, "cls", num_heads=HEADS)
        assert np.abs((await engine.embed([token_ids])).vectors[0] - expected).max() < 2e-3
        with pytest.raises(InvalidRequest, match=r"input\[1\] has 301 tokens"):
            await engine.embed(["dog", [5] * 301])
        await engine.close()
        assert len(json.loads((tmp_path / "state" / "trials.json").read_text())) == 1

    async def test_takes_no_more_tokens_than_a_short_model_has_positions(self, tmp_path: Path) -> None:
        path = write_tiny_bert(tmp_path / "b.gguf", context_tokens=24)
        engine = await load_engine(spec_of(path), LoadLimits())
        assert engine.info.max_model_len == 24
        assert (await engine.embed([[5] * 24])).num_tokens == 24
        await engine.close()

    async def test_survives_a_model_that_ends_its_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A vocabulary without the bytes that its tokenizer falls back to: the library aborts when it meets one."""
        monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_model", lambda self, _: self.add_string(
            gguf.Keys.Tokenizer.MODEL, "llama"
        ))
        path = write_tiny_bert(tmp_path / "trap.gguf")
        with pytest.raises(ModelLoadError, match=r"llama\.cpp crashed when it tried trap\.gguf \(SIGABRT"):
            await load_engine(spec_of(path), LoadLimits(state_dir=tmp_path / "state"))
        assert not (tmp_path / "state" / "trials.json").exists()

    async def test_an_encoder_that_does_not_say_how_it_pools_is_refused(self, tmp_path: Path) -> None:
        path = write_tiny_bert(tmp_path / "b.gguf", pooling=None)
        with pytest.raises(ModelLoadError, match="cannot chat"):
            await load_engine(spec_of(path), LoadLimits())

    async def test_a_model_that_writes_cannot_embed_and_says_where_to_go(self, tmp_path: Path) -> None:
        engine = await load_engine(spec_of(write_tiny_gguf(tmp_path / "w.gguf")), LoadLimits(context_tokens=256))
        assert engine.info.embedding_width == 0
        with pytest.raises(InvalidRequest, match=r"makes no embeddings\. Choose a model made for embeddings"):
            await engine.embed(["Hello"])
        chat = ChatRequest(
            messages=(ChatMessage(role="user", content="Hello"),), params=SamplingParams(max_tokens=1, temperature=0.0)
        )
        assert [delta async for delta in engine.chat(chat)][-1].usage is not None
        await engine.close()
