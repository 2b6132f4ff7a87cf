"""Secrets at rest: sealed, for the owner of the data folder only."""

from __future__ import annotations

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.errors import Conflict, InvalidInput
from app.hub.token import TokenStore
from app.services.container import Services
from app.settings import Settings
from app.vault import KEY_FILE_NAME, Vault
from tests.app.hub import TOKEN


def test_what_is_sealed_opens_with_the_same_key_only(tmp_path: Path) -> None:
    sealed = Vault(tmp_path).seal("hf_s€cret")
    assert "hf_" not in sealed
    assert Vault(tmp_path).open(sealed) == "hf_s€cret"
    assert Vault(tmp_path).seal("hf_s€cret") != sealed
    assert Vault(tmp_path / "other").open(sealed) is None
    Vault(tmp_path / "other").seal("x")
    assert Vault(tmp_path / "other").open(sealed) is None
    assert Vault(tmp_path).open(sealed[:-2] + "AA") is None
    assert Vault(tmp_path).open("nonsense ü") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_key_is_for_its_owner_s_eyes_only(tmp_path: Path) -> None:
    Vault(tmp_path).seal("x")
    assert stat.S_IMODE((tmp_path / KEY_FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE_NAME]


def test_many_that_seal_at_once_take_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        sealed = list(pool.map(Vault(tmp_path).seal, "abcdefgh" * 4))
    assert "".join(filter(None, map(Vault(tmp_path).open, sealed))) == "abcdefgh" * 4


@pytest.mark.parametrize("content", [b"", b"no key", b"\xff" * 44, None])
def test_a_key_that_cannot_be_used_is_told(content: bytes | None, tmp_path: Path) -> None:
    if content is None:
        (tmp_path / KEY_FILE_NAME).mkdir()
    else:
        (tmp_path / KEY_FILE_NAME).write_bytes(content)
    with pytest.raises(Conflict, match=KEY_FILE_NAME):
        Vault(tmp_path).seal("x")
    assert Vault(tmp_path).open("x") is None


async def test_the_token_lies_sealed_in_the_database_and_wins_over_the_environment(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_environment")
    settings = Settings(data_dir=services.settings.data_dir)
    assert TOKEN not in repr(settings) and "hf_of" not in repr(settings)
    tokens = TokenStore(services.db, Vault(settings.data_dir), settings)
    assert await tokens.get() == "hf_of_the_environment"
    await tokens.set(f" {TOKEN}\n")
    assert await tokens.get() == TOKEN
    for path in settings.data_dir.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()
    await tokens.set("")
    assert await tokens.get() == "hf_of_the_environment"
    for nonsense in ("a b", "ü", "x" * 600, "a\nb"):
        with pytest.raises(InvalidInput, match="no token"):
            await tokens.set(nonsense)
