"""A model's file from a browser: whole or not at all, and only what is a model stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.errors import InvalidInput
from app.services.container import Services
from tests.app.shop import tiny_model


async def _in_pieces(content: bytes, *, breaks: bool = False) -> AsyncIterator[bytes]:
    for at in range(0, len(content), 65_536):
        yield content[at : at + 65_536]
    if breaks:
        raise ConnectionResetError


def _folder(services: Services) -> Path:
    return services.settings.models_dir / "uploads"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def test_a_file_that_was_sent_is_a_model_and_goes_with_it(services: Services) -> None:
    content = tiny_model()
    uploads = services.model_uploads
    model = await uploads.receive("../tiny one.gguf", _in_pieces(content), num_bytes=len(content))
    path = Path(model.path)
    assert (path.name, path.parent) == ("tiny one.gguf", _folder(services))
    assert _content(path) == content
    with pytest.raises(InvalidInput, match="there already"):
        await uploads.receive("tiny one.gguf", _in_pieces(content), num_bytes=len(content))
    await services.models.remove(model.id)
    assert _content(path) is None


@pytest.mark.parametrize(("name", "content", "words"), [
    ("notes.txt", b"x", "end in .gguf"),
    ("notes.gguf", b"These are my notes.", "notes.gguf"),
    ("none.gguf", b"", "did not come whole"),
])
async def test_of_what_is_no_model_nothing_stays(services: Services, name: str, content: bytes, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        await services.model_uploads.receive(name, _in_pieces(content), num_bytes=None)
    assert not list(_folder(services).glob("*"))


async def test_of_what_is_cut_off_nothing_stays(services: Services) -> None:
    content = tiny_model()
    with pytest.raises(ConnectionResetError):
        await services.model_uploads.receive("a.gguf", _in_pieces(content, breaks=True), num_bytes=len(content))
    with pytest.raises(InvalidInput, match="did not come whole"):
        await services.model_uploads.receive("a.gguf", _in_pieces(content), num_bytes=len(content) + 1)
    assert not list(_folder(services).glob("*"))
    (_folder(services) / "b.gguf.part").write_bytes(b"of a process that was killed")
    await services.model_uploads.remove_leftovers()
    assert not list(_folder(services).glob("*"))


async def test_what_has_no_room_is_refused_before_it_comes(services: Services) -> None:
    with pytest.raises(InvalidInput, match="no room"):
        await services.model_uploads.receive("a.gguf", _in_pieces(b"x"), num_bytes=1 << 60)
