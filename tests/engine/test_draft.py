"""A draft model guesses for another: in the real library, with tiny models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.llama_cpp.draft import CATCH_UP_TOKENS, FIRST_CHANCE, DraftConfig, DraftModel
from engine.gguf import read_header
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.local import LocalEngine
from engine.params import SamplingParams
from engine.request import Sequence
from tests.engine.driving import Driver, request
from tests.engine.odd_ggufs import write_recurrent_gguf
from tests.engine.sameness import ENDLESS, STORY, assert_same
from tests.engine.tiny_gguf import write_tiny_gguf

Make = Callable[..., LlamaCppBackend]
KV_BYTES = 256                      # a token's, of the tiny model: 2 layers, K and V of 32 in f16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_tiny_gguf(folder / "tiny.gguf")
    return folder


@pytest.fixture
def make(folder: Path) -> Iterator[Make]:
    """The tiny model; its draft is itself, or, with another seed, a model that knows nothing of it."""
    made: list[LlamaCppBackend] = []

    def make_backend(draft: Path | None = None) -> LlamaCppBackend:
        config = LlamaCppConfig(
            path=folder / "tiny.gguf",
            max_model_len=1024,
            max_num_seqs=4,
            cache_bytes=4 << 20,
            num_threads=1,
            max_num_batched_tokens=128,
            kv_type="f32",
            draft=None if draft is None else DraftConfig(path=draft, kv_bytes_per_token=KV_BYTES),
        )
        made.append(LlamaCppBackend(config))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()


def draft_of(backend: LlamaCppBackend) -> DraftModel:
    (draft,) = backend.proposers
    assert isinstance(draft, DraftModel)
    return draft


def drafting(backend: LlamaCppBackend) -> Driver:
    return Driver(backend, proposer=draft_of(backend))


class TestItsGuesses:
    def test_of_a_model_for_itself_are_right(self, make: Make, folder: Path) -> None:
        asked = request("r", STORY, max_tokens=60, params=ENDLESS)
        plain, drafted = Driver(make()), drafting(make(write_tiny_gguf(folder / "same.gguf")))
        plain.run(asked)
        drafted.run(asked)
        assert_same(drafted.tokens, plain.tokens)
        counters = drafted.scheduler.counters
        assert counters.accepted_tokens > 0.8 * counters.proposed_tokens > 20
        assert len(drafted.steps) < 0.5 * len(plain.steps)

    def test_that_are_wrong_change_nothing_and_it_falls_silent(self, make: Make, folder: Path) -> None:
        asked = request("r", STORY, max_tokens=60, params=ENDLESS)
        plain, drafted = Driver(make()), drafting(make(write_tiny_gguf(folder / "other.gguf", seed=1)))
        plain.run(asked)
        drafted.run(asked)
        assert_same(drafted.tokens, plain.tokens)
        assert drafted.scheduler.counters.proposed_tokens < 60

    def test_for_many_who_come_and_go(self, make: Make, folder: Path) -> None:
        asked = [request(f"r{n}", f"{n} of six", max_tokens=10 + 8 * n, params=ENDLESS) for n in (5, 1, 4, 0, 3, 2)]
        plain, drafted = Driver(make()), drafting(make(write_tiny_gguf(folder / "same.gguf")))
        plain.run(*asked)
        drafted.run(*asked)
        assert_same(drafted.tokens, plain.tokens)
        assert drafted.scheduler.counters.accepted_tokens > 0
        assert not draft_of(drafted.backend)._states        # type: ignore[arg-type]

    def test_follow_what_was_really_said(self, make: Make, folder: Path) -> None:
        """After a guess that was wrong its KV is as if the text had been computed afresh."""
        backend = make(write_tiny_gguf(folder / "same.gguf"))
        draft, fresh = draft_of(backend), draft_of(make(folder / "same.gguf"))
        sequence = Sequence.of(request("r", STORY[:50]))
        draft.chance(sequence)
        (guesses,) = draft.propose({sequence: 6}).values()
        assert len(guesses) == 6
        sequence.token_ids += [*guesses[:2], (guesses[2] + 1) % 256]
        assert draft.chance(sequence) < FIRST_CHANCE
        again = Sequence.of(request("again", sequence.token_ids))
        fresh.chance(again)
        assert draft.propose({sequence: 5})[sequence] == fresh.propose({again: 5})[again]

    def test_begin_once_a_long_prompt_has_been_read_in_pieces(self, make: Make, folder: Path) -> None:
        draft = draft_of(make(write_tiny_gguf(folder / "same.gguf")))
        sequence = Sequence.of(request("r", "x" * (2 * CATCH_UP_TOKENS + 10)))
        draft.chance(sequence)
        assert [len(draft.propose({sequence: 3}).get(sequence, [])) for _ in range(3)] == [0, 0, 3]

    def test_end_where_its_context_ends(self, make: Make, folder: Path) -> None:
        draft = draft_of(make(write_tiny_gguf(folder / "short.gguf", context_tokens=64)))
        sequence = Sequence.of(request("r", "x" * 62))
        assert draft.chance(sequence) > 0.0
        assert len(draft.propose({sequence: 9})[sequence]) == 2
        sequence.token_ids += b"yyy"
        assert draft.chance(sequence) == 0.0


def test_its_memory_is_counted(make: Make, folder: Path) -> None:
    plain, backend = make(), make(write_tiny_gguf(folder / "same.gguf"))
    assert backend.info.weight_bytes == 2 * plain.info.weight_bytes
    assert backend.info.kv_bytes - plain.info.kv_bytes == 4 * 1024 * KV_BYTES
    assert backend.held_bytes - plain.held_bytes == 1024 * KV_BYTES


def left_out(make: Make, draft: Path) -> str:
    """Why the model was loaded without its draft."""
    with capture_logs() as logs:
        assert not list(make(draft).proposers)
    (entry,) = logs
    assert entry["event"] == "draft_model_left_out"
    return str(entry["reason"])


class TestModelsThatCannotDraft:
    def test_other_tokens(self, make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(write_tiny_gguf.__globals__, "MERGES", ("t h", "th e", "Ġ the", "i n", "o n"))
        path = write_tiny_gguf(folder / "other tokens.gguf")
        assert "its tokens stand for other texts" in left_out(make, path)

    def test_more_tokens(self, make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(write_tiny_gguf.__globals__, "MERGES", ("t h", "th e", "Ġ the", "i n", "a n", "o n"))
        path = write_tiny_gguf(folder / "more tokens.gguf")
        assert "it has 265 tokens, not 264" in left_out(make, path)

    def test_a_state_that_cannot_be_cut(self, make: Make, folder: Path) -> None:
        assert "cannot draft: what it guessed wrong" in left_out(make, write_recurrent_gguf(folder / "recurrent.gguf"))


class TestLoading:
    async def test_a_model_with_its_draft_answers_and_the_draft_is_in_the_plan(self, tmp_path: Path) -> None:
        spec = ModelSpec("tiny", "Tiny", write_tiny_gguf(tmp_path / "tiny.gguf"), "1")
        limits = LoadLimits(context_tokens=1024, max_num_seqs=2, draft_model=write_tiny_gguf(tmp_path / "draft.gguf"))
        plain = await load_engine(spec, LoadLimits(context_tokens=1024, max_num_seqs=2))
        engine = await load_engine(spec, limits)
        try:
            assert isinstance(engine, LocalEngine)
            assert engine.info.kv_bytes == 2 * plain.info.kv_bytes
            assert engine.info.weight_bytes == 2 * plain.info.weight_bytes
            params = SamplingParams(temperature=0.0, max_tokens=40, ignore_eos=True)
            num_tokens = sum([delta.num_tokens async for delta in engine.complete("Once upon a time", params)])
            assert num_tokens == 40
        finally:
            await engine.close()
            await plain.close()

    async def test_a_draft_that_is_not_there(self, tmp_path: Path) -> None:
        spec = ModelSpec("tiny", "Tiny", write_tiny_gguf(tmp_path / "tiny.gguf"), "1")
        with capture_logs() as logs:
            engine = await load_engine(spec, LoadLimits(context_tokens=1024, draft_model=tmp_path / "gone.gguf"))
        await engine.close()
        (entry,) = logs
        assert entry["event"] == "draft_model_left_out"
        assert "gone.gguf" in entry["reason"]

    async def test_a_model_does_not_draft_for_itself(self, tmp_path: Path) -> None:
        path = write_tiny_gguf(tmp_path / "tiny.gguf")
        limits = LoadLimits(context_tokens=1024, max_num_seqs=1, draft_model=path)
        engine = await load_engine(ModelSpec("tiny", "Tiny", path, "1"), limits)
        assert engine.info.weight_bytes == read_header(path).weight_bytes
        await engine.close()
