"""Bringing files from a hub that does everything wrong (CASES 11, 13, 14): what is there in the end is right, or not
there; and what was there already does not travel twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from app.errors import HubBusy, HubDistrusted, HubError, HubRefused, HubUnreachable, NotFound
from app.hub.client import HubClient
from app.hub.disk import KEPT_FREE_BYTES, Disk, NoRoom
from app.hub.files import RemoteFile
from app.hub.journal import Coverage, Journal, bytes_there
from app.hub.layout import Layout, OwnLayout, journal_of
from app.hub.pace import Pace, Patience
from app.hub.source import IgnoresRanges, SourceChanged
from app.hub.transfer import Transfer, WrongContent, bytes_here, discard
from app.hub.verify import Check
from tests.app.house import PATIENCE_S
from tests.app.hub import TOKEN, Hub, sha256

REPO, NAME = "birds/Parrot-GGUF", "parrot-Q4_K_M.gguf"
PIECE_BYTES = 64 << 10
CONTENT = random.Random(1).randbytes(20 * PIECE_BYTES + 123)
PATIENT = Patience(num_attempts=4, first_wait_s=0.001, longest_wait_s=0.002)
NO_LIMIT = Disk(kept_free_bytes=0)


@dataclass
class Bench:
    """One model's download, as often as a test likes."""

    hub: Hub
    client: HubClient
    root: Path
    waits_s: list[float] = field(default_factory=list)

    async def layout(self) -> Layout:
        page = await self.client.page(REPO)
        return OwnLayout(self.root, REPO, page.commit_sha, page.files)

    async def transfer(self, layout: Layout | None = None, disk: Disk = NO_LIMIT, pace: Pace | None = None) -> Transfer:
        async def sleep(seconds: float) -> None:
            self.waits_s.append(seconds)
            await asyncio.sleep(0)

        return Transfer(
            client=self.client, layout=layout or await self.layout(), patience=PATIENT, piece_bytes=PIECE_BYTES,
            disk=disk, sleep=sleep, save_interval_s=0.002, pace=pace or Pace(),
        )

    async def place(self) -> Path:
        layout = await self.layout()
        return layout.place(layout.files[0])

    def files(self) -> list[str]:
        return sorted(path.name for path in self.root.rglob("*") if path.is_file())


@pytest_asyncio.fixture
async def bench(hub: Hub, tmp_path: Path) -> AsyncIterator[Bench]:
    hub.add(REPO, {NAME: CONTENT})
    client = HubClient(hub.url)
    yield Bench(hub, client, tmp_path / "models")
    await client.close()


@pytest.mark.parametrize(("location", "kind"), [
    ("data:text/plain,GGUF", "data"), ("file:///etc/passwd", "file"), ("ftp://files.test/a.gguf", "ftp"),
    ("https:", "https"), ("http://files.test:99999/a.gguf", "http"), ("javascript:alert(1)", "javascript"),
    ("http://a/" + "b" * 66_000, "http"), ("http://a:0/", "http"),
])
async def test_a_hub_that_leads_to_no_web_address_is_not_followed_and_asked_once(
    bench: Bench, location: str, kind: str
) -> None:
    bench.hub.faults.location = location
    transfer = await bench.transfer()
    with pytest.raises(HubDistrusted, match=rf"no web address \({kind}:…\)"):
        await transfer.run()
    assert len(bench.hub.heard("hub", "/resolve/")) == 1
    assert not bench.waits_s


async def test_a_file_comes_whole_over_several_connections(bench: Bench) -> None:
    transfer = await bench.transfer()
    await transfer.run()
    assert (await bench.place()).read_bytes() == CONTENT
    assert bench.files() == [NAME]
    assert bench.hub.sent_bytes[NAME] == len(CONTENT)
    assert transfer.progress.done_bytes == transfer.progress.total_bytes == len(CONTENT)
    asked = [each for each in bench.hub.heard("files") if each.method == "GET"]
    assert len(asked) == 21
    assert len(bench.hub.heard("hub", "/resolve/")) == 1, "the hub is asked once where the bytes are"


