"""The commands about one model, and about those of other apps: what they print, and what they refuse."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app.commands import with_services
from app.instance import Instance, Note
from app.services.container import Services
from app.services.setup import ChatSetup
from engine.backends.scripted_tokenizer import HERMES_TEMPLATE
from store import accounts, models
from store.database import Database
from store.tables import Conversation, UserRole
from tests.app.command_line import Inglenook
from tests.app.other_apps import put_in_lm_studio, put_in_ollama
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of nobody: other apps' folders of whoever runs the tests are not looked into."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGINGFACE", "XDG_", "OLLAMA"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    return tmp_path / "home"


@pytest.fixture
def tiny(inglenook: Inglenook, tmp_path: Path) -> Path:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    assert inglenook("models", "add", str(path)).exit_code == 0
    return path


class TestFound:
    def test_says_that_there_is_nothing(self, inglenook: Inglenook) -> None:
        outcome = inglenook("models", "found")
        assert (outcome.exit_code, outcome.out.startswith("No other app has models here.")) == (0, True)

    def test_lists_what_there_is_and_adds_it_by_its_name(
        self, inglenook: Inglenook, tmp_path: Path, home: Path
    ) -> None:
        put_in_ollama(tmp_path / "ollama")
        put_in_lm_studio(home / ".lmstudio", "p/m/x-00001-of-00002.gguf")
        lines = inglenook("models", "found").out.splitlines()
        assert [line.split("  ")[0] for line in lines] == ["NAME", "p/m/x-00001-of-00002.gguf", "tiny:latest"]
        assert lines[1].endswith("x-00002-of-00002.gguf is missing.")
        assert lines[2].endswith("can be added")
        assert inglenook("models", "add", "tiny:latest").out == "Tiny 0 is there, as tiny.\n"
        assert inglenook("models", "found").out.splitlines()[2].endswith("here, as tiny")
        refused = inglenook("models", "add", "x-00001-of-00002.gguf")
        assert (refused.exit_code, "cannot be used" in refused.err) == (1, True)
        assert "see `models found`" in inglenook("models", "add", "unicorn").err


class TestShow:
    def test_tells_everything(self, inglenook: Inglenook, tiny: Path) -> None:
        shown = inglenook("models", "show", "tiny").out
        facts = {line[2:12].strip(): line[12:] for line in shown.splitlines()[1:] if line[2:3] != " "}
        assert shown.startswith("Tiny 0 (tiny)\n")
        assert facts["Version"].startswith("tiny.gguf, ")
        assert facts["File"] == str(tiny)
        assert (facts["Format"], facts["Context"]) == ("gguf, F32, llama", "trained for 4,096 tokens")
        assert facts["Memory"].startswith("fits: 4,096 tokens for 8 at once, 16 MiB at most")
        assert (facts["Makes"], facts["Settings"]) == ("answers", "as for all models")
        assert facts["Template"] == "fit for chat"
        assert "            - It has no place for tools: the model cannot call any.\n" in shown

    def test_says_what_is_wrong_with_a_template(self, inglenook: Inglenook, tmp_path: Path) -> None:
        base = write_tiny_gguf(tmp_path / "base.gguf", chat_template=None)
        inglenook("models", "add", str(base))
        shown = inglenook("models", "show", "base").out
        assert "Template  not fit for chat\n" in shown
        assert "! It has no chat template: it is a base model, for completion only." in shown

    def test_says_that_the_file_is_gone(self, inglenook: Inglenook, tiny: Path) -> None:
        tiny.unlink()
        assert f"Problem   {tiny} is gone." in inglenook("models", "show", "tiny").out
        assert f"{tiny} is gone." in inglenook("models", "list").out

    def test_says_what_would_fit(self, inglenook: Inglenook, tiny: Path) -> None:
        assert inglenook("models", "budget", "0.0001").out == "0.0001 GiB for all models together.\n"
        assert inglenook("models", "budget").out == "0.0001 GiB for all models together.\n"
        assert "of the memory budget are left" in inglenook("models", "show", "tiny").out
        assert inglenook("models", "budget", "auto").out == "As much as the machine has.\n"
        assert inglenook("models", "budget").out == "As much as the machine has.\n"
        assert "Memory    fits" in inglenook("models", "show", "tiny").out
        for odd in ("-5", "nan", "1e999", "much"):
            assert inglenook("models", "budget", odd).exit_code == 2
        assert inglenook("models", "budget", "0").exit_code == 1

    def test_knows_no_dodo(self, inglenook: Inglenook) -> None:
        assert inglenook("models", "show", "dodo").exit_code == 1


class TestSet:
    def test_changes_what_is_said_and_auto_takes_it_back(
        self, inglenook: Inglenook, tiny: Path, tmp_path: Path
    ) -> None:
        template = tmp_path / "hermes.jinja"
        template.write_text(HERMES_TEMPLATE)
        outcome = inglenook(
            "models", "set", "tiny", "--context", "2048", "--users", "3", "--kv-type", "Q8_0", "--device", "cpu",
            "--threads", "2", "--template", str(template), "--alias", "gpt-4", "--alias", "gpt-4o",
            "--keep-alive", "10m", "--preload", "--pin",
        )
        assert outcome.out == (
            "Tiny 0: 2,048 tokens of context; 3 at once; KV in q8_0; on the cpu; 2 threads; stays 600 s after its last "
            "use; a chat template of its own; loaded at the start; pinned in memory; also called gpt-4, gpt-4o.\n"
        )
        shown = inglenook("models", "show", "gpt-4").out
        assert "Template  fit for chat, calls tools, as hermes does\n" in shown
        assert "Memory    Tiny 0 has attention heads of 16 numbers" in shown or "tiny.gguf has attention heads" in shown
        outcome = inglenook(
            "models", "set", "gpt-4o", "--context", "auto", "--users", "auto", "--kv-type", "auto", "--device", "auto",
            "--threads", "auto", "--template", "none", "--alias", "none", "--keep-alive", "default", "--no-preload",
            "--no-pin",
        )
        assert outcome.out == "Tiny 0: as for all models.\n"

    @pytest.mark.parametrize("arguments, words, code", [
        (("--context", "many"), "The context, in tokens: give a whole number", 1),
        (("--context", "²"), "The context, in tokens: give a whole number", 1),
        (("--context", "--5"), "The context, in tokens: give a whole number", 1),
        (("--context", "8_192"), "The context, in tokens: give a whole number", 1),
        (("--keep-alive", "²h"), "Seconds to keep it in memory", 1),
        (("--device", "gpu٥"), "evice", 1),
        (("--users", "0"), "1 to 256", 1),
        (("--keep-alive", "soon"), "Seconds to keep it in memory", 1),
        (("--template", "/no/such/file"), "/no/such/file: No such file", 1),
        (("--alias", "a b"), "is no alias", 1),
        ((), "say what is to change", 2),
    ])
    def test_refuses_in_a_line(
        self, inglenook: Inglenook, tiny: Path, arguments: tuple[str, ...], words: str, code: int
    ) -> None:
        outcome = inglenook("models", "set", "tiny", *arguments)
        assert outcome.exit_code == code
        assert words in outcome.err


def test_an_update_can_be_taken_back(inglenook: Inglenook, tiny: Path, tmp_path: Path) -> None:
    newer = write_tiny_gguf(tmp_path / "newer.gguf", seed=1, context_tokens=2048)
    assert inglenook("models", "update", "tiny", str(newer)).out.startswith("Tiny 0 is newer.gguf, ")
    shown = inglenook("models", "show", "tiny").out
    assert "trained for 2,048 tokens" in shown
    old, new = shown.partition("  Versions\n")[2].splitlines()
    assert "  tiny.gguf, " in old
    assert old.endswith(", can be gone back to")
    assert new.endswith(", in use")
    assert inglenook("models", "rollback", "tiny").out.startswith("Tiny 0 is tiny.gguf, ")
    back = inglenook("models", "rollback", "tiny", "--to", new.split()[0])
    assert back.out.startswith("Tiny 0 is newer.gguf, ")


class TestRemove:
    def test_forgets_a_model_and_leaves_a_file_that_was_added(self, inglenook: Inglenook, tiny: Path) -> None:
        assert inglenook("models", "remove", "tiny").out.splitlines()[:2] == [
            "Tiny 0 (tiny) is no longer known here.", f"Its file stays at {tiny}.",
        ]
        assert tiny.exists()
        assert "tiny" not in inglenook("models", "list").out
        outcome = inglenook("models", "remove", "tiny")
        assert (outcome.exit_code, "tiny" in outcome.err) == (1, True)

    def test_forgets_one_whose_file_is_gone(self, inglenook: Inglenook, tiny: Path) -> None:
        tiny.unlink()
        removed = inglenook("models", "remove", "tiny")
        assert removed.exit_code == 0 and "Its file is gone already." in removed.out.splitlines()

    def test_asks_nothing_for_a_file_of_the_models_folder_that_is_gone(
        self, inglenook: Inglenook, data_dir: Path
    ) -> None:
        (data_dir / "models").mkdir(parents=True)
        path = write_tiny_gguf(data_dir / "models" / "own.gguf")
        inglenook("models", "add", str(path))
        path.unlink()
        removed = inglenook("models", "remove", "own")
        assert removed.exit_code == 0 and "Its file is gone already." in removed.out.splitlines()

    def test_leaves_another_app_s_file_and_says_whose_it_is(
        self, inglenook: Inglenook, data_dir: Path, home: Path
    ) -> None:
        folder = home / ".lmstudio" / "models" / "pub" / "tiny"
        folder.mkdir(parents=True)
        path = write_tiny_gguf(folder / "tiny.gguf")
        assert inglenook("models", "add", "pub/tiny/tiny.gguf").exit_code == 0
        removed = inglenook("models", "remove", "tiny")
        assert f"Its file is LM Studio’s too, and stays at {path}." in removed.out.splitlines()
        assert path.exists()

    def test_tells_of_the_chats_that_use_it_and_of_the_next_default(
        self, inglenook: Inglenook, tiny: Path, data_dir: Path
    ) -> None:
        with closing(Database.open(data_dir / "inglenook.sqlite3")) as database, database.session() as session:
            user = accounts.add_user(session, name="Ann", name_key="ann", password_hash="x", role=UserRole.USER)
            assert user is not None
            session.flush()
            session.add_all([Conversation(user_id=user.id, model_id="tiny") for _ in range(2)])
            models.set_default(session, "tiny")
        told = inglenook("models", "remove", "tiny").out.splitlines()
        assert "2 chats use it: their answers stay, and another model has to be chosen there." in told
        assert told[-1] in ("New chats begin with SmolLM2 135M Instruct now.", "There is no model for new chats now.")

    def test_files_in_the_models_folder_go_only_where_that_is_meant(self, inglenook: Inglenook, data_dir: Path) -> None:
        (data_dir / "models").mkdir(parents=True)
        path = write_tiny_gguf(data_dir / "models" / "own.gguf")
        assert inglenook("models", "add", str(path)).exit_code == 0
        refused = inglenook("models", "remove", "own")
        assert (refused.exit_code, "add --yes" in refused.err, path.exists()) == (1, True, True)
        removed = inglenook("models", "remove", "own", "--yes")
        assert removed.exit_code == 0 and "Deleted with it, from the models folder: own.gguf." in removed.out
        assert not path.exists()

    def test_waits_for_a_server_that_is_just_starting(self, inglenook: Inglenook, tiny: Path, data_dir: Path) -> None:
        with Instance.claim(data_dir):
            outcome = inglenook("models", "remove", "tiny")
        assert (outcome.exit_code, "Inglenook runs already" in outcome.err) == (1, True)

    def test_needs_an_admin_where_a_server_runs(self, inglenook: Inglenook, tiny: Path, data_dir: Path) -> None:
        with Instance.claim(data_dir) as instance:
            instance.publish(Note(os.getpid(), "http://127.0.0.1:1"))
            outcome = inglenook("models", "remove", "tiny")
            assert (outcome.exit_code, "without an admin" in outcome.err) == (1, True)
            assert inglenook("models", "set", "tiny", "--pin").exit_code == 0, "which nobody is signed in to mind"


def test_a_rollback_needs_a_version_to_go_back_to(inglenook: Inglenook, tiny: Path) -> None:
    outcome = inglenook("models", "rollback", "tiny")
    assert (outcome.exit_code, outcome.err) == (1, "inglenook: Tiny 0 has no earlier version here.\n")


def test_new_chats_begin_with_an_admin_s_preset(inglenook: Inglenook, tiny: Path, data_dir: Path) -> None:
    async def put(services: Services) -> str:
        add = partial(accounts.add_user, name="Root", name_key="root", password_hash="", role=UserRole.ADMIN)
        row = await services.db.run(add)
        assert row is not None
        return (await services.presets.create(row.id, "Pirate", ChatSetup(system_prompt="Arr."))).id

    refused = inglenook("models", "set", "tiny", "--preset", "Pirate")
    assert "No admin has a preset 'Pirate'. There are: -." in refused.err
    preset_id = with_services(data_dir, put)
    for name in ("pirate", preset_id[:8]):
        outcome = inglenook("models", "set", "tiny", "--preset", name)
        assert outcome.out == "Tiny 0: new chats begin with the preset Pirate.\n"
    assert "Settings  new chats begin with the preset Pirate\n" in inglenook("models", "show", "tiny").out
    assert inglenook("models", "set", "tiny", "--preset", "none").out == "Tiny 0: as for all models.\n"


def test_a_path_in_a_list_does_not_steer_the_terminal(inglenook: Inglenook, tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("no file can be called so")
    path = write_tiny_gguf(tmp_path / "odd\x1b[2J\nname.gguf")
    assert inglenook("models", "add", str(path)).exit_code == 0
    listed = inglenook("models", "list").out
    (model_id,) = [line.strip("* ").split()[0] for line in listed.splitlines() if "name.gguf" in line]
    for told in (listed, inglenook("models", "show", model_id).out):
        assert r"odd\x1b[2J\nname.gguf" in told and "\x1b" not in told
