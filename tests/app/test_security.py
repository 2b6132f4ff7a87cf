"""Hashes, tokens and names, as plain functions."""

from __future__ import annotations

import re

import pytest

from app import security


def test_a_password_is_kept_as_salted_argon2id() -> None:
    first, second = security.hash_password("correct horse"), security.hash_password("correct horse")
    assert first.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert first != second
    assert "correct horse" not in first
    assert security.verify_password("correct horse", first)
    assert not security.verify_password("correct horsf", first)


@pytest.mark.parametrize("password", ["pass\0word", "päßwörd 漢字 😀", " spaces around ", "x" * 1024])
def test_any_text_can_be_a_password(password: str) -> None:
    assert security.password_problem(password) is None
    hashed = security.hash_password(password)
    assert security.verify_password(password, hashed)
    assert not security.verify_password(password + "x", hashed)


def test_two_spellings_of_an_accent_are_one_password() -> None:
    assert security.verify_password("cafe\u0301 noir", security.hash_password("caf\u00e9 noir"))


@pytest.mark.parametrize("password", ["", "\ud800", "x" * 10_000_000])
def test_verifying_takes_anything(password: str) -> None:
    assert not security.verify_password(password, security.hash_password("correct horse"))


@pytest.mark.parametrize(("password", "problem"), [
    ("", "at least 8"), ("1234567", "at least 8"), ("x" * 1025, "at most 1,024"),
    ("12345678\ud800", "broken character"),
])
def test_a_password_that_cannot_be_used_is_explained(password: str, problem: str) -> None:
    assert problem in (security.password_problem(password) or "")


@pytest.mark.parametrize(("name", "cleaned"), [
    ("  Anna  ", "Anna"), ("Anna\t Maria", "Anna Maria"), ("Zoe\u0308", "Zo\u00eb"), ("\n", ""),
])
def test_names_are_trimmed_and_composed(name: str, cleaned: str) -> None:
    assert security.clean_name(name) == cleaned


@pytest.mark.parametrize(("name", "problem"), [
    ("", "Choose a name."), ("x" * 65, "at most 64"), ("An\0na", "control"), ("An\u200bna", "invisible"),
    ("Anna\u202e", "invisible"),
    ("\u200dAnna", "invisible"), ("\u200c", "invisible"), ("Anna\u200d", "invisible"), ("An\ud800na", "control"),
])
def test_a_name_that_cannot_be_used_is_explained(name: str, problem: str) -> None:
    assert problem in (security.name_problem(security.clean_name(name)) or "")


@pytest.mark.parametrize("name", [
    "A", "x" * 64, "李 小龍", "O'Brien", "anna@example.org", "Åsa-Märta", "علی\u200cرضا",
    "🦊 Fux 👩\u200d👩\u200d👧",
])
def test_ordinary_names_are_fine(name: str) -> None:
    assert security.user_name_problem(security.clean_name(name)) is None


@pytest.mark.parametrize(("one", "other"), [
    ("Anna", "ANNA"), ("Anna", " anna "), ("Ａｎｎａ", "Anna"), ("Straße", "STRASSE"), ("Zoe\u0308", "ZO\u00cb"),
    ("علی\u200cرضا", "علیرضا"),
])
def test_names_that_look_the_same_are_the_same(one: str, other: str) -> None:
    assert security.name_key(one) == security.name_key(other)


def test_tokens_and_keys_have_256_random_bits() -> None:
    assert re.fullmatch(r"[\w-]{43}", security.new_token())
    assert re.fullmatch(r"sk-[\w-]{43}", security.new_api_key())
    assert len({security.new_token() for _ in range(100)}) == 100


def test_a_hint_shows_the_two_ends_of_a_key() -> None:
    assert security.key_hint("sk-abcdefghijklmnopqrstuvwxyz") == "sk-ab…xyz"


def test_a_token_is_kept_as_its_sha256() -> None:
    assert security.token_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len(security.token_hash("\ud800")) == 64


def test_tokens_are_compared_whatever_they_hold() -> None:
    assert security.same_token("abc", "abc")
    assert not security.same_token("abd", "abc")
    assert not security.same_token("é\ud800", "abc")