async def test_the_token_goes_to_the_hub_and_never_to_the_host_that_it_sends_us_to(bench: Bench) -> None:
    bench.hub.faults.wants_token = True
    bench.client.token = TOKEN
    await (await bench.transfer()).run()
    assert all(each.headers["authorization"] == f"Bearer {TOKEN}" for each in bench.hub.heard("hub"))
    served = bench.hub.heard("files")
    assert served
    assert not any("authorization" in each.headers or TOKEN in str(each) for each in served)


async def test_what_is_there_is_not_fetched_again(bench: Bench) -> None:
    await (await bench.transfer()).run()
    bench.hub.asked.clear()
    await (await bench.transfer()).run()
    assert not bench.hub.heard("files")


class TestWrongContent:
    async def test_a_flipped_byte_is_found_and_nothing_of_it_stays(self, bench: Bench) -> None:
        bench.hub.faults.flips_byte_at = len(CONTENT) // 2
        transfer = await bench.transfer()
        with pytest.raises(WrongContent, match="not what the hub promised"):
            await transfer.run()
        assert bench.files() == []
        assert transfer.progress.done_bytes == 0
        bench.hub.faults.flips_byte_at = None
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_bytes_from_another_place_than_their_header_says_are_found_by_the_hash(self, bench: Bench) -> None:
        bench.hub.faults.lying_offset = True
        with pytest.raises(WrongContent):
            await (await bench.transfer()).run()
        assert bench.files() == []

    async def test_small_files_are_checked_by_git_s_hash(self, bench: Bench) -> None:
        bench.hub.change(REPO, "config.json", b'{"model_type": "parrot"}')
        bench.hub.faults.flips_byte_at = 3
        layout = await bench.layout()
        small = OwnLayout(bench.root, REPO, layout.commit_sha, [each for each in layout.files if not each.sha256])
        with pytest.raises(WrongContent, match=r"config\.json"):
            await (await bench.transfer(small)).run()
        bench.hub.faults.flips_byte_at = None
        await (await bench.transfer(small)).run()
        assert small.place(small.files[0]).read_bytes() == b'{"model_type": "parrot"}'


