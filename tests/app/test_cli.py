"""The command line, as a person or a script uses it: in this process, but for what runs until it is stopped."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import cli, doctor
from app.instance import Instance
from app.settings import Settings
from tests.app.command_line import Inglenook
from tests.app.elsewhere import chatgpt_conversation, write_json, zipped
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_lora import random_factors, write_tiny_adapter

PASSWORD = "correct horse battery"
PATIENCE_S = 180            # a measurement of the starter model beside another run


@pytest.fixture
def anna(inglenook: Inglenook) -> str:
    assert inglenook("users", "add", "Anna", "--admin", "--password-stdin", stdin=PASSWORD).exit_code == 0
    return "Anna"


class TestChats:
    def test_they_go_out_into_a_file_and_come_in_again_once(
        self, inglenook: Inglenook, anna: str, tmp_path: Path
    ) -> None:
        source = write_json(tmp_path / "elsewhere.json", [chatgpt_conversation("c1"), chatgpt_conversation("c2"), 5])
        done = inglenook("import", str(source), "--user", anna)
        assert (done.exit_code, done.out) == (0, "2 added, 0 updated, 0 known, 1 skipped.\n")
        assert done.err == "skipped: entry 3: without a title: This is no conversation.\n"
        for form, name in (("json", "all.json"), ("markdown", "all.zip")):
            assert inglenook("export", "--user", anna, "--to", str(tmp_path / name), "--format", form).exit_code == 0
        again = inglenook("import", str(tmp_path / "all.json"), "--user", anna)
        assert again.out == "0 added, 0 updated, 2 known, 0 skipped.\n"
        assert inglenook("users", "add", "Ben", "--password-stdin", stdin=PASSWORD).exit_code == 0
        assert inglenook("import", str(tmp_path / "all.json"), "--user", "Ben").out.startswith("2 added")

    def test_an_export_whose_last_bytes_find_no_room_leaves_no_half_file(
        self, inglenook: Inglenook, anna: str, tmp_path: Path, full_after: Callable[[int], None]
    ) -> None:
        message: dict[str, Any] = {"id": "m", "parentId": None, "childrenIds": [], "role": "user"}
        message["content"] = '"' * 2**21
        chat = {"title": "Long", "history": {"currentId": "m", "messages": {"m": message}}}
        source = write_json(tmp_path / "long.json", [{"id": "long", "title": "Long", "chat": chat}])
        assert inglenook("import", str(source), "--user", anna).exit_code == 0
        assert inglenook("export", "--user", anna, "--to", str(tmp_path / "whole.json")).exit_code == 0
        full_after((tmp_path / "whole.json").stat().st_size - 100)
        half = inglenook("export", "--user", anna, "--to", str(tmp_path / "half.json"))
        assert half.exit_code == 1 and half.err.startswith("inglenook: ")
        assert not (tmp_path / "half.json").exists()

    def test_what_a_strange_file_calls_its_chats_does_not_steer_the_terminal(
        self, inglenook: Inglenook, anna: str, tmp_path: Path
    ) -> None:
        title = "\x1b]0;taken\x07 over\r\u202etxt"
        chats = json.dumps([{"title": title, "mapping": 5}])
        source = tmp_path / "all.zip"
        source.write_bytes(zipped({"conversations\x1b[2J.json": chats, "conversations\x9b2J.json": "no"}))
        done = inglenook("import", str(source), "--user", anna)
        missing = inglenook("import", str(tmp_path / "no\x1b[2J"), "--user", anna)
        odd = inglenook("models", "show", "a\x1b[2Jb\nc")
        assert done.err.count("skipped: ") == 2 and "]0;taken over txt" in done.err
        assert r"a\x1b[2Jb\nc" in odd.err
        told = done.out + done.err + missing.out + missing.err + odd.err
        assert not set(told) & set("\x1b\x07\x9b\r\u202e")

    def test_what_cannot_be_done_is_told(self, inglenook: Inglenook, anna: str, tmp_path: Path) -> None:
        taken = write_json(tmp_path / "taken.json", "not chats")
        outcomes = [
            inglenook("export", "--user", anna, "--to", str(taken)),
            inglenook("export", "--user", "Nobody", "--to", str(tmp_path / "new.json")),
            inglenook("import", str(taken), "--user", anna),
            inglenook("import", str(tmp_path / "missing.json"), "--user", anna),
        ]
        assert [each.exit_code for each in outcomes] == [1, 1, 1, 1]
        for each, word in zip(outcomes, ("there already", "no user", "no JSON list", "No such file"), strict=True):
            assert word in each.err
        assert {each.out for each in outcomes} == {""}
        assert not (tmp_path / "new.json").exists()

    def test_a_file_of_which_nothing_could_be_read_is_a_failure(
        self, inglenook: Inglenook, anna: str, tmp_path: Path
    ) -> None:
        done = inglenook("import", str(write_json(tmp_path / "odd.json", [5, "six"])), "--user", anna)
        assert (done.exit_code, done.out) == (1, "0 added, 0 updated, 0 known, 2 skipped.\n")


class TestHelp:
    @pytest.mark.parametrize(
        "command",
        [
            "", "serve", "doctor", "users", "keys", "models", "users add", "users list", "users set-password",
            "users role", "users disable", "users enable", "users delete", "keys create", "keys list", "keys revoke",
            "models list", "models add",
            "models optimize", "models found", "models show", "models set", "models budget", "models update",
            "models rollback",
            "models optimize", "models search", "models files", "models pull", "models downloads", "models pause",
            "models resume", "models cancel", "models token", "connections", "connections add", "connections list",
            "connections test", "connections remove", "connections on", "connections off",
        ],
    )
    def test_every_command_explains_itself(self, inglenook: Inglenook, command: str) -> None:
        outcome = inglenook(*command.split(), "--help")
        assert outcome.exit_code == 0
        assert outcome.out.startswith("Usage: inglenook")

    def test_help_loads_neither_the_web_framework_nor_the_database_nor_words(self) -> None:
        code = (
            "import sys; from app import cli\n"
            "try: sys.argv = ['inglenook', '--help']; cli.main()\n"
            "except SystemExit: pass\n"
            "print(sorted({'fastapi', 'fluent', 'nicegui', 'sqlmodel', 'pydantic'} & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("[]\n")

    def test_version_is_the_packages(self, inglenook: Inglenook) -> None:
        assert re.fullmatch(r"inglenook \d+\.\d+\.\d+\n", inglenook("--version").out)

    def test_an_unknown_command_is_wrong_usage(self, inglenook: Inglenook) -> None:
        outcome = inglenook("dance")
        assert (outcome.exit_code, outcome.out) == (2, "")
        assert "No such command 'dance'" in outcome.err


class TestOutput:
    """Where it goes may be too narrow for it, or full."""

    def test_a_terminal_without_unicode_shows_what_it_can(
        self, inglenook: Inglenook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert inglenook("users", "add", "Zoë", "--password-stdin", stdin=PASSWORD).exit_code == 0
        narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", narrow)
        assert inglenook("users", "list").exit_code == 0
        narrow.seek(0)
        assert "Zo\\xeb" in narrow.read()

    def test_a_full_disk_is_one_line(self, inglenook: Inglenook, monkeypatch: pytest.MonkeyPatch) -> None:
        class Full(io.StringIO):
            def write(self, text: str) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(sys, "stdout", Full())
        outcome = inglenook("users", "list")
        assert (outcome.exit_code, outcome.err) == (1, "inglenook: No space left on device.\n")


class TestUsers:
    def test_the_first_admin_needs_no_browser(self, inglenook: Inglenook, anna: str) -> None:
        assert re.search(r"^Anna +admin +active +[-\d]{10} +never$", inglenook("users", "list").out, re.MULTILINE)

    def test_a_line_end_is_no_part_of_a_password(self, inglenook: Inglenook) -> None:
        too_short_without_it = "1234567\n"
        outcome = inglenook("users", "add", "Ben", "--password-stdin", stdin=too_short_without_it)
        assert outcome.exit_code == 1
        assert "8 characters" in outcome.err

    def test_a_taken_name_is_one_line_that_says_what_to_do(self, inglenook: Inglenook, anna: str) -> None:
        outcome = inglenook("users", "add", "ANNA", "--password-stdin", stdin=PASSWORD)
        assert (outcome.exit_code, outcome.out) == (1, "")
        assert outcome.err == "inglenook: This name is taken. Choose another.\n"

    def test_without_a_terminal_the_password_is_asked_for_in_words(self, inglenook: Inglenook) -> None:
        outcome = inglenook("users", "add", "Ben")
        assert outcome.exit_code == 2
        assert "--password-stdin" in outcome.err

    @pytest.mark.parametrize("arguments", [[], ["--password-stdin"]])
    def test_a_closed_standard_input_gives_no_password(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["inglenook", "users", "add", "Ben", *arguments])
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert "standard input is closed" in capsys.readouterr().err

    def test_a_password_without_an_end_is_not_read_to_it(self, inglenook: Inglenook) -> None:
        class Endless(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                buffer[:] = b"y" * len(buffer)
                return len(buffer)

        outcome = inglenook("users", "add", "Ben", "--password-stdin", stdin=io.BufferedReader(Endless()))
        assert outcome.exit_code == 1
        assert "at most 1,024 characters" in outcome.err

    def test_a_password_that_is_no_text_is_refused(self, inglenook: Inglenook) -> None:
        outcome = inglenook("users", "add", "Ben", "--password-stdin", stdin=b"\xff" * 12)
        assert outcome.exit_code == 2
        assert "UTF-8" in outcome.err

    def test_disable_and_enable(self, inglenook: Inglenook, anna: str) -> None:
        inglenook("users", "add", "Ben", "--password-stdin", stdin=PASSWORD)
        assert inglenook("users", "disable", "ben").out == "Ben is disabled.\n"
        assert re.search(r"^Ben +user +disabled", inglenook("users", "list").out, re.MULTILINE)
        assert inglenook("users", "enable", "ben").exit_code == 0
        assert re.search(r"^Ben +user +active", inglenook("users", "list").out, re.MULTILINE)

    def test_the_only_admin_cannot_be_shut_out(self, inglenook: Inglenook, anna: str) -> None:
        assert inglenook("users", "disable", anna).err == "inglenook: This is the only admin. Make another one first.\n"

    def test_nobody_of_that_name(self, inglenook: Inglenook, anna: str) -> None:
        outcome = inglenook("users", "set-password", "Ben", "--password-stdin", stdin=PASSWORD)
        assert outcome.exit_code == 1
        assert outcome.err == "inglenook: There is no user called Ben. See `inglenook users list`.\n"


class TestKeys:
    def test_a_new_key_alone_is_on_standard_output(self, inglenook: Inglenook, anna: str) -> None:
        assert re.fullmatch(r"sk-\S+\n", inglenook("keys", "create", "--user", anna).out)

    def test_the_list_tells_keys_apart_and_shows_none(self, inglenook: Inglenook, anna: str) -> None:
        key = inglenook("keys", "create", "--user", "anna", "--name", "laptop").out.strip()
        listed = inglenook("keys", "list").out
        assert "laptop" in listed
        assert key not in listed
        assert key[-3:] in listed

    def test_revoked_by_the_beginning_of_its_id(self, inglenook: Inglenook, anna: str) -> None:
        inglenook("keys", "create", "--user", anna)
        key_id = inglenook("keys", "list").out.splitlines()[1].split()[0]
        assert inglenook("keys", "revoke", key_id).exit_code == 0
        assert len(inglenook("keys", "list").out.splitlines()) == 1
        assert inglenook("keys", "revoke", key_id).err.startswith("inglenook: No key begins with")


class TestModels:
    def test_a_file_becomes_a_model_and_stays_where_it_is(self, inglenook: Inglenook, tmp_path: Path) -> None:
        file = tmp_path / "Tiny.gguf"
        write_tiny_gguf(file)
        assert "tiny" in inglenook("models", "add", str(file)).out
        assert str(file) in inglenook("models", "list").out
        assert file.exists()

    def test_an_adapter_over_it_is_another_model(self, inglenook: Inglenook, tmp_path: Path) -> None:
        base = write_tiny_gguf(tmp_path / "Tiny.gguf")
        style = write_tiny_adapter(tmp_path / "a=1.gguf", random_factors())
        assert inglenook("models", "add", str(base)).exit_code == 0
        adapters = ("--lora", f"{style}=0.5", "--lora", str(style))
        outcome = inglenook("models", "add", str(base), *adapters, "--name", "Bard")
        assert outcome.out == "Bard is there, as bard.\n", outcome.err
        listed = {line[2:].split()[0]: line for line in inglenook("models", "list").out.splitlines()}
        assert listed["tiny"].endswith(str(base))
        assert listed["bard"].endswith(f"{base} + {style}=0.5 + {style}=1")

    @pytest.mark.parametrize("adapter, words", [
        ("gone.gguf", "There is no file"), ("x" * 5000, "File name too long"),
        ("style.gguf=nan", "Give a number of -100 to 100"),
        ("base.gguf=2", "base.gguf is no adapter"),
    ])
    def test_an_adapter_that_is_none_is_refused(
        self, inglenook: Inglenook, tmp_path: Path, adapter: str, words: str
    ) -> None:
        base = write_tiny_gguf(tmp_path / "base.gguf")
        write_tiny_adapter(tmp_path / "style.gguf", random_factors())
        outcome = inglenook("models", "add", str(base), "--lora", str(tmp_path / adapter))
        assert (outcome.exit_code, len(outcome.err.splitlines())) == (1, 1)
        assert words in outcome.err
        assert "base" not in inglenook("models", "list").out

    def test_what_is_no_model_is_refused(self, inglenook: Inglenook, tmp_path: Path) -> None:
        file = tmp_path / "holiday.gguf"
        file.write_bytes(b"GIF89a")
        outcome = inglenook("models", "add", str(file))
        assert outcome.exit_code == 1
        assert outcome.err.startswith("inglenook: ")
        assert len(outcome.err.splitlines()) == 1


@pytest.fixture
def tiny(inglenook: Inglenook, tmp_path: Path) -> Path:
    """Known as the model `tiny`."""
    file = write_tiny_gguf(tmp_path / "Tiny.gguf")
    assert inglenook("models", "add", str(file)).exit_code == 0
    return file


class TestOptimize:
    def test_an_unknown_format_is_wrong_usage(self, inglenook: Inglenook) -> None:
        outcome = inglenook("models", "optimize", "tiny", "--to", "Q9_9")
        assert outcome.exit_code == 2
        assert "there is no format 'Q9_9' to copy to. Those that there are: Q4_0, " in " ".join(outcome.err.split())

    def test_an_unknown_model_is_told_which_there_are(self, inglenook: Inglenook, tiny: Path) -> None:
        outcome = inglenook("models", "optimize", "dodo")
        assert outcome.exit_code == 1
        assert outcome.err.startswith("inglenook: The model 'dodo' does not exist here. Models that do: tiny")

    @pytest.mark.slow
    def test_a_format_that_was_named_is_measured_and_kept(
        self, inglenook: Inglenook, tiny: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INGLENOOK_THREADS", "1")
        outcome = inglenook("models", "optimize", "tiny", "--to", "q8_0")
        assert outcome.exit_code == 0, outcome.err
        assert outcome.err == "Making a copy in Q8_0 …\nMeasuring Q8_0 beside F32 …\n"
        titles, original, copy, *_ = outcome.out.splitlines()
        assert titles.split()[:2] == ["FORMAT", "SIZE"]
        assert re.match(r"F32 \(original\) +\d\.\d MiB +[\d,]+ +[\d,]+ +[\d,]+ +- +- +-$", original)
        speed = r"[\d,]+ \(\d+\.\d\d x\)"
        assert re.match(rf"Q8_0 +\d\.\d MiB +{speed} +{speed} +{speed} +0\.\d{{3}} +\d\.\d\d +\d+$", copy)
        assert "over 2048 tokens" in outcome.out
        assert re.search(r"^(Advice: Q8_0\. \d|Advice: keep F32\.\nNot Q8_0: \d)", outcome.out, re.MULTILINE)
        assert "The original is F32, and whole: a copy is quantised once" in outcome.out
        assert "Kept as tiny-q8_0, beside the original." in outcome.out
        listed = inglenook("models", "list").out
        file = re.escape(str(data_dir / "models" / "tiny-q8_0.gguf"))
        assert re.search(rf"^  tiny-q8_0 +Q8_0 .*{file}$", listed, re.M)
        assert re.search(r"^\* tiny ", listed, re.M), "the original is still the default"
        again = inglenook("models", "optimize", "tiny", "--to", "Q8_0", "--dry-run")
        assert again.err == "Measuring tiny-q8_0.gguf, which is there already …\n"
        twice = inglenook("models", "optimize", "tiny-q8_0", "--to", "Q8_0")
        assert (twice.exit_code, twice.out) == (1, "")
        assert twice.err == "inglenook: Tiny 0, Q8_0 made from F32 is in Q8_0 already. Choose another format.\n"

    @pytest.mark.slow
    def test_killed_in_the_middle_it_leaves_no_model_and_the_next_run_tidies_up(
        self, inglenook: Inglenook, tiny: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INGLENOOK_THREADS", "1")
        command = [sys.executable, "-u", "-m", "inglenook", "models", "optimize", "tiny"]
        with subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as first:
            assert first.stderr is not None
            assert any(line.startswith("Measuring Q4_0") for line in first.stderr)
            first.kill()
        drafts = data_dir / "models" / "drafts"
        assert (drafts / "tiny-q4_0.gguf.part").exists()
        assert list((data_dir / "models").glob("*.gguf")) == []
        assert len(inglenook("models", "list").out.splitlines()) == 3, "titles, tiny, the starter"
        outcome = inglenook("models", "optimize", "tiny", "--to", "Q8_0", "--dry-run")
        assert outcome.exit_code == 0, outcome.err
        assert outcome.out.endswith("No copy was kept.\n")
        assert [path.name for path in drafts.iterdir()] == ["inglenook.lock"]
        assert list((data_dir / "models").glob("*.gguf")) == []


class TestSettings:
    def test_a_value_out_of_range_names_the_setting(
        self, inglenook: Inglenook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INGLENOOK_PORT", "99999")
        outcome = inglenook("users", "list")
        assert outcome.exit_code == 2
        assert "INGLENOOK_PORT" in outcome.err

    def test_an_unknown_type_of_kv_names_those_there_are(self, inglenook: Inglenook, data_dir: Path) -> None:
        outcome = inglenook("serve", "--kv-type", "q4_0", "--no-browser")
        assert outcome.exit_code == 2
        assert f"The setting kv_type (flag, INGLENOOK_KV_TYPE or {data_dir / 'inglenook.toml'})" in outcome.err
        assert "'f16' or 'q8_0'" in outcome.err

    def test_a_setting_that_does_not_exist(self, inglenook: Inglenook, data_dir: Path) -> None:
        data_dir.mkdir()
        (data_dir / "inglenook.toml").write_text("prot = 8421\n")
        outcome = inglenook("users", "list")
        assert outcome.exit_code == 2
        assert "prot" in outcome.err
        assert "there is no such setting" in outcome.err

    def test_a_list_that_is_no_json_is_shown_how(
        self, inglenook: Inglenook, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INGLENOOK_ALLOWED_HOSTS", "chat.lan")
        outcome = inglenook("doctor")
        assert outcome.exit_code == 2
        assert "INGLENOOK_ALLOWED_HOSTS='[\"chat.lan\"]'" in outcome.err

    def test_a_file_that_is_no_toml(self, inglenook: Inglenook, data_dir: Path) -> None:
        data_dir.mkdir()
        (data_dir / "inglenook.toml").write_text("port =\n")
        outcome = inglenook("users", "list")
        assert (outcome.exit_code, outcome.err.count("\n")) == (2, 1)
        assert f"{data_dir / 'inglenook.toml'} is not valid TOML" in outcome.err and "line 1" in outcome.err
        assert "Correct it, or start without this file." in outcome.err

    def test_who_started_it_by_a_double_click_reads_it_in_the_browser(
        self, inglenook: Inglenook, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data_dir.mkdir()
        (data_dir / "inglenook.toml").write_text("prot = '<b>'\n")
        shown: list[str] = []

        def browse(address: str) -> bool:
            shown.append(httpx.get(address).text)
            return True

        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.setattr("webbrowser.open", browse)
        outcome = inglenook()
        assert outcome.exit_code == 2 and "The setting prot " in outcome.err
        assert len(shown) == 1 and "The setting prot " in shown[0] and str(data_dir / "inglenook.toml") in shown[0]
        assert "there is no such setting. Correct it, or leave it out." in shown[0]
        inglenook("users", "list")          # in a terminal, or for a script
        assert len(shown) == 1

    def test_a_file_that_is_no_text(self, inglenook: Inglenook, data_dir: Path) -> None:
        data_dir.mkdir()
        (data_dir / "inglenook.toml").write_bytes(b"\xff\xfe")
        outcome = inglenook("users", "list")
        assert (outcome.exit_code, outcome.err.count("\n")) == (2, 1)
        assert "not UTF-8" in outcome.err

    def test_an_empty_variable_is_as_if_not_set(self, inglenook: Inglenook, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("PORT", "HOST", "THREADS", "ALLOWED_HOSTS"):
            monkeypatch.setenv(f"INGLENOOK_{name}", "")
        assert inglenook("users", "list").exit_code == 0

    def test_the_environments_folder_may_begin_at_home(
        self, inglenook: Inglenook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("INGLENOOK_DATA_DIR", "~/mine")
        assert inglenook("users", "list").exit_code == 0
        assert (tmp_path / "mine" / "inglenook.sqlite3").exists()

    def test_a_flag_wins_over_the_environment(self, inglenook: Inglenook, tmp_path: Path, anna: str) -> None:
        elsewhere = tmp_path / "elsewhere"
        assert "Anna" not in inglenook("users", "list", "--data-dir", str(elsewhere)).out
        assert (elsewhere / "inglenook.sqlite3").exists()


class TestDoctor:
    @pytest.mark.slow
    def test_names_what_it_finds_and_ends_well(self, inglenook: Inglenook, data_dir: Path) -> None:
        outcome = inglenook("doctor")
        assert outcome.exit_code == 0, outcome.out
        for expected in ("processor", "memory", "llama.cpp", "GGUF", str(data_dir)):
            assert expected in outcome.out
        assert not data_dir.exists(), "it only looks"

    @pytest.mark.slow
    def test_a_foreign_database_is_grave(self, inglenook: Inglenook, data_dir: Path) -> None:
        data_dir.mkdir()
        (data_dir / "inglenook.sqlite3").write_bytes(b"not a database, whatever it is called" * 100)
        outcome = inglenook("doctor")
        assert outcome.exit_code == 1
        assert "MEND  This file is not a database" in outcome.out

    def test_a_server_that_runs_is_no_fault_and_asks_for_no_mending(self, data_dir: Path) -> None:
        settings, findings = Settings.load(data_dir=data_dir), doctor.Findings()
        with Instance.claim(data_dir):
            settings.database_path.touch()
            (told,) = doctor._server(settings, findings)
        assert told == f"Inglenook runs already on {data_dir} (process {os.getpid()})."
        assert findings.problems == []


@pytest.mark.slow
class TestServe:
    def test_a_port_that_is_taken_is_named_with_its_holder(self, inglenook: Inglenook) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as holder:
            port = holder.getsockname()[1]
            outcome = inglenook("serve", "--port", str(port))
        assert outcome.exit_code == 1
        assert f"Port {port} is in use by" in outcome.err
        assert str(os.getpid()) in outcome.err

    def test_a_second_server_on_the_same_data_is_refused_and_a_bare_start_finds_the_first(
        self, inglenook: Inglenook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        with subprocess.Popen(
            [sys.executable, "-u", "-m", "inglenook", "serve", "--port", "0"], text=True, stdout=subprocess.PIPE
        ) as first:
            try:
                url = _first_url(first)
                second = inglenook("serve", "--port", "0")
                bare = inglenook()
                answer = httpx.get(f"{url}/healthz", timeout=PATIENCE_S)
            finally:
                first.send_signal(signal.SIGTERM)
            assert first.wait(PATIENCE_S) == 0
        assert second.exit_code == 1
        assert f"process {first.pid}, {url}" in second.err
        assert (bare.exit_code, bare.out) == (0, f"Inglenook is running already: {url}\n")
        assert answer.status_code == 200

    def test_a_killed_server_leaves_nothing_in_the_way(self, inglenook: Inglenook, data_dir: Path) -> None:
        command = [sys.executable, "-u", "-m", "inglenook", "serve", "--port", "0"]
        for how in (signal.SIGKILL, signal.SIGTERM):
            with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
                assert _first_url(server)
                server.send_signal(how)


def _first_url(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found.group()
    raise AssertionError("the server ended while starting")
