"""`inglenook models search, files, pull, …`: alone on the data folder, and beside a server that then does the work."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from app.download_progress import line_of
from app.download_target import parse_target
from app.instance import Instance, Note
from app.progress_line import in_time
from tests.app.command_line import Inglenook
from tests.app.house import PATIENCE_S, House, Person
from tests.app.hub import TOKEN, Faults, Hub
from tests.app.shop import REPO, tiny_model

NAME = "parrot-Q4_K_M.gguf"


@pytest.fixture
def birds(hub: Hub, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    for name in [name for name in os.environ if name.startswith("HF_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    hub.add(
        REPO, {NAME: tiny_model(), "parrot-Q8_0.gguf": tiny_model(1)}, tags=["gguf", "license:mit"], downloads=1234,
        gguf={"total": 135_000_000},
    )
    return hub


class TestAlone:
    def test_search_shows_what_to_choose_by(self, inglenook: Inglenook, birds: Hub) -> None:
        done = inglenook("models", "search", "parrot", "--licence", "mit")
        assert done.exit_code == 0
        assert re.search(rf"^{REPO} +135 M +mit +1,234 +0 +2026-05-01$", done.out, re.MULTILINE)
        assert inglenook("models", "search", "dodo").err == "Nothing was found. Try a shorter text, or --format any.\n"
        assert inglenook("models", "search", "x", "--sort", "size").exit_code == 2

    def test_files_shows_quantisations_and_what_fits(self, inglenook: Inglenook, birds: Hub) -> None:
        done = inglenook("models", "files", REPO)
        assert done.exit_code == 0
        assert re.search(r"^Q4_K_M +0\.\d MiB +1 +fits +8 +4,096 +about \d+$", done.out, re.MULTILINE)
        assert done.err.startswith("For one person at a time. Estimated from the weights read for each token")

    def test_pull_says_whether_it_fits_and_ends_with_the_model(
        self, inglenook: Inglenook, birds: Hub, data_dir: Path
    ) -> None:
        done = inglenook("models", "pull", REPO)
        assert (done.exit_code, done.out) == (0, f"{REPO}:Q4_K_M is there, as parrot-q4_k_m.\n")
        assert f"{REPO}:Q4_K_M, 0.4 MiB, commit {birds.repos[REPO].commit[:12]}.\n" in done.err
        assert "It fits: 8 people at once with 4,096 tokens of context each" in done.err
        assert re.search(r"^About \d+ tok/s\. Estimated from", done.err, re.MULTILINE)
        (file,) = (data_dir / "models").rglob("*.gguf")
        assert file.read_bytes() == tiny_model()
        assert "parrot-q4_k_m" in inglenook("models", "list").out
        again = inglenook("models", "pull", f"{REPO}/{NAME}")
        assert (again.exit_code, again.out) == (0, done.out)
        listed = inglenook("models", "downloads")
        assert re.search(rf"^\w{{8}}  {REPO}:Q4_K_M +on disk +100% +0\.4 MiB$", listed.out, re.MULTILINE)

    def test_what_cannot_be_done_is_one_line_and_exit_code_1(
        self, inglenook: Inglenook, birds: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for arguments, words in (
            (("pull", f"{REPO}:Q2_K"), "has no 'Q2_K'. It has: "),
            (("pull", "birds/Dodo"), "does not exist, is private"),
            (("pause", "nothing"), "No download is 'nothing'"), (("cancel", ""), "No download is ''"),
        ):
            done = inglenook("models", *arguments)
            assert (done.exit_code, done.err.count("\n")) == (1, 1), done.err
            assert words in done.err
        assert inglenook("models", "pull", "nonsense").exit_code == 2
        birds.faults.wants_token = True
        gated = inglenook("models", "pull", REPO)
        assert gated.exit_code == 1
        assert "Accept their terms" in gated.err
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert "switched off" in inglenook("models", "pull", REPO).err

    def test_a_token_opens_what_is_gated_and_is_not_shown(
        self, inglenook: Inglenook, birds: Hub, data_dir: Path
    ) -> None:
        birds.faults.wants_token = True
        kept = inglenook("models", "token", "--stdin", stdin=f"{TOKEN}\n")
        assert (kept.exit_code, kept.out) == (0, "The token is kept.\n")
        assert inglenook("models", "pull", REPO).exit_code == 0
        for file in data_dir.rglob("*"):
            assert not file.is_file() or TOKEN.encode() not in file.read_bytes()
        assert inglenook("models", "token", "--forget").out == "The token is forgotten.\n"

    def test_a_model_that_is_too_big_is_refused_before_its_download(
        self, inglenook: Inglenook, birds: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INGLENOOK_CONTEXT_TOKENS", "4096")
        monkeypatch.setenv("INGLENOOK_MAX_NUM_SEQS", "256")
        monkeypatch.setenv("INGLENOOK_CACHE_BYTES", str(10**15))
        refused = inglenook("models", "pull", REPO)
        assert refused.exit_code == 1
        assert "To download it all the same, add --anyway." in refused.err
        assert inglenook("models", "downloads").out.count("\n") == 1
        assert inglenook("models", "pull", REPO, "--anyway").exit_code == 0

    @pytest.mark.slow
    def test_ctrl_c_pauses_and_pulling_again_fetches_the_rest(
        self, inglenook: Inglenook, birds: Hub, data_dir: Path
    ) -> None:
        process = started("models", "pull", REPO)
        enough = len(tiny_model()) * 3 // 2         # once for the header, as the whole file is so small

        def interrupt() -> None:
            """Once some of what was sent is on the disk."""
            while not any(part.stat().st_size for part in (data_dir / "models").rglob("*.part")):
                threading.Event().wait(0.01)
            process.send_signal(signal.SIGINT)

        birds.hold(NAME, enough, then=interrupt)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert f"It pauses. Go on with: inglenook models pull {REPO}:Q4_K_M\n" in err
        birds.release()
        assert re.search(r"paused +[1-9]\d%", inglenook("models", "downloads").out)
        birds.sent_bytes.clear()
        assert inglenook("models", "resume", REPO).exit_code == 0
        assert 0 < birds.sent_bytes[NAME] < len(tiny_model())

    def test_giving_up_removes_what_came(self, inglenook: Inglenook, birds: Hub, data_dir: Path) -> None:
        birds.faults.flips_byte_at = 1000
        assert inglenook("models", "pull", REPO).exit_code == 1
        done = inglenook("models", "cancel", REPO)
        assert (done.exit_code, done.out) == (0, f"{REPO}:Q4_K_M is given up.\n")
        assert list((data_dir / "models").iterdir()) == []


class TestBesideAServer:
    @pytest.fixture
    def beside(self, house: House, house_hub: Hub, admin: Person, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
        """As if the house had been started with `inglenook serve`."""
        data_dir = house.services.settings.data_dir
        monkeypatch.setenv("INGLENOOK_DATA_DIR", str(data_dir))
        house_hub.add("cli/Parrot", {"cli-parrot-Q8_0.gguf": tiny_model(40)})
        with Instance.claim(data_dir) as instance:
            instance.publish(Note(os.getpid(), house.url))
            yield house_hub
        house_hub.release()
        house_hub.faults = Faults()

    def test_the_server_does_the_work_and_shows_it_too(
        self, inglenook: Inglenook, beside: Hub, house: House
    ) -> None:
        before = len(house.do(house.services.accounts.list_users()))
        done = inglenook("models", "pull", "cli/Parrot")
        assert (done.exit_code, done.out) == (0, "cli/Parrot:Q8_0 is there, as cli-parrot-q8_0.\n")
        (status,) = [each for each in house.services.downloads.list() if each.repo == "cli/Parrot"]
        assert status.model_id == "cli-parrot-q8_0"
        assert "cli/Parrot:Q8_0" in inglenook("models", "downloads").out
        assert inglenook("models", "cancel", status.id[:8]).exit_code == 0
        assert len(house.do(house.services.accounts.list_users())) == before

    def test_it_is_paused_and_given_up_there(self, inglenook: Inglenook, beside: Hub, house: House) -> None:
        beside.hold("slow-Q8_0.gguf")
        beside.add("cli/Slow", {"slow-Q8_0.gguf": tiny_model(41)})
        asked = house.do(house.services.downloads.request("cli/Slow"))
        paused = inglenook("models", "pause", "cli/Slow:Q8_0")
        assert paused.exit_code == 0
        assert paused.out.startswith("cli/Slow:Q8_0 pauses at ")
        assert house.services.downloads.get(asked.id).state.value == "paused"
        assert inglenook("models", "cancel", "cli/Slow").exit_code == 0
        assert not any(each.repo == "cli/Slow" for each in house.services.downloads.list())

    def test_its_refusals_are_told_in_its_own_words(self, inglenook: Inglenook, beside: Hub) -> None:
        done = inglenook("models", "pull", "cli/Dodo")
        assert done.exit_code == 1
        assert "does not exist, is private" in done.err


@pytest.mark.slow
def test_a_server_that_was_killed_goes_on_at_its_next_start(inglenook: Inglenook, birds: Hub, data_dir: Path) -> None:
    assert inglenook("users", "add", "Anna", "--admin", "--password-stdin", stdin="correct horse").exit_code == 0
    server = started("serve", "--port", "0", "--no-browser")
    wait_until_ready(server)
    enough = len(tiny_model()) * 3 // 2             # once for the header, as the whole file is so small
    birds.hold(NAME, enough, then=server.kill)
    pulled = inglenook("models", "pull", REPO)
    assert pulled.exit_code == 1
    assert "does not answer" in pulled.err
    server.communicate(timeout=PATIENCE_S)
    assert not list((data_dir / "models").rglob("*.gguf"))
    birds.release()
    again = started("serve", "--port", "0", "--no-browser")
    try:
        wait_until_ready(again)
        done = inglenook("models", "pull", REPO)
    finally:
        again.terminate()
        again.communicate(timeout=PATIENCE_S)
    assert (done.exit_code, done.out) == (0, f"{REPO}:Q4_K_M is there, as parrot-q4_k_m.\n")
    (file,) = (data_dir / "models").rglob("*.gguf")
    assert file.read_bytes() == tiny_model()


def started(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([".", "installers/launcher"])}
    command = [sys.executable, "-u", "-m", "inglenook", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_ready(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    assert any("http://127.0.0.1:" in line for line in server.stdout)


@pytest.mark.parametrize(
    ("text", "repo", "wanted"),
    [
        ("a/b", "a/b", ""), ("a/b:Q8_0", "a/b", "Q8_0"), ("a/b/x.gguf", "a/b", "x.gguf"),
        ("hf.co/a/b:Q8_0", "a/b", "Q8_0"),
        ("a/b/Q8_0/x-00001-of-00002.gguf", "a/b", "Q8_0/x-00001-of-00002.gguf"),
        ("https://huggingface.co/a/b", "a/b", ""), ("https://hf.co/a/b/blob/main/x%20y.gguf", "a/b", "x y.gguf"),
        ("https://huggingface.co/a/b/resolve/main/d/x.gguf?download=true", "a/b", "d/x.gguf"),
        ("https://huggingface.co/a/b/tree/main", "a/b", ""),
    ],
)
def test_a_model_is_written_as_people_write_it(text: str, repo: str, wanted: str) -> None:
    assert parse_target(text) == (repo, wanted)


@pytest.mark.parametrize("text", ["", "a", "a/", "/b", "a/b:c/d", "https://evil.example/a/b"])
def test_what_is_no_model_is_wrong_usage(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_target(text)


def test_the_line_shows_bar_rate_and_time_left() -> None:
    status = {
        "state": "downloading", "fraction": 0.45, "done_bytes": 1_200_000_000, "total_bytes": 2_600_000_000,
        "bytes_per_s": 12_340_000, "remaining_s": 80.0, "reason": "",
    }
    bar = "[###########-------------]"
    assert line_of(status) == f"{bar}  45%  1.1 GiB of 2.4 GiB  downloading  12 MiB/s  1 min 20 s left"
    assert [in_time(seconds) for seconds in (0.4, 59, 61, 3700)] == ["0 s", "59 s", "1 min 1 s", "1 h 1 min"]
