"""The prefix cache on disk by itself: what is kept and for how long, for whom, and what a crash leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import namedtuple
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from engine.disk_cache.allowance import BURST_BYTES, MEAN_BYTES_PER_S, Allowance
from engine.disk_cache.block_file import DamagedBlock, file_bytes, file_name, read_block, read_content, write_block
from engine.disk_cache.cache import DiskCache, Order
from engine.disk_cache.folder import BlockFolder, used_s
from engine.disk_cache.ledger import LEFT_FREE_BYTES, Scope
from engine.prefix_index import BlockContent

ROOT = Path(__file__).parents[2]
BLOCK_SIZE = 4
TOKEN_BYTES = 1000
BLOCK_BYTES = file_bytes(BLOCK_SIZE, TOKEN_BYTES)
SCOPE = Scope.of((), ("a test",))


def content(number: int, parent: int = 1) -> BlockContent:
    return BlockContent.of(parent, [number, 0, 0, 0])


def kv(number: int) -> list[memoryview]:
    return [memoryview(bytes([number]) * 1000), memoryview(bytes([number, 7]) * 1500)]


class Disk:
    """A cache whose thread is asked for one thing after the other."""

    def __init__(self, path: Path, limit_bytes: int | None = None, *, scope: Scope = SCOPE, **more: float) -> None:
        self.cache = DiskCache(path, limit_bytes, **more)
        self.gone: list[int] = []
        opened = threading.Event()
        self.known: list[BlockContent] = []

        def on_open(contents: list[BlockContent]) -> None:
            self.known = contents
            opened.set()

        self.folder: BlockFolder = self.cache.open(
            scope, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, on_open=on_open, on_gone=self.gone.append
        )
        assert opened.wait(10)

    def write(self, *numbers: int, last_used_s: float | None = None) -> None:
        for number in numbers:
            used_at_s = time.time() if last_used_s is None else last_used_s
            self.cache.submit(Order.WRITE, partial(self.folder.write, content(number), used_at_s, kv(number)))
        self.rest()

    def read(self, *numbers: int) -> list[int]:
        """Which of them came, and came right."""
        found: dict[int, memoryview] = {}
        names = [content(number).name for number in numbers]
        self.cache.submit(Order.READ, lambda: found.update(self.folder.read([(name, time.time()) for name in names])))
        self.rest()
        here = [number for number in numbers if content(number).name in found]
        assert all(found[content(number).name] == b"".join(kv(number)) for number in here)
        return here

    def rest(self) -> None:
        done = threading.Event()
        self.cache.submit(Order.WRITE, done.set)
        assert done.wait(10)

    def close(self) -> None:
        assert self.cache.finish(self.folder, 10)
        self.cache.close()


class TestABlockOnDisk:
    def test_comes_back_as_it_was_written(self, tmp_path: Path) -> None:
        path = tmp_path / file_name(content(5).name)
        write_block(path, content(5), kv(5), key=b"key")
        assert path.stat().st_size == BLOCK_BYTES
        assert read_content(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES) == content(5)
        assert read_block(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"key") == b"".join(kv(5))

    def test_of_another_scope_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / file_name(content(5).name)
        write_block(path, content(5), kv(5), key=b"key")
        with pytest.raises(DamagedBlock):
            read_block(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"other")
        with pytest.raises(DamagedBlock):
            read_block(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES - 1, key=b"key")

    def test_with_any_bit_flipped_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / file_name(content(5).name)
        write_block(path, content(5), kv(5), key=b"key")
        data = path.read_bytes()
        for at in (*range(60), *range(60, len(data), 61), len(data) - 1):
            damaged = bytearray(data)
            damaged[at] ^= 1 << at % 8
            path.write_bytes(damaged)
            with pytest.raises(DamagedBlock):
                read_block(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"key")

    @pytest.mark.parametrize("size", [0, 3, 8, 27, 28, 43, BLOCK_BYTES - 1, BLOCK_BYTES + 1, 10 * BLOCK_BYTES])
    def test_of_another_length_is_none(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / file_name(content(5).name)
        write_block(path, content(5), kv(5), key=b"key")
        os.truncate(path, size)
        with pytest.raises(DamagedBlock):
            read_block(path, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"key")

    @pytest.mark.skipif(sys.platform == "win32", reason="no such things there")
    def test_is_a_file_not_a_link_or_a_pipe(self, tmp_path: Path) -> None:
        name = file_name(content(5).name)
        os.mkfifo(tmp_path / name)
        with pytest.raises(DamagedBlock):
            read_block(tmp_path / name, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"key")
        (tmp_path / "other").mkdir()
        write_block(tmp_path / "other" / name, content(5), kv(5), key=b"key")
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to(tmp_path / "other" / name)
        with pytest.raises(OSError, match=name):
            read_block(tmp_path / name, block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, key=b"key")


class TestWhatIsKept:
    def test_is_known_to_the_next_process_without_being_read(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        disk.write(1, 2, 3)
        disk.close()
        again = Disk(tmp_path)
        assert set(again.known) == {content(1), content(2), content(3)}
        assert again.read(1, 2, 3, 4) == [1, 2, 3]
        again.close()

    def test_keeps_to_its_budget_and_the_least_recently_used_goes_first(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path, 5 * BLOCK_BYTES)
        disk.write(1, 2, 3, 4)
        disk.read(1)
        for number in range(5, 12):
            disk.write(number)
            disk.read(1)
            assert sum(path.stat().st_size for path in blocks_in(tmp_path)) <= 5 * BLOCK_BYTES
        assert disk.read(1, 2, 3, 4) == [1]
        assert disk.read(11) == [11]
        assert content(2).name in disk.gone
        disk.close()

    def test_keeps_its_order_over_a_restart(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path, 4 * BLOCK_BYTES)
        disk.write(1, 2, 3)
        disk.read(1)
        disk.close()
        path = tmp_path / SCOPE.key.hex() / file_name(content(2).name)
        assert path.exists()
        os.utime(path, (time.time() - 100, time.time() - 100))
        again = Disk(tmp_path, 3 * BLOCK_BYTES)
        again.write(4)
        assert content(2).name in again.gone
        again.close()

    def test_of_a_text_the_end_goes_before_the_beginning(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path, 3 * BLOCK_BYTES)
        text_used_s = time.time()
        for depth, number in enumerate((1, 2, 3)):
            disk.write(number, last_used_s=used_s(text_used_s, depth))
        disk.write(4)
        assert disk.read(1, 2, 3, 4)[0] == 1
        assert content(3).name in disk.gone
        disk.close()

    def test_used_in_memory_counts_as_used(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path, 3 * BLOCK_BYTES)
        disk.write(1, 2, 3)
        disk.cache.submit(Order.WRITE, lambda: disk.folder.touch([(content(1).name, time.time())]))
        disk.write(4)
        assert content(1).name not in disk.gone
        disk.close()

    def test_leaves_two_gigabytes_free_whatever_the_budget(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free = namedtuple("free", "free")
        room = {"free": LEFT_FREE_BYTES + 2 * BLOCK_BYTES}
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free(room["free"]))
        disk = Disk(tmp_path, 100 * BLOCK_BYTES)
        disk.write(1, 2)
        assert disk.read(1, 2) == [1, 2]
        room["free"] = LEFT_FREE_BYTES - BLOCK_BYTES                # somebody else needs it: the cache makes way
        disk.write(3)
        assert len(blocks_in(tmp_path)) <= 1
        room["free"] = LEFT_FREE_BYTES - 100 * BLOCK_BYTES
        disk.write(4)
        assert disk.read(4) == []
        disk.close()

    def test_by_default_takes_a_quarter_of_what_is_free_at_the_most(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free = namedtuple("free", "free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free(LEFT_FREE_BYTES + (1 << 30)))
        disk = Disk(tmp_path)
        assert disk.cache._ledger._allowed_bytes() == (LEFT_FREE_BYTES + (1 << 30)) // 4
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free(1 << 40))
        assert disk.cache._ledger._allowed_bytes() == 4 << 30
        disk.close()

    def test_is_gone_days_after_its_last_use(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        disk.write(1, 2)
        disk.close()
        old = tmp_path / SCOPE.key.hex() / file_name(content(1).name)
        os.utime(old, (time.time() - 4 * 86400, time.time() - 4 * 86400))
        again = Disk(tmp_path)
        assert again.known == [content(2)]
        assert not old.exists()
        again.close()

    @pytest.mark.skipif(sys.platform == "win32", reason="its rights are another system")
    def test_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / "cache" / "kv"
        umask = os.umask(0)
        disk = Disk(folder)
        disk.write(1)
        disk.close()
        os.umask(umask)
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
        assert len(modes) == 4
        assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())

    def test_of_a_model_is_gone_with_it_or_when_it_is_another(self, tmp_path: Path) -> None:
        models = [tmp_path / f"{n}.gguf" for n in range(3)]
        scopes: list[Scope] = []
        for model in models:
            model.write_bytes(b"weights")
            scopes.append(Scope.of([model], ("f16",)))
            disk = Disk(tmp_path / "kv", scope=scopes[-1])
            disk.write(1)
            disk.close()
        models[0].unlink()
        models[1].write_bytes(b"otherws")
        cache = DiskCache(tmp_path / "kv")
        cache.start()
        until_idle(cache)
        cache.close()
        assert [(tmp_path / "kv" / scope.key.hex()).exists() for scope in scopes] == [False, False, True]
        assert Scope.of([models[1]], ("f16",)).key != scopes[1].key
        assert Scope.of([models[2]], ("f16",)).key == scopes[2].key
        assert Scope.of([models[2]], ("q8_0",)).key != scopes[2].key

    def test_is_not_read_by_another_scope(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        disk.write(1)
        disk.close()
        other = Disk(tmp_path, scope=Scope.of((), ("another",)))
        shutil.copy(tmp_path / SCOPE.key.hex() / file_name(content(1).name), other.folder.path)
        assert other.known == []
        assert other.read(1) == []
        other.close()

    def test_is_removed_when_the_cache_is_off(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path / "kv")
        disk.write(1)
        disk.close()
        off = DiskCache(tmp_path / "kv", 0)
        assert not off.is_on
        off.start()
        off.close()
        assert not (tmp_path / "kv").exists()

    def test_shares_its_budget_among_models(self, tmp_path: Path) -> None:
        cache = Disk(tmp_path, 4 * BLOCK_BYTES)
        cache.write(1, 2, 3)
        other: list[BlockContent] = []
        folder = cache.cache.open(
            Scope.of((), ("another",)), block_size=BLOCK_SIZE, token_bytes=TOKEN_BYTES, on_open=other.extend,
            on_gone=lambda _: None,
        )
        for number in (4, 5, 6):
            cache.cache.submit(Order.WRITE, partial(folder.write, content(number), time.time(), kv(number)))
        cache.rest()
        assert len(blocks_in(tmp_path)) <= 4
        assert content(1).name in cache.gone
        cache.close()


@pytest.mark.skipif(sys.platform == "win32", reason="links are for administrators there")
class TestALink:
    """What it leads to is not ours: nothing there is changed, written or removed."""

    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Path:
        folder = tmp_path / "theirs"
        (folder / "papers").mkdir(parents=True)
        (folder / "papers" / "draft.part").write_text("dear")
        folder.chmod(0o755)
        return folder

    def untouched(self, folder: Path) -> bool:
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        return left == ["papers", "papers/draft.part"] and stat.S_IMODE(folder.stat().st_mode) == 0o755

    @pytest.mark.parametrize("limit_bytes", [None, 0])
    def test_in_place_of_the_folder_switches_the_cache_off(
        self, tmp_path: Path, theirs: Path, limit_bytes: int | None
    ) -> None:
        (tmp_path / "kv").symlink_to(theirs)
        cache = DiskCache(tmp_path / "kv", limit_bytes)
        with capture_logs() as logs:
            cache.start()
            assert not cache.is_on
            cache.close()
        assert "is a link" in logs[0]["reason"]
        assert self.untouched(theirs)

    def test_in_place_of_a_models_folder_keeps_blocks_from_being_written(self, tmp_path: Path, theirs: Path) -> None:
        (tmp_path / "kv").mkdir()
        (tmp_path / "kv" / SCOPE.key.hex()).symlink_to(theirs)
        disk = Disk(tmp_path / "kv")
        disk.write(1)
        assert disk.read(1) == []
        disk.close()
        assert self.untouched(theirs)

    def test_and_folders_that_are_not_ours_are_left_where_they_are(self, tmp_path: Path, theirs: Path) -> None:
        disk = Disk(theirs)
        disk.write(1)
        disk.close()
        assert (theirs / "papers" / "draft.part").read_text() == "dear"


class TestACrash:
    def test_in_mid_write_leaves_nothing_that_is_believed(self, tmp_path: Path) -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD_THAT_WRITES, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert child.stdout is not None
        for _ in range(20):                                          # it writes as fast as it can
            child.stdout.readline()
        child.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        child.wait()
        child.stdout.close()
        disk = Disk(tmp_path)
        numbers = [each.token_ids[0] for each in disk.known]
        assert len(numbers) >= 19
        assert disk.read(*numbers) == numbers
        assert not list(tmp_path.rglob("*.part"))
        disk.close()

    def test_leaves_drafts_that_are_removed(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        disk.write(1)
        disk.close()
        draft = disk.folder.path / (file_name(content(2).name) + ".part")
        draft.write_bytes(b"half a bl")
        again = Disk(tmp_path)
        assert not draft.exists()
        assert again.known == [content(1)]
        again.close()

    def test_of_the_disk_is_no_crash_of_ours(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        disk = Disk(tmp_path)
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with capture_logs() as logs:
            disk.write(1, 2)
        assert [entry["reason"] for entry in logs] == ["[Errno 28] No space left on device"]      # and no more of it
        monkeypatch.undo()
        assert disk.read(1) == []
        assert not list(tmp_path.rglob("*.part"))
        disk.folder._resumes_s = 0.0
        disk.write(2)
        assert disk.read(2) == [2]
        disk.close()


class TestTheThread:
    def test_ends_with_the_cache(self, tmp_path: Path) -> None:
        before = threading.active_count()
        for _ in range(5):
            disk = Disk(tmp_path)
            disk.write(1)
            disk.close()
            disk.cache.close()
        assert threading.active_count() == before

    def test_is_not_there_before_it_is_needed(self, tmp_path: Path) -> None:
        before = threading.active_count()
        cache = DiskCache(tmp_path / "kv")
        assert threading.active_count() == before
        cache.close()
        assert not (tmp_path / "kv").exists()

    def test_gives_up_what_takes_too_long(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        goes_on = threading.Event()
        disk.cache.submit(Order.WRITE, goes_on.wait)
        disk.cache.submit(Order.WRITE, partial(disk.folder.write, content(1), time.time(), kv(1)))
        assert not disk.cache.finish(disk.folder, 0.05)
        goes_on.set()
        disk.rest()
        assert blocks_in(tmp_path) == []
        disk.cache.close()


class TestAnAllowance:
    def test_is_used_up_and_comes_back_with_time(self) -> None:
        now_s = 0.0
        allowance = Allowance(lambda: now_s)
        allowance.use(BURST_BYTES)
        assert allowance.wait_s == 0.0
        allowance.use(10 * MEAN_BYTES_PER_S)
        assert allowance.wait_s == 10.0
        now_s = 9.0
        assert allowance.wait_s == pytest.approx(1.0)
        now_s = 1e6
        allowance.use(BURST_BYTES + MEAN_BYTES_PER_S)                # no more than that is ever saved up
        assert allowance.wait_s == 1.0


CHILD_THAT_WRITES = """
import sys
from itertools import count
from pathlib import Path
from tests.engine.test_disk_cache import Disk
disk = Disk(Path(sys.argv[1]))
for number in count(1):
    disk.write(number % 256)
    print(number, flush=True)
"""


def blocks_in(path: Path) -> list[Path]:
    return [path for path in path.rglob("*") if path.is_file() and path.name != "about.json"]


def until_idle(cache: DiskCache) -> None:
    """First it tidies up, when there is nothing else to do."""
    tidied = threading.Event()

    def tidy() -> None:
        cache._tidy()
        tidied.set()

    cache.submit(Order.WRITE, tidy)
    assert tidied.wait(10)