class TestHashing:
    """What is there from the beginning on is hashed while the rest comes."""

    @pytest.fixture(autouse=True)
    def read_bytes(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How much each time, from the file."""
        read: list[int] = []
        read_to = Check._read_to

        def reading(check: Check, end: int, tell: Callable[[int], None]) -> None:
            before = check.num_bytes
            read_to(check, end, tell)
            read.append(check.num_bytes - before)

        monkeypatch.setattr(Check, "_read_to", reading)
        monkeypatch.setattr("app.hub.transfer.HASH_BYTES", 2 * PIECE_BYTES)
        return read

    async def test_each_byte_is_read_once_though_the_line_is_cut(self, bench: Bench, read_bytes: list[int]) -> None:
        bench.hub.faults.cuts_at, bench.hub.faults.num_cuts = 0.4, 8
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT
        assert sum(read_bytes) == len(CONTENT)
        assert read_bytes[-1] < len(CONTENT) // 2, "most of it before the last byte came"

    async def test_a_later_run_reads_what_is_there_while_the_rest_comes(
        self, bench: Bench, read_bytes: list[int]
    ) -> None:
        layout = await bench.layout()
        most = asyncio.Event()
        loop = asyncio.get_running_loop()
        bench.hub.hold(NAME, len(CONTENT) * 9 // 10, then=lambda: loop.call_soon_threadsafe(most.set))
        running = asyncio.create_task((await bench.transfer(layout)).run())
        await most.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        bench.hub.release()
        num_first_bytes = Journal.open(layout.part(layout.files[0]), layout.files[0]).coverage.num_first_bytes
        read_bytes.clear()
        await (await bench.transfer(layout)).run()
        assert layout.place(layout.files[0]).read_bytes() == CONTENT
        assert sum(read_bytes) == len(CONTENT)
        assert read_bytes[0] == num_first_bytes > 0

    async def test_a_file_that_is_begun_anew_is_hashed_anew(self, bench: Bench) -> None:
        bench.hub.faults.ignores_range = True
        bench.hub.faults.cuts_at, bench.hub.faults.num_cuts = 0.7, 3
        again = await bench.transfer()
        again.patience = Patience(num_attempts=4, first_wait_s=0.001, longest_wait_s=0.002)
        await again.run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_stopped_it_goes_on_where_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(CONTENT)
        check = Check(path, RemoteFile(name="file", size_bytes=len(CONTENT), sha256=sha256(CONTENT)))
        await check.read_to(1000)
        reading = asyncio.create_task(check.is_right(lambda _num_bytes: None))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert check.num_bytes >= 1000
        assert await check.is_right(lambda _num_bytes: None)

    async def test_a_file_that_is_longer_than_promised_is_wrong(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(CONTENT + b"!")
        check = Check(path, RemoteFile(name="file", size_bytes=len(CONTENT), sha256=sha256(CONTENT)))
        assert not await check.is_right(lambda _num_bytes: None)


class TestLinesThatBreak:
    async def test_a_line_that_is_cut_again_and_again_is_taken_up_where_it_broke(self, bench: Bench) -> None:
        bench.hub.faults.cuts_at, bench.hub.faults.num_cuts = 0.4, 8
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT
        assert bench.waits_s

    async def test_a_later_run_fetches_only_the_rest(self, bench: Bench) -> None:
        bench.hub.faults.cuts_at = 0.4
        layout = await bench.layout()
        impatient = await bench.transfer(layout)
        impatient.patience = Patience(num_attempts=1)
        with pytest.raises(HubUnreachable):
            await impatient.run()
        there = bytes_there(layout.part(layout.files[0]), layout.files[0])
        assert 0 < there < len(CONTENT)
        bench.hub.faults.cuts_at = None
        bench.hub.sent_bytes.clear()
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT
        assert bench.hub.sent_bytes[NAME] == len(CONTENT) - there

    async def test_a_source_that_sends_the_whole_file_for_a_part_is_taken_whole(self, bench: Bench) -> None:
        await self._begin(bench)
        bench.hub.faults.ignores_range = True
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_a_source_that_sends_another_part_is_taken_whole(self, bench: Bench) -> None:
        await self._begin(bench)
        bench.hub.faults.wrong_offset = True
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_one_that_knows_no_ranges_and_is_cut_begins_anew_each_time(self, bench: Bench) -> None:
        bench.hub.faults.ignores_range = True
        bench.hub.faults.cuts_at, bench.hub.faults.num_cuts = 0.4, 6
        transfer = await bench.transfer()
        transfer.patience = Patience(num_attempts=7, first_wait_s=0.001, longest_wait_s=0.002)
        await transfer.run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_one_that_compresses_unasked_is_refused(self, bench: Bench) -> None:
        bench.hub.faults.compresses = True
        with pytest.raises(IgnoresRanges, match="compressed"):
            await (await bench.transfer()).run()

    async def test_addresses_that_expire_are_asked_for_anew(self, bench: Bench) -> None:
        bench.hub.faults.expires_addresses = 2
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT
        assert len(bench.hub.heard("hub", "/resolve/")) >= 2

    async def test_a_line_that_falls_silent_is_given_up_and_another_goes_on(self, bench: Bench) -> None:
        bench.client = HubClient(bench.hub.url, read_timeout_s=0.1)
        bench.hub.hold(NAME, len(CONTENT) // 2)
        transfer = await bench.transfer()

        async def sleep(_seconds: float) -> None:
            bench.hub.release()

        transfer.sleep = sleep
        await transfer.run()
        assert (await bench.place()).read_bytes() == CONTENT
        await bench.client.close()

    async def test_errors_of_the_server_pass_or_are_told(self, bench: Bench) -> None:
        bench.hub.faults.status, bench.hub.faults.num_statuses = 500, 3
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT
        bench.hub.change(REPO, NAME, CONTENT + b"!")
        bench.hub.faults.num_statuses = 10**9
        with pytest.raises(HubError, match="500"):
            await (await bench.transfer()).run()

    async def test_a_hub_that_asks_to_wait_is_given_that_time(self, bench: Bench) -> None:
        bench.hub.faults.status, bench.hub.faults.num_statuses, bench.hub.faults.retry_after = 429, 4, "7"
        await (await bench.transfer()).run()
        assert bench.waits_s
        assert all(wait_s == 7 for wait_s in bench.waits_s)
        bench.hub.change(REPO, NAME, CONTENT + b"!")
        bench.hub.faults.num_statuses = 10**9
        with pytest.raises(HubBusy) as busy:
            await (await bench.transfer()).run()
        assert busy.value.retry_after_s == 7

    async def _begin(self, bench: Bench) -> None:
        bench.hub.faults.cuts_at = 0.4
        transfer = await bench.transfer()
        transfer.patience = Patience(num_attempts=1)
        with pytest.raises(HubUnreachable):
            await transfer.run()
        bench.hub.faults.cuts_at = None


class TestChangedSources:
    async def test_a_new_commit_is_another_model_and_the_old_one_still_comes(self, bench: Bench) -> None:
        old = await bench.layout()
        bench.hub.change(REPO, NAME, CONTENT[::-1])
        await (await bench.transfer(old)).run()
        assert old.place(old.files[0]).read_bytes() == CONTENT
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT[::-1]

    async def test_a_file_that_is_replaced_under_its_name_ends_it_and_leaves_nothing(self, bench: Bench) -> None:
        layout = await self._half(bench)
        bench.hub.change_in_place(REPO, NAME, CONTENT[::-1])
        with pytest.raises(SourceChanged, match="replaced at its source"):
            await (await bench.transfer(layout)).run()
        assert bench.files() == []
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT[::-1]

    async def test_one_that_changes_in_mid_run_does_too(self, bench: Bench) -> None:
        layout = await bench.layout()
        changed = False

        def change(_name: str, total: int) -> None:
            nonlocal changed
            if total > len(CONTENT) // 2 and not changed:
                changed = True
                bench.hub.change_in_place(REPO, NAME, CONTENT[::-1])

        bench.hub.on_sent = change
        with pytest.raises((SourceChanged, WrongContent)):
            await (await bench.transfer(layout)).run()
        assert bench.files() == []

    async def test_one_that_became_longer_or_vanished_is_told(self, bench: Bench) -> None:
        layout = await self._half(bench)
        bench.hub.change_in_place(REPO, NAME, CONTENT + b"more")
        with pytest.raises(SourceChanged):
            await (await bench.transfer(layout)).run()
        del bench.hub.old[REPO, layout.commit_sha][NAME]
        with pytest.raises(NotFound):
            await (await bench.transfer(layout)).run()

    async def _half(self, bench: Bench) -> Layout:
        layout = await bench.layout()
        bench.hub.faults.cuts_at = 0.5
        transfer = await bench.transfer(layout)
        transfer.patience = Patience(num_attempts=1)
        with pytest.raises(HubUnreachable):
            await transfer.run()
        bench.hub.faults.cuts_at = None
        return layout


class TestAccess:
    async def test_a_gated_model_says_what_to_do(self, bench: Bench) -> None:
        bench.hub.faults.wants_token = True
        with pytest.raises(HubRefused, match="Accept their terms"):
            await (await bench.transfer()).run()
        assert bench.waits_s == [], "trying again would not help"

    async def test_offline_is_told_at_once(self, bench: Bench) -> None:
        layout = await bench.layout()
        offline = HubClient(bench.hub.url, is_offline=True)
        bench.hub.asked.clear()
        with pytest.raises(HubUnreachable, match="switched off"):
            await Transfer(client=offline, layout=layout, disk=NO_LIMIT).run()
        assert bench.hub.asked == []
        await offline.close()


class TestEndsInTheMiddle:
    async def test_cancelling_keeps_what_came_and_no_more_is_fetched(self, bench: Bench) -> None:
        layout = await bench.layout()
        half = asyncio.Event()
        loop = asyncio.get_running_loop()
        bench.hub.hold(NAME, len(CONTENT) // 2, then=lambda: loop.call_soon_threadsafe(half.set))
        running = asyncio.create_task((await bench.transfer(layout)).run())
        await half.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        there = bytes_there(layout.part(layout.files[0]), layout.files[0])
        assert there > len(CONTENT) // 4
        assert not layout.place(layout.files[0]).exists()
        bench.hub.release()
        bench.hub.sent_bytes.clear()
        await (await bench.transfer(layout)).run()
        assert layout.place(layout.files[0]).read_bytes() == CONTENT
        assert bench.hub.sent_bytes[NAME] == len(CONTENT) - there

    async def test_giving_up_removes_every_trace(self, bench: Bench) -> None:
        bench.hub.faults.cuts_at = 0.4
        layout = await bench.layout()
        transfer = await bench.transfer(layout)
        with pytest.raises(HubUnreachable):
            transfer.patience = Patience(num_attempts=1)
            await transfer.run()
        assert bench.files() != []
        discard(layout)
        assert list(bench.root.iterdir()) == []

    async def test_a_journal_or_part_that_was_tampered_with_is_begun_anew(self, bench: Bench) -> None:
        for spoil in (
            lambda part: part.unlink(),
            lambda part: part.write_bytes(b"short"),
            lambda part: journal_of(part).write_text("{"),
            lambda part: journal_of(part).write_text(json.dumps({"version": 1, "stretches": [[0, 10**12]]})),
            lambda part: journal_of(part).unlink(),
        ):
            shutil.rmtree(bench.root, ignore_errors=True)
            bench.hub.faults.cuts_at = 0.4
            layout = await bench.layout()
            transfer = await bench.transfer(layout)
            transfer.patience = Patience(num_attempts=1)
            with pytest.raises(HubUnreachable):
                await transfer.run()
            bench.hub.faults.cuts_at = None
            spoil(layout.part(layout.files[0]))
            assert bytes_here(layout) == 0
            await (await bench.transfer(layout)).run()
            assert layout.place(layout.files[0]).read_bytes() == CONTENT


KILLED = """
import asyncio, json, sys
from pathlib import Path
from app.hub.client import HubClient
from app.hub.disk import Disk
from app.hub.files import RemoteFile
from app.hub.layout import OwnLayout
from app.hub.transfer import Transfer

async def main(url, root, commit, files):
    layout = OwnLayout(Path(root), "birds/Parrot-GGUF", commit, [RemoteFile(**each) for each in files])
    transfer = Transfer(client=HubClient(url), layout=layout, disk=Disk(kept_free_bytes=0), piece_bytes=65536,
                        save_interval_s=0.01)
    await transfer.run()

asyncio.run(main(*json.loads(sys.argv[1])))
"""


@pytest.mark.slow
async def test_kill_9_at_any_moment_costs_little_and_leaves_nothing_wrong(bench: Bench) -> None:
    """Thirty times, at random: what is in its place is whole, and the journal never claims what is not so."""
    layout = await bench.layout()
    file, part = layout.files[0], layout.part(layout.files[0])
    arguments = json.dumps([bench.hub.url, str(bench.root), layout.commit_sha, [file.as_json()]])
    bench.hub.faults.bytes_per_s = 4_000_000
    dice = random.Random(7)
    loop = asyncio.get_running_loop()
    for _ in range(30):
        sent = bench.hub.sent_bytes[NAME]
        enough = asyncio.Event()
        wanted = sent + dice.randrange(1, 2 * PIECE_BYTES)

        def look(_name: str, total: int, wanted: int = wanted, enough: asyncio.Event = enough) -> None:
            if total >= wanted:
                loop.call_soon_threadsafe(enough.set)

        bench.hub.on_sent = look
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, arguments)
        ended = asyncio.create_task(process.wait())
        await asyncio.wait({ended, waiting := asyncio.create_task(enough.wait())}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if process.returncode is None:
            process.kill()
        await ended
        if layout.is_placed(file):
            break
        there = json.loads(journal_of(part).read_bytes())["stretches"] if journal_of(part).exists() else []
        on_disk = part.read_bytes() if part.exists() else b""
        assert all(on_disk[start:end] == CONTENT[start:end] for start, end in there)
    bench.hub.faults.bytes_per_s = None
    await (await bench.transfer(layout)).run()
    assert layout.place(file).read_bytes() == CONTENT


class TestFullDisks:
    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        folder = tmp_path / "small"
        folder.mkdir()
        if shutil.which("mount") is None or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False
        ).returncode:
            pytest.skip("no right to mount a small disk")
        yield folder
        subprocess.run(["umount", folder], check=True)

    async def test_what_does_not_fit_is_refused_with_numbers_before_anything_is_fetched(self, bench: Bench) -> None:
        transfer = await bench.transfer(disk=Disk(free=lambda _folder: KEPT_FREE_BYTES + 1_000_000))
        with pytest.raises(NoRoom) as refused:
            await transfer.run()
        assert "1.3 MiB are still to come, 2.0 GiB of the disk stay free, and 2.0 GiB are free" in str(refused.value)
        assert "Free 0.3 MiB" in str(refused.value)
        assert not bench.hub.heard("files")

    async def test_one_that_fills_in_the_middle_stops_it_and_keeps_what_came(self, bench: Bench) -> None:
        free = iter([10**10, 10**10])
        transfer = await bench.transfer(disk=Disk(free=lambda _folder: next(free, 10**9)))
        bench.hub.faults.bytes_per_s = 5_000_000
        with pytest.raises(NoRoom, match="full"):
            await transfer.run()
        assert transfer.progress.done_bytes < len(CONTENT)
        bench.hub.faults.bytes_per_s = None
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT

    async def test_a_real_disk_that_is_too_small(self, bench: Bench, small_disk: Path) -> None:
        bench.root = small_disk / "models"
        with pytest.raises(NoRoom, match=r"1\.0 MiB are free"):
            await (await bench.transfer()).run()
        liar = Disk(kept_free_bytes=0, free=lambda _folder: 10**12)
        with pytest.raises(NoRoom, match="full"):
            await (await bench.transfer(disk=liar)).run()
        layout = await bench.layout()
        assert not layout.is_placed(layout.files[0])
        await asyncio.to_thread(lambda: subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True))
        await (await bench.transfer()).run()
        assert (await bench.place()).read_bytes() == CONTENT


async def test_an_empty_file_and_names_in_any_script_come_too(hub: Hub, tmp_path: Path) -> None:
    names = {"張庭/庭綱-Q8_0.gguf": b"GGUF" * 999, "empty.txt": b"", "a: b?.json": b"{}", "CON.json": b"[]"}
    hub.add("me/Ünï".replace("Ünï", "Uni"), names)
    client = HubClient(hub.url)
    page = await client.page("me/Uni")
    layout = OwnLayout(tmp_path / "張 庭 綱" / "Ünï🙂", "me/Uni", page.commit_sha, page.files)
    await Transfer(client=client, layout=layout, disk=NO_LIMIT).run()
    for file in page.files:
        assert layout.place(file).read_bytes() == names[file.name]
        assert not set(layout.place(file).name) & set('<>:"|?*')
    assert layout.place(next(file for file in page.files if file.name == "CON.json")).name != "CON.json"
    await client.close()


async def test_a_limit_holds_for_all_together() -> None:
    now_s, slept = 100.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now_s
        slept.append(seconds)
        now_s += seconds

    pace = Pace(1000, clock=lambda: now_s, sleep=sleep)
    for _ in range(40):
        await pace.take(100)
    assert now_s - 100 == pytest.approx(4.0, abs=0.26)
    pace.bytes_per_s = None
    before = len(slept)
    await pace.take(10**9)
    assert len(slept) == before


def test_coverage_knows_what_is_missing() -> None:
    coverage = Coverage()
    for start, end in ((10, 20), (30, 40), (20, 25), (24, 30), (50, 50)):
        coverage.add(start, end)
    assert coverage.stretches() == ((10, 40),)
    assert list(coverage.gaps(100, 25)) == [(0, 10), (40, 65), (65, 90), (90, 100)]
    coverage.add(0, 10)
    coverage.add(40, 100)
    assert coverage.num_bytes == 100
    assert list(coverage.gaps(100, 25)) == []


def test_coverage_is_right_for_any_order() -> None:
    dice = random.Random(3)
    for _ in range(200):
        coverage, truth = Coverage(), set()
        for _ in range(30):
            start = dice.randrange(60)
            end = start + dice.randrange(8)
            coverage.add(start, end)
            truth |= set(range(start, end))
        assert {at for start, end in coverage.stretches() for at in range(start, end)} == truth
        assert coverage.num_bytes == len(truth)
        assert {at for start, end in coverage.gaps(70, 5) for at in range(start, end)} == set(range(70)) - truth


def test_no_hash_means_no_file() -> None:
    assert RemoteFile(name="a", size_bytes=1, sha256=sha256(b"a")).etag == sha256(b"a")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes among files")
async def test_pipes_among_its_parts_keep_no_download_and_no_look_at_one(bench: Bench) -> None:
    layout = await bench.layout()
    part = layout.part(layout.files[0])
    part.parent.mkdir(parents=True)
    journal = journal_of(part)
    for path in (part, journal, journal.with_name(f"{journal.name}.new")):
        os.mkfifo(path)
    assert await asyncio.wait_for(asyncio.to_thread(bytes_here, layout), PATIENCE_S) == 0
    async with asyncio.timeout(PATIENCE_S):
        await (await bench.transfer(layout)).run()
    assert layout.place(layout.files[0]).read_bytes() == CONTENT


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes among files")
def test_a_pipe_in_place_of_a_part_is_no_part(tmp_path: Path) -> None:
    part, file = tmp_path / "a.part", RemoteFile(name="a", size_bytes=10, git_oid="0" * 40)
    Journal(part, file).save()
    os.mkfifo(part)
    assert bytes_there(part, file) == 0
    Journal.open(part, file)
    assert not part.exists()


@pytest.mark.parametrize("stretches", ["[[0, Infinity]]", "[[0]]", "null", "[[0, 1000000]]", "[" * 100_000])
def test_a_journal_that_somebody_edited_counts_as_none(tmp_path: Path, stretches: str) -> None:
    part = tmp_path / "a.part"
    file = RemoteFile(name="a", size_bytes=10, git_oid="0" * 40)
    part.write_bytes(bytes(10))
    Journal(part, file, Coverage(((0, 10),))).save()
    assert bytes_there(part, file) == 10
    path = journal_of(part)
    path.write_text(path.read_text().replace("[[0, 10]]", stretches))
    assert bytes_there(part, file) == 0
    assert Journal.open(part, file).coverage.num_bytes == 0
