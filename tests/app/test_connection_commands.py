"""`inglenook connections`, as a script calls it. Keys come in by standard input, and go out to their server alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.command_line import Inglenook
from tests.engine.upstream import KEY, Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(wants_key=True)
    yield server
    server.close()


def test_from_the_first_switch_to_the_last(inglenook: Inglenook, data_dir: Path, upstream: Upstream) -> None:
    refused = inglenook("connections", "add", "Office", upstream.url)
    assert refused.exit_code == 1 and "switched off" in refused.err and not upstream.asked
    assert "inglenook connections on" in refused.err
    assert "off" in inglenook("connections", "list").out
    assert inglenook("connections", "on").out == "Models elsewhere are switched on.\n"
    added = inglenook("connections", "add", "Office", upstream.root, "--key-stdin", stdin=f"{KEY}\n")
    assert added.out == f"Office is vLLM at {upstream.url}: big.\n"
    listed = inglenook("connections", "list").out
    assert "Office" in listed and "vLLM" in listed and "  answers  2" in listed and KEY not in listed
    assert "elsewhere" in inglenook("models", "list").out
    assert "Office" not in inglenook("models", "show", "big").err
    tested = inglenook("connections", "test", "office")
    assert "big said a word after" in tested.out
    inglenook("connections", "off", "Office")
    assert "big" not in inglenook("models", "list").out
    inglenook("connections", "on", "Office")
    assert inglenook("connections", "off").out == "Models elsewhere are switched off.\n"
    num_asked = len(upstream.asked)
    assert inglenook("connections", "test", "Office").exit_code == 1 and len(upstream.asked) == num_asked
    assert inglenook("connections", "remove", "Office").out == "Office is removed.\n"
    assert "Office" not in inglenook("connections", "list").out


def test_what_goes_wrong_is_one_line(inglenook: Inglenook, data_dir: Path, upstream: Upstream, tmp_path: Path) -> None:
    inglenook("connections", "on")
    for arguments, stdin, words in (
        (("Office", upstream.url), "", "asks for a key"),
        (("Office", upstream.url, "--key-stdin"), "wrong key", "no spaces"),
        (("Office", "ftp://gpu.lan"), "", "Give an address like"),
        (("Office", "http://127.0.0.1:1"), "", "cannot be reached"),
    ):
        outcome = inglenook("connections", "add", *arguments, stdin=stdin)
        assert outcome.exit_code == 1 and words in outcome.err and len(outcome.err.splitlines()) == 1
    headers = tmp_path / "headers"
    headers.write_text("nonsense\n")
    outcome = inglenook("connections", "add", "Office", upstream.url, "--headers", str(headers))
    assert outcome.exit_code == 1 and "nonsense" in outcome.err


@pytest.mark.parametrize("command", ["show", "test", "remove", "on", "off"])
def test_a_name_that_there_is_not_is_told_with_those_that_there_are(
    inglenook: Inglenook, data_dir: Path, upstream: Upstream, command: str
) -> None:
    inglenook("connections", "on")
    none = inglenook("connections", command, "Attic")
    assert none.exit_code == 1 and none.out == ""
    assert "no connection 'Attic', nor any other yet" in none.err and "`inglenook connections add`" in none.err
    for name in ("Office", "Cellar"):
        inglenook("connections", "add", name, upstream.url, "--key-stdin", stdin=KEY)
    missing = inglenook("connections", command, "Attic")
    assert missing.exit_code == 1 and missing.out == ""
    assert missing.err.endswith("There is no connection 'Attic'. Those that there are: Office, Cellar.\n")


def test_without_a_name_it_is_called_as_its_host(inglenook: Inglenook, data_dir: Path, upstream: Upstream) -> None:
    inglenook("connections", "on")
    upstream.owner = "organization_owner"           # as LM Studio's; and it answers any path with its models
    upstream.routes["/api/v0/models"] = {"data": [{"id": "big", "object": "model", "owned_by": "organization_owner"}]}
    host = upstream.root.removeprefix("http://")
    added = inglenook("connections", "add", upstream.root, "--key-stdin", stdin=KEY)
    assert added.out == f"{host} is OpenAI API at {upstream.url}: big.\n"
    again = inglenook("connections", "add", upstream.url, "--key-stdin", stdin=KEY)
    assert again.out == f"{host} 2 is OpenAI API at {upstream.url}: big.\n"
    assert inglenook("connections", "show", host).exit_code == 0
    alone = inglenook("connections", "add", "Office")
    assert alone.exit_code == 2 and "'Office' is no address, as http://gpu.lan:8000/v1" in alone.err


def test_a_state_is_a_word_and_why_it_fails_is_shown(inglenook: Inglenook, data_dir: Path, upstream: Upstream) -> None:
    inglenook("connections", "on")
    inglenook("connections", "add", "Office", upstream.url, "--key-stdin", stdin=KEY)
    upstream.routes["/v1/models"] = {"no": "models"}
    assert inglenook("connections", "test", "Office").exit_code == 1
    listed = inglenook("connections", "list").out.splitlines()
    assert "  fails  " in listed[2] and max(map(len, listed)) < 110
    assert listed[-1] == "Why one fails: `inglenook connections show Office`."
    shown = inglenook("connections", "show", "office").out
    assert "Office: vLLM at" in shown and "lists no models" in shown and "Key       kept" in shown
    assert "    big\n" in shown and KEY not in shown
    inglenook("connections", "off")
    assert "  off  " in inglenook("connections", "list").out.splitlines()[2]
    assert "State     off" in inglenook("connections", "show", "Office").out


def test_two_keys_for_one_server_are_refused(
    inglenook: Inglenook, data_dir: Path, upstream: Upstream, tmp_path: Path
) -> None:
    inglenook("connections", "on")
    headers = tmp_path / "headers"
    headers.write_text(f"authorization: Bearer {KEY}\n")
    both = ("connections", "add", "Office", upstream.url, "--headers", str(headers))
    refused = inglenook(*both, "--key-stdin", stdin=KEY)
    assert refused.exit_code == 1 and "an Authorization header beside it" in refused.err and not upstream.asked
    assert inglenook(*both).exit_code == 0
    assert upstream.asked[-1].headers["authorization"] == f"Bearer {KEY}"
