"""LoRA adapters: what they say is what the model with their products in its weights says, and bad ones are errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.engine import ChatMessage, ChatRequest
from engine.errors import ModelLoadError
from engine.gguf import read_header
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.lora import Adapter, read_adapters
from engine.params import SamplingParams
from tests.engine.driving import Driver, request
from tests.engine.sameness import ENDLESS, STORY, Said, assert_same
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_lora import RANK, Factors, random_factors, write_tiny_adapter, write_tiny_merged

Q0 = "blk.0.attn_q.weight"
Make = Callable[..., LlamaCppBackend]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def base(folder: Path) -> Path:
    return write_tiny_gguf(folder / "base.gguf")


@pytest.fixture(scope="module")
def adapter(folder: Path) -> Path:
    return write_tiny_adapter(folder / "style.gguf", random_factors())


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[LlamaCppBackend] = []

    def make_backend(path: Path, *adapters: Adapter) -> LlamaCppBackend:
        made.append(LlamaCppBackend(LlamaCppConfig(
            path=path, adapters=adapters, max_model_len=2048, max_num_seqs=8, cache_bytes=4 << 20, num_threads=1,
            max_num_batched_tokens=128, kv_type="f32",
        )))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()


def said_by(backend: LlamaCppBackend) -> Said:
    drive = Driver(backend)
    drive.run(request("r", STORY, max_tokens=24, params=ENDLESS))
    return drive.tokens


class TestWhatItSays:
    def test_with_scale_0_is_what_the_base_says(self, make: Make, base: Path, adapter: Path) -> None:
        assert said_by(make(base, Adapter(adapter, 0.0))) == said_by(make(base))

    @pytest.mark.parametrize("scale", [1.0, 0.5, -1.0])
    def test_is_what_the_model_with_the_product_in_its_weights_says(
        self, make: Make, base: Path, adapter: Path, folder: Path, scale: float
    ) -> None:
        merged = write_tiny_merged(folder / f"merged {scale}.gguf", random_factors(), scale=scale)
        adapted = said_by(make(base, Adapter(adapter, scale)))
        assert_same(adapted, said_by(make(merged)))
        assert ids(adapted) != ids(said_by(make(base)))

    def test_is_as_strong_as_its_alpha_says(self, make: Make, base: Path, folder: Path) -> None:
        path = write_tiny_adapter(folder / "alpha.gguf", random_factors(), alpha=2.0)
        merged = write_tiny_merged(folder / "merged alpha.gguf", random_factors(), scale=2.0 / RANK)
        assert_same(said_by(make(base, Adapter(path))), said_by(make(merged)))

    def test_of_two_is_what_the_sum_of_both_says(self, make: Make, base: Path, adapter: Path, folder: Path) -> None:
        other = write_tiny_adapter(folder / "other.gguf", random_factors(seed=1))
        both = {
            name: (np.concatenate([a, other_a]), np.concatenate([b, other_b], axis=1))
            for (name, (a, b)), (other_a, other_b) in zip(
                random_factors().items(), random_factors(seed=1).values(), strict=True
            )
        }
        merged = write_tiny_merged(folder / "merged both.gguf", both)
        assert_same(said_by(make(base, Adapter(adapter), Adapter(other))), said_by(make(merged)))

    def test_stays_when_the_context_is_made_again(self, make: Make, base: Path, adapter: Path, folder: Path) -> None:
        runs = request("runs", STORY, max_tokens=40, params=ENDLESS)
        long = request("long", STORY * 13, max_tokens=3, params=ENDLESS)

        def said_together(backend: LlamaCppBackend) -> Said:
            drive = Driver(backend)
            drive.submit(runs)
            for _ in range(5):
                drive.step()
            before = backend.held_bytes
            drive.run(long)
            assert backend.held_bytes > before
            return drive.tokens

        merged = write_tiny_merged(folder / "merged reshaped.gguf", random_factors())
        assert_same(said_together(make(base, Adapter(adapter))), said_together(make(merged)))

    def test_counts_in_the_weights(self, make: Make, base: Path, adapter: Path) -> None:
        more = make(base, Adapter(adapter)).info.weight_bytes - make(base).info.weight_bytes
        assert more == adapter.stat().st_size


def ids(said: Said) -> list[int]:
    return [token.token_id for token in said["r"]]


def swapped(factors: Factors) -> Factors:
    return {name: (b.T.copy(), a.T.copy()) for name, (a, b) in factors.items()}


def renamed(name: str) -> Factors:
    return {name: random_factors()[Q0]}


class TestABadOneIsAnErrorThatSaysWhatToDo:
    @pytest.mark.parametrize("factors, changes, words", [
        ({}, {}, "holds no weights. Take another"),
        (random_factors(), {"architecture": "qwen2"}, "for the architecture 'qwen2', and base.gguf has 'llama'"),
        (random_factors(), {"kind": "model"}, "is no adapter. Choose a LoRA adapter"),
        (random_factors(), {"adapter_type": "control_vector"}, "of the kind 'control_vector'; only 'lora' can be used"),
        (random_factors(), {"alpha": float("nan")}, "has an adapter.lora.alpha that is no number"),
        (renamed("blk.7.attn_q.weight"), {}, "does not fit base.gguf: its matrices for 'blk.7.attn_q.weight'"),
        (renamed("blk.0.ffn_down.weight"), {}, "does not fit base.gguf: its matrices for 'blk.0.ffn_down.weight'"),
        (swapped(random_factors()), {}, "does not fit base.gguf"),
    ])
    def test_by_its_header(
        self, base: Path, tmp_path: Path, factors: Factors, changes: dict[str, Any], words: str
    ) -> None:
        path = write_tiny_adapter(tmp_path / "bad.gguf", factors, **changes)
        with pytest.raises(ModelLoadError) as refused:
            read_adapters([Adapter(path)], read_header(base))
        assert words in str(refused.value)
        assert "bad.gguf" in str(refused.value)

    @pytest.mark.parametrize("old, new, words", [
        (b"attn_q.weight.lora_a", b"attn_q.weight.lora_c", "'blk.0.attn_q.weight.lora_c', which is no part of a LoRA"),
        (b"blk.0.attn_q.weight.lora_b", b"blk.0.attn_k.weight.lora_b", "has one of two matrices for"),
        (b"adapter.type", b"adapter.tipe", "of the kind ''"),
        (b"GGUF", b"FUGG", "is not a GGUF file"),
    ])
    def test_by_a_few_bytes(
        self, base: Path, adapter: Path, tmp_path: Path, old: bytes, new: bytes, words: str
    ) -> None:
        path = tmp_path / "bad.gguf"
        path.write_bytes(adapter.read_bytes().replace(old, new, 1))
        with pytest.raises(ModelLoadError) as refused:
            read_adapters([Adapter(path)], read_header(base))
        assert words in str(refused.value)

    def test_where_numbers_are_of_a_type_that_cannot_be_multiplied(self, base: Path, tmp_path: Path) -> None:
        a, b = random_factors()[Q0]
        path = write_tiny_adapter(tmp_path / "bad.gguf", {Q0: (a.astype(np.float64), b)})
        with pytest.raises(ModelLoadError, match=r"in the type F64\. Convert it to F16"):
            read_adapters([Adapter(path)], read_header(base))

    def test_by_not_being_there(self, base: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelLoadError, match=r"There is no adapter .*gone\.gguf\. Put the file there"):
            read_adapters([Adapter(tmp_path / "gone.gguf")], read_header(base))

    @pytest.mark.parametrize("scale", [float("nan"), float("inf"), 1e30, -101])
    def test_by_its_scale(self, adapter: Path, scale: float) -> None:
        with pytest.raises(ModelLoadError, match="Give a number of -100 to 100"):
            Adapter(adapter, scale)

    def test_that_passes_for_a_good_one_is_refused_by_the_library_in_words(
        self, make: Make, base: Path, tmp_path: Path
    ) -> None:
        path = write_tiny_adapter(tmp_path / "bad.gguf", renamed("blk.7.attn_q.weight"))
        with pytest.raises(ModelLoadError, match=r"llama\.cpp refuses the adapter bad\.gguf: .*does not exist in base"):
            make(base, Adapter(path))

    @pytest.mark.slow
    async def test_that_ends_its_process_ends_the_trial_only(
        self, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The library asserts that alpha has 32 bits."""
        monkeypatch.setattr(gguf.GGUFWriter, "add_float32", gguf.GGUFWriter.add_float64)
        path = write_tiny_adapter(tmp_path / "bad.gguf", random_factors(), alpha=1.0)
        with pytest.raises(ModelLoadError, match=r"crashed when it tried base\.gguf with bad\.gguf \(SIGABRT"):
            await load_engine(ModelSpec("tiny", "Tiny", base, "1", (Adapter(path),)), LoadLimits())

    async def test_before_anything_native_runs(self, base: Path, tmp_path: Path) -> None:
        path = write_tiny_adapter(tmp_path / "bad.gguf", random_factors(), architecture="qwen2")
        with pytest.raises(ModelLoadError, match="for the architecture 'qwen2'"):
            await load_engine(ModelSpec("tiny", "Tiny", base, "1", (Adapter(path),)), LoadLimits())


