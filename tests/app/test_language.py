"""The catalogue of words: found by id, in the reader's language, with English where another language lacks one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from app import language as language_module
from app.errors import InvalidInput, NotFound, said
from app.language import (
    LOCALES,
    Said,
    in_language,
    kept,
    language_named,
    languages,
    preferred_language,
    said_again,
)
from engine.errors import ContextLengthExceeded, EngineError, QueueFull

LEFT = "left = {{ $count ->\n    [one] {} left\n   *[other] {{ $count }} {} left\n }}"


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    texts = {
        "en": "language-name = English\n" + LEFT.format("One is", "are") + "\nhello = Hello",
        "de": "language-name = Deutsch\n" + LEFT.format("Eine ist", "sind"),
        "ar": "language-name = العربية",
    }
    for code, text in texts.items():
        (tmp_path / code).mkdir()
        (tmp_path / code / "common.ftl").write_text(text, encoding="utf-8")
    monkeypatch.setattr(language_module, "LOCALES", tmp_path)
    languages.cache_clear()
    yield
    languages.cache_clear()


@pytest.mark.usefixtures("catalogue")
def test_a_message_takes_its_variables_and_its_language_s_plural() -> None:
    german = languages()["de"]
    assert [german("left", count=count) for count in (1, 1234)] == ["Eine ist left", "1.234 sind left"]
    assert languages()["en"]("left", count=1234) == "1,234 are left"


@pytest.mark.usefixtures("catalogue")
def test_english_stands_in_and_what_nobody_has_is_an_error() -> None:
    assert languages()["de"]("hello") == "Hello"
    with pytest.raises(LookupError, match="nothing-like-it"):
        languages()["de"]("nothing-like-it")
    with pytest.raises(LookupError, match="count"):
        languages()["en"]("left")


@pytest.mark.usefixtures("catalogue")
def test_languages_know_their_direction_and_their_own_name() -> None:
    assert {code: (each.name, each.direction) for code, each in languages().items()} == {
        "en": ("English", "ltr"), "ar": ("العربية", "rtl"), "de": ("Deutsch", "ltr"),
    }
    assert language_named("de") is languages()["de"]
    assert language_named("xx") is language_named(None) is None


@pytest.mark.parametrize(("header", "code"), [
    ("de-AT,de;q=0.9,en;q=0.8", "de"),
    ("fr;q=1, en;q=0.3, de;q=0.7", "de"),
    ("de;q=0, en", "en"),
    ("", "en"),
    ("tlh, xx;q=nonsense, ;;;", "en"),
    ("en;q=0.5, de;q=nan", "en"),
    ("en;q=0.5, de;q=1_0", "en"),
    ("DE" + "," * 100_000, "de"),
])
def test_a_browser_s_wish_is_read(header: str, code: str) -> None:
    assert preferred_language(header).code == code


def test_every_language_says_the_same_things_with_the_same_variables() -> None:
    ids = {code: _messages(code) for code in languages()}
    for code, messages in ids.items():
        assert messages == ids["en"], f"{code} differs from English"


def _messages(code: str) -> dict[str, set[str]]:
    """The variables of each message, by id."""
    found: dict[str, set[str]] = {}
    for file in (LOCALES / code).glob("*.ftl"):
        message_id = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if start := re.match(r"([a-z][\w-]*) =", line):
                message_id = start[1]
                assert message_id not in found, f"{message_id} stands twice in {code}"
                found[message_id] = set()
            if message_id and not line.startswith("#"):
                found[message_id] |= set(re.findall(r"\$(\w+)", line))
    return found


@pytest.mark.parametrize("length", [2499, 2500, 2501, 100_000])
def test_a_sentence_has_room_for_so_much_of_what_is_long(length: int) -> None:
    sentence = Said("error-no-model", model="x", known="k" * length)
    assert ("…" in sentence) == (length > 2500) and "k" * min(length, 2499) in sentence
    german = in_language(sentence, languages()["de"])
    assert german != sentence and "k" * min(length, 2499) in german
    assert said_again(kept(sentence)) == sentence


def test_what_is_said_is_english_where_nobody_asks_for_another_language() -> None:
    said = Said("error-name-long", count=64)
    assert (said, f"{said}", str(InvalidInput(said))) == ("Choose a name of at most 64 characters.",) * 3
    assert in_language(said, languages()["de"]) == "Bitte einen Namen mit höchstens 64 Zeichen wählen."
    assert in_language("Something else", languages()["de"]) == "Something else"


def test_what_was_said_comes_back_from_the_store() -> None:
    said = Said("error-no-file", path="/a\x1f/ä")
    again = said_again(kept(said))
    assert again == said
    assert in_language(again, languages()["de"]) == "Es gibt keine Datei /a\x1f/ä."
    for tail in ("", "\x1fnonsense", '\x1f["gone-by-now", {}]', "\x1f[1]"):
        stored = f"Plain words{tail}"
        assert said_again(stored) == "Plain words"
        assert not isinstance(said_again(stored), Said)


@pytest.mark.parametrize(("error", "german"), [
    (
        ContextLengthExceeded(num_prompt_tokens=4096, max_model_len=4096),
        "höchstens 4.096 Token, die Nachrichten haben 4.096, und die Antwort braucht mindestens eines mehr.",
    ),
    (ContextLengthExceeded(num_prompt_tokens=4096, max_model_len=4096, param="prompt"), "der Prompt hat 4.096"),
    (ContextLengthExceeded(num_prompt_tokens=9, max_model_len=8, input_index=2), "höchstens 8 Token, input[2] hat 9."),
    (QueueFull("9 requests are waiting for m already.", retry_after_s=7), "In 7 s noch einmal versuchen."),
    (EngineError("Odd."), "Beim Rechnen ist etwas schiefgegangen: Odd."),
    (NotFound(Said("error-no-user")), "Diese Person gibt es hier nicht."),
    (OSError("As it is."), "As it is."),
])
def test_errors_of_the_engine_are_said_by_their_kind(error: Exception, german: str) -> None:
    assert german in in_language(said(error), languages()["de"])


def test_what_was_said_is_copied_with_its_message() -> None:
    copy = deepcopy({"reason": Said("hub-off")})["reason"]
    assert copy == Said("hub-off")
    assert in_language(copy, languages()["de"]).startswith("Der Modell-Hub")


def test_a_german_figure_stays_on_one_line_with_its_unit() -> None:
    german = languages()["de"]
    assert german("unit-milliseconds", number="690") == "690\u00a0ms"
    assert german("unit-minutes", minutes=1, seconds=5) == "1\u00a0min 5\u00a0s"
    assert german("size-gib", number="4,9") == "4,9\u00a0GiB"
    assert german("chat-stat-speed", speed="38") == "38\u00a0Token/s"
