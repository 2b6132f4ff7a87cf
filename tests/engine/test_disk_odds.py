"""The prefix cache on disk where somebody or something else had a hand in it: a clock that jumps, files that are none
of ours, a folder that is emptied while it is used, files that cannot be removed or touched. Each costs itself alone.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from engine.disk_cache.block_file import file_name
from engine.disk_cache.cache import Order
from engine.disk_cache.folder import PAUSE_S
from engine.disk_cache.ledger import Scope
from tests.engine.test_disk_cache import BLOCK_BYTES, SCOPE, Disk, blocks_in, content, until_idle

YEAR_S = 365 * 86400.0
OTHER = Scope.of((), ("another model",))


def path_of(folder: Path, number: int, scope: Scope = SCOPE) -> Path:
    return folder / scope.key.hex() / file_name(content(number).name)


def filled(folder: Path, *numbers: int, scope: Scope = SCOPE) -> None:
    disk = Disk(folder, scope=scope)
    disk.write(*numbers)
    disk.close()


class TestAClock:
    def test_that_was_a_year_ahead_does_not_keep_what_is_old_before_what_is_new(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        for number in (1, 2, 3, 4):
            disk.write(number, last_used_s=time.time() + YEAR_S + number)
        disk.close()
        again = Disk(tmp_path, 4 * BLOCK_BYTES)
        assert {each.token_ids[0] for each in again.known} == {1, 2, 3, 4}
        again.write(5, 6, 7)
        assert again.read(1, 2, 3, 4, 5, 6, 7) == [5, 6, 7]
        again.close()

    def test_that_was_a_year_ahead_does_not_keep_texts_for_a_year(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path)
        disk.write(1, 2, last_used_s=time.time() + YEAR_S)
        disk.close()
        Disk(tmp_path).close()
        assert all(path_of(tmp_path, number).stat().st_mtime <= time.time() for number in (1, 2))

    def test_that_goes_back_while_it_runs_does_neither(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = Disk(tmp_path)
        disk.write(1)
        past_s = time.time() - YEAR_S
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: past_s)
            until_idle(disk.cache)
        assert path_of(tmp_path, 1).stat().st_mtime == pytest.approx(past_s)
        disk.close()


def test_what_is_used_again_and_again_is_not_old_after_a_restart(tmp_path: Path) -> None:
    """Also where each use follows the one before within the hour."""
    disk = Disk(tmp_path)
    begun_s = time.time() - 4 * 86400
    disk.write(1, last_used_s=begun_s)
    for use in range(4 * 48):
        disk.folder.touch([(content(1).name, begun_s + use * 1800)])
    disk.close()
    again = Disk(tmp_path)
    assert again.known == [content(1)]
    again.close()


class TestAFileThatIsNoneOfOurs:
    @pytest.fixture
    def spoilt(self, tmp_path: Path) -> Path:
        """Of two models, one with something odd in its folder."""
        filled(tmp_path, 1)
        filled(tmp_path, 2, scope=OTHER)
        return tmp_path / SCOPE.key.hex()

    def test_named_like_a_draft_hides_nothing_else(self, tmp_path: Path, spoilt: Path) -> None:
        for scope in (SCOPE, OTHER):
            (tmp_path / scope.key.hex() / f"{'0' * 32}.part").mkdir()
        for scope, number in ((SCOPE, 1), (OTHER, 2)):
            disk = Disk(tmp_path, scope=scope)
            assert disk.known == [content(number)]
            assert disk.cache._ledger.num_bytes == 2 * BLOCK_BYTES
            disk.close()

    @pytest.mark.parametrize("about", [
        b"[" * 100_000, b'{"files": ["a\\u0000b"], "facts": [], "identities": []}', b"\xff\xfe", b"[]",
    ])
    def test_in_place_of_what_a_folder_is_about_costs_that_folder_alone(
        self, tmp_path: Path, spoilt: Path, about: bytes
    ) -> None:
        (spoilt / "about.json").write_bytes(about)
        with capture_logs() as logs:
            disk = Disk(tmp_path, scope=OTHER)
            disk.write(3)
            assert disk.known == [content(2)]
            assert disk.read(2, 3) == [2, 3]
            disk.close()
        assert not logs
        assert not spoilt.exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="no such things there")
    def test_that_never_ends_is_not_waited_for(self, tmp_path: Path, spoilt: Path) -> None:
        (spoilt / "about.json").unlink()
        os.mkfifo(spoilt / "about.json")
        disk = Disk(tmp_path, scope=OTHER)
        assert disk.known == [content(2)]
        disk.close()

    def test_that_took_a_blocks_place_keeps_nothing_from_making_way(self, tmp_path: Path) -> None:
        disk = Disk(tmp_path, 4 * BLOCK_BYTES)
        now_s = time.time()
        for number in (1, 2, 3):
            disk.write(number, last_used_s=now_s - 5 * 86400 + number)
        path_of(tmp_path, 1).unlink()
        path_of(tmp_path, 1).mkdir()
        with capture_logs() as logs:
            disk.cache.submit(Order.WRITE, disk.cache._tidy)
            disk.rest()
        assert {entry["event"] for entry in logs} == {"kv_disk_failed"}
        assert blocks_in(tmp_path) == []
        disk.write(4, 5, 6)
        disk.write(7)
        assert disk.read(6, 7) == [6, 7]
        disk.close()


class TestAFolderThatIsEmptied:
    @pytest.mark.parametrize("all_of_it", [False, True])
    def test_while_it_is_used_is_filled_again(self, tmp_path: Path, all_of_it: bool) -> None:
        disk = Disk(tmp_path / "kv")
        disk.write(1, 2)
        shutil.rmtree(tmp_path / "kv" if all_of_it else disk.folder.path)
        with capture_logs() as logs:
            disk.write(3)
            disk.folder.touch([(content(1).name, time.time() + 7200)])
        assert not logs
        assert disk.read(3) == [3]
        assert content(1).name in disk.gone     # so that it is written again
        until_idle(disk.cache)
        assert content(2).name in disk.gone
        assert disk.cache._ledger.num_bytes == BLOCK_BYTES
        disk.close()
        again = Disk(tmp_path / "kv")
        assert again.known == [content(3)]
        again.close()


class TestADisk:
    def test_that_writes_down_no_times_still_gives_what_it_has(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As one that turned read-only does."""
        disk = Disk(tmp_path)
        disk.write(1, 2, last_used_s=time.time() - 7200)
        monkeypatch.setattr(os, "utime", refuse)
        assert disk.read(1, 2) == [1, 2]
        disk.close()

    def test_that_cannot_say_how_full_it_is_is_left_in_peace_for_a_while(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = Disk(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", refuse)
        with capture_logs() as logs:
            disk.write(*range(20))
        assert len(logs) <= 2                   # not 20; one is of its tidying, should that come in between
        assert disk.folder._resumes_s > time.monotonic() + PAUSE_S / 2
        disk.close()

    def test_that_removes_nothing_does_not_keep_a_model_from_its_blocks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled(tmp_path, 1, 2)
        old_s = time.time() - 5 * 86400
        os.utime(path_of(tmp_path, 1), (old_s, old_s))
        monkeypatch.setattr(Path, "unlink", refuse)
        disk = Disk(tmp_path)
        assert content(2) in disk.known
        disk.write(3)
        assert disk.read(2, 3) == [2, 3]
        disk.close()


def refuse(*_: object, **__: object) -> None:
    raise OSError(30, "Read-only file system")