@pytest.mark.slow
class TestLoading:
    async def test_tries_it_with_the_model_and_again_when_either_changed(
        self, base: Path, adapter: Path, folder: Path, tmp_path: Path
    ) -> None:
        state = tmp_path / "state"
        limits = LoadLimits(context_tokens=512, max_num_seqs=2, state_dir=state)
        spec = ModelSpec("tiny", "Tiny", base, "1", (Adapter(adapter),))
        plain, adapted = await answer(replace(spec, adapters=()), limits), await answer(spec, limits)
        merged = write_tiny_merged(folder / "merged answer.gguf", random_factors())
        assert adapted == await answer(ModelSpec("tiny", "Tiny", merged, "1"), limits)
        assert adapted != plain
        assert (state / "trials.json").read_text().count("options") == 3
        await answer(spec, limits)
        assert (state / "trials.json").read_text().count("options") == 3
        await answer(replace(spec, adapters=(Adapter(adapter, 0.5),)), limits)
        assert (state / "trials.json").read_text().count("options") == 4


async def answer(spec: ModelSpec, limits: LoadLimits) -> str:
    engine = await load_engine(spec, limits)
    asked = ChatRequest(
        messages=(ChatMessage(role="user", content="Hello"),),
        params=SamplingParams(temperature=0.0, max_tokens=16, ignore_eos=True),
    )
    text = "".join([delta.text async for delta in engine.chat(asked)])
    await engine.close()
    return text
