"""Prefixes that come back from disk, over every back end: a chat says the same as if all of it had been computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import Backend
from engine.disk_cache import blocks as disk_blocks
from engine.disk_cache import folder
from engine.disk_cache.block_file import file_name, write_block
from engine.disk_cache.cache import DiskCache, Order
from engine.prefix_index import name_of, root_name
from engine.request import Request
from tests.engine.conformance import BACKENDS, Shape
from tests.engine.driving import Driver, request
from tests.engine.sameness import ENDLESS, STORY, assert_same

NUM_BLOCKS = 6                      # of a text of STORY's 85 tokens and 12 answered: the last is not full


def ask(
    request_id: str, prompt: str, *, max_tokens: int = 12, cache_key: str = "", num_shared_tokens: int = 0,
    is_private: bool = False,
) -> Request:
    return request(
        request_id, prompt, max_tokens=max_tokens, params=ENDLESS, cache_key=cache_key,
        num_shared_tokens=num_shared_tokens, is_private=is_private,
    )


class House:
    """One data folder, and processes that come and go: each with a disk cache of its own, and a back end."""

    def __init__(self, backend: str, folder: Path) -> None:
        self._backend = backend
        self._models = folder
        self._disk: DiskCache | None = None
        self.folder = folder / "kv"

    @contextmanager
    def process(self, shape: Shape = Shape(), **limits: int) -> Iterator[Driver]:  # noqa: B008 - it is frozen
        with self.disk(**limits) as disk:
            backend = self.backend(shape, disk)
            drive = Driver(backend)
            yield drive
            backend.execute(drive.scheduler.drain())
            backend.close()

    def settle(self, drive: Driver) -> None:
        """Returns when all that is to be written has been, and the engine knows."""
        assert self._disk is not None
        while drive.scheduler.has_work:
            drive.step()
        is_written = threading.Event()
        self._disk.submit(Order.WRITE, is_written.set)
        assert is_written.wait(10)
        assert drive.scheduler.work_due_in_s is None

    @contextmanager
    def disk(self, **limits: int) -> Iterator[DiskCache]:
        self._disk = disk = DiskCache(self.folder, settle_s=0.0, **limits)
        yield disk
        disk.close()

    def backend(self, shape: Shape, disk: DiskCache | None) -> Backend:
        return BACKENDS[self._backend](shape, self._models, disk)

    def alone(self, asked: Request) -> Driver:
        """What it says where nothing is cached."""
        backend = self.backend(Shape(), None)
        drive = Driver(backend)
        drive.run(asked)
        backend.close()
        return drive

    @property
    def blocks(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name != "about.json")


@pytest.fixture(params=sorted(each for each in BACKENDS if not each.startswith("torch")))      # which write none yet
def house(request: pytest.FixtureRequest, tmp_path: Path) -> House:
    return House(request.param, tmp_path)


def assert_says_the_same(drive: Driver, house: House, asked: Request) -> None:
    drive.run(asked)
    assert_same({asked.request_id: drive.tokens[asked.request_id]}, house.alone(asked).tokens)


def test_a_chat_goes_on_after_a_restart_without_computing_its_history(house: House) -> None:
    with house.process() as drive:
        said = drive.run(ask("turn 1", STORY, max_tokens=40))["turn 1"]
    turn_2 = request("turn 2", [*STORY.encode(), *said, *b"And then?"], max_tokens=12, params=ENDLESS)
    with house.process() as drive:
        assert_says_the_same(drive, house, turn_2)
        assert drive.cached["turn 2"] == 124                 # 85 asked and 40 said, the last never computed
        assert sum(map(sum, drive.steps)) == 1 + 9 + 11      # the last of what it said, what is new, and the answer


def test_what_is_idle_is_written_while_the_engine_lives(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("r", STORY))
        house.settle(drive)
        assert len(house.blocks) == NUM_BLOCKS


def test_ends_and_beginnings_of_blocks_are_found_too(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    with house.process() as drive:
        assert_says_the_same(drive, house, ask("r", STORY[:71] + "Other"))
        assert drive.cached["r"] == 71


def test_the_end_of_a_text_that_went_on_does_not_stay(house: House) -> None:
    with house.process() as drive:
        said = drive.run(ask("turn 1", STORY))["turn 1"]
        drive.run(request("turn 2", [*STORY.encode(), *said, *b" And then? " * 2], max_tokens=4, params=ENDLESS))
    assert len(house.blocks) == (85 + 12 + 22 + 3) // 16 + 1


def test_what_memory_and_disk_hold_together_is_found(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("long", STORY * 2))
    with house.process() as drive:
        drive.run(ask("short", STORY[:40]))
        assert drive.cached["short"] == 39
        assert_says_the_same(drive, house, ask("long", STORY * 2 + "?"))
        assert drive.cached["long"] == 170


def test_what_memory_has_no_room_for_is_found_on_disk(house: House) -> None:
    asked = ask("again", STORY)
    with house.process(Shape(num_blocks=12, max_model_len=192)) as drive:
        drive.run(ask("first", STORY))
        for n in range(4):
            house.settle(drive)
            drive.run(ask(f"r{n}", f"{n} {STORY}"))
        assert_says_the_same(drive, house, asked)
        assert drive.cached["again"] == 84


def test_several_that_come_back_at_once_share_what_they_share(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    with house.process() as drive:
        asked = [ask(f"r{n}", STORY + f"{n}?") for n in range(6)]
        drive.run(*asked)
        for each in asked:
            assert_same({each.request_id: drive.tokens[each.request_id]}, house.alone(each).tokens)
        assert [drive.cached[each.request_id] for each in asked] == 6 * [85]


def test_others_go_on_while_one_waits_for_the_disk(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    with house.disk() as disk:
        held = threading.Event()
        disk.submit(Order.READ, held.wait)
        backend = house.backend(Shape(), disk)
        drive = Driver(backend)
        other = ask("other", STORY + "Who?", max_tokens=3)
        drive.submit(other, ask("again", "Hello", max_tokens=3))
        held.set()
        drive.run()
        assert len(drive.tokens["again"]) == 3
        backend.close()


def test_who_is_aborted_while_it_waits_leaves_nothing_behind(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    with house.process() as drive:
        drive.submit(ask("gone", STORY + "?"))
        drive.step()
        drive.abort("gone")
        drive.run()
        assert_says_the_same(drive, house, ask("r", STORY + "Who?"))


def test_a_cache_key_keeps_prefixes_apart_on_disk_too(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY, cache_key="ann"))
    with house.process() as drive:
        drive.run(ask("ben", STORY, cache_key="ben"))
        drive.run(ask("ann", STORY, cache_key="ann"))
        assert (drive.cached["ben"], drive.cached["ann"]) == (0, 84)


def test_of_what_all_may_share_whole_blocks_come_from_disk_with_any_key_and_no_more(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY, cache_key="ann", num_shared_tokens=40))
    with house.process() as drive:
        drive.run(ask("short", STORY[:30], cache_key="ben", num_shared_tokens=40))
        drive.run(ask("ben", STORY, cache_key="ben", num_shared_tokens=40))
        drive.run(ask("ann", STORY, cache_key="ann", num_shared_tokens=40))
        assert [drive.cached[name] for name in ("short", "ben", "ann")] == [16, 32, 84]


def test_what_is_private_is_found_in_memory_and_never_on_disk(house: House) -> None:
    with house.process() as drive:
        for name in ("first", "again"):
            drive.run(ask(name, STORY, cache_key="chat", is_private=True))
        assert drive.cached["again"] == 84
        house.settle(drive)
    assert house.blocks == []


def test_a_disk_that_hangs_is_not_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    monkeypatch.setattr(disk_blocks, "PATIENCE_S", 0.05)
    monkeypatch.setattr(disk_blocks, "WAIT_S", 0.02)
    monkeypatch.setattr(disk_blocks, "CLOSE_TIMEOUT_S", 0.05)
    with house.disk() as disk:
        goes_on = threading.Event()
        disk.start()
        disk.submit(Order.READ, goes_on.wait)
        backend = house.backend(Shape(), disk)
        drive = Driver(backend)
        drive.submit(ask("r", STORY + "?"))
        while not drive.ended:
            drive.step()
        assert drive.cached["r"] == 0
        backend.close()                                      # gives up what was to be written
        goes_on.set()


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def test_of_a_text_the_end_is_the_first_to_go_however_slow_the_disk(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_slowly(*arguments: Any, **more: Any) -> None:
        write_block(*arguments, **more)
        time.sleep(0.005)

    monkeypatch.setattr(folder, "write_block", write_slowly)
    with house.process() as drive:
        drive.run(ask("before", STORY))
    used_s = [path.stat().st_mtime for path in blocks_of_story(house)]
    assert used_s == sorted(used_s, reverse=True)
    assert used_s[0] > used_s[-1]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flip in the KV": lambda path: flip(path, -20),
    "a flip in the tokens": lambda path: flip(path, 30),
    "a flip in the checksum": lambda path: flip(path, 5),
    "a flip in the mark": lambda path: flip(path, 0),
    "the number of its tokens": lambda path: flip(path, 27),
    "truncation": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "truncation to nothing": lambda path: path.write_bytes(b""),
    "one byte more": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "nothing but zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("when", ["between two processes", "in one"])
def test_a_damaged_block_is_computed_again_and_its_file_dropped(house: House, how: str, when: str) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    if when == "between two processes":
        for path in house.blocks:
            DAMAGE[how](path)
    with house.process(Shape(max_num_seqs=2)) as drive:
        if when == "in one":
            drive.run(ask("other", "Hello"))                 # by now the index has been read
            house.settle(drive)
            for path in house.blocks:
                DAMAGE[how](path)
        assert_says_the_same(drive, house, ask("r", STORY + "?"))
        assert drive.cached["r"] == 0
    with house.process() as drive:                           # by now all was written again
        assert_says_the_same(drive, house, ask("again", STORY + "?"))
        assert drive.cached["again"] == 85


def blocks_of_story(house: House) -> list[Path]:
    """The full ones, in its order."""
    name, paths = root_name(), []
    for start in range(0, 80, 16):
        name = name_of(name, STORY[start : start + 16].encode())
        paths.append(next(path for path in house.blocks if path.name == file_name(name)))
    return paths


def test_of_a_chat_with_a_damaged_block_what_comes_before_it_is_used(house: House) -> None:
    with house.process() as drive:
        drive.run(ask("before", STORY))
    flip(blocks_of_story(house)[2], -1)
    with house.process() as drive:
        assert_says_the_same(drive, house, ask("r", STORY + "?"))
        assert drive.cached["r"] == 32
