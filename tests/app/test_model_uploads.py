"""A model's file from a browser: whole or not at all, and only what is a model stays."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest

from app.errors import InvalidInput
from app.services.container import Services
from app.services.model_uploads import KEPT_S, Received
from tests.app.house import until
from tests.app.shop import tiny_model, tiny_part


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
    model = (await uploads.receive("../tiny one.gguf", _in_pieces(content), num_bytes=len(content))).model
    assert model is not None
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


async def test_of_two_of_one_name_at_once_the_first_comes_whole_and_the_other_is_refused(services: Services) -> None:
    content = tiny_model()
    goes_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield content[:1000]
        await goes_on.wait()
        yield content[1000:]

    uploads = services.model_uploads
    first = asyncio.create_task(uploads.receive("a.gguf", slowly(), num_bytes=len(content)))
    part = _folder(services) / "a.gguf.part"
    await until(part.exists)
    for _ in range(2):
        with pytest.raises(InvalidInput, match="on its way"):
            await uploads.receive("a.gguf", _in_pieces(b"something else"), num_bytes=None)
        assert await asyncio.to_thread(part.exists)
    goes_on.set()
    model = (await first).model
    assert model is not None and _content(Path(model.path)) == content


class TestInSeveralFiles:
    """Of a model that is split: it is one when the last is there, in whatever order they come."""

    PARTS: ClassVar = {f"split-0000{number}-of-00003.gguf": tiny_part(number - 1, 3) for number in (1, 2, 3)}
    NAMES: ClassVar = tuple(PARTS)
    WRONG: ClassVar = (b"", b"no GGUF at all", PARTS[NAMES[2]], PARTS[NAMES[1]][:-1000], tiny_model())

    async def _send(self, services: Services, name: str, content: bytes | None = None) -> Received:
        content = self.PARTS[name] if content is None else content
        return await services.model_uploads.receive(name, _in_pieces(content), num_bytes=len(content))

    async def _known(self, services: Services) -> list[str]:
        return [entry.model.id for entry in await services.models.list()]

    async def test_the_last_makes_it_a_model_and_all_go_with_it(self, services: Services) -> None:
        first, second, third = self.NAMES
        assert (await self._send(services, third)).missing == (first, second)
        assert (await self._send(services, first)).missing == (second,)
        assert await self._known(services) == ["parrot"]
        model = (await self._send(services, second)).model
        assert model is not None
        assert Path(model.path).name == first
        assert model.size_bytes == sum(map(len, self.PARTS.values()))
        with pytest.raises(InvalidInput, match="there already"):
            await self._send(services, second)
        await services.models.remove(model.id)
        assert not list(_folder(services).glob("*"))

    async def test_one_may_be_sent_again_until_then(self, services: Services) -> None:
        first, second, third = self.NAMES
        await self._send(services, first)
        assert (await self._send(services, first)).missing == (second, third)

    async def test_what_is_refused_leaves_what_was_sent_before(self, services: Services) -> None:
        first, second, _ = self.NAMES
        await self._send(services, first)
        with pytest.raises(InvalidInput):
            await self._send(services, first, self.PARTS[second])
        assert _content(_folder(services) / first) == self.PARTS[first]

    @pytest.mark.parametrize("content", WRONG)
    async def test_one_that_is_not_what_its_name_says_is_refused_alone(
        self, services: Services, content: bytes
    ) -> None:
        first, second, third = self.NAMES
        await self._send(services, first)
        with pytest.raises(InvalidInput):
            await self._send(services, second, content)
        assert [path.name for path in _folder(services).iterdir()] == [first]
        assert (await self._send(services, third)).missing == (second,)
        assert (await self._send(services, second)).model is not None

    async def test_a_number_beyond_the_last_is_refused(self, services: Services) -> None:
        for name in ("split-00004-of-00003.gguf", "split-00000-of-00003.gguf", "split-00001-of-00000.gguf"):
            with pytest.raises(InvalidInput):
                await self._send(services, name, self.PARTS[self.NAMES[0]])
        assert not list(_folder(services).glob("*"))

    async def test_of_parts_that_do_not_fit_one_another_none_stays(self, services: Services) -> None:
        """Each is what its name says, and two hold the same weights."""
        for name in self.NAMES[:2]:
            await self._send(services, name)
        with pytest.raises(InvalidInput, match="twice"):
            await self._send(services, self.NAMES[2], self.PARTS[self.NAMES[2]].replace(b"2oken_embd", b"1oken_embd"))
        assert await self._known(services) == ["parrot"]
        assert not list(_folder(services).glob("*"))

    async def test_what_a_crash_left_whole_is_a_model_at_the_next_start(self, services: Services) -> None:
        _folder(services).mkdir(parents=True)
        for name, content in self.PARTS.items():
            (_folder(services) / name).write_bytes(content)
        (_folder(services) / "notes.gguf").write_bytes(b"These are my notes.")
        (_folder(services) / "whole.gguf").write_bytes(tiny_model())
        await services.model_uploads.remove_leftovers()
        assert sorted(await self._known(services)) == ["parrot", "split", "whole"]

    async def test_a_model_that_lost_one_may_have_it_back(self, services: Services) -> None:
        for name in self.NAMES:
            await self._send(services, name)
        with pytest.raises(InvalidInput, match="there already"):
            await self._send(services, self.NAMES[1])
        (_folder(services) / self.NAMES[1]).unlink()
        known = await self._known(services)
        assert (await self._send(services, self.NAMES[1])).model is not None
        assert await self._known(services) == known

    async def test_parts_whose_others_never_came_go_after_a_week(self, services: Services) -> None:
        first, second, _ = self.NAMES
        for name in (first, second):
            await self._send(services, name)
        week_ago_s = time.time() - KEPT_S - 1
        os.utime(_folder(services) / first, (week_ago_s, week_ago_s))
        await services.model_uploads.remove_leftovers()
        assert len(list(_folder(services).iterdir())) == 2
        os.utime(_folder(services) / second, (week_ago_s, week_ago_s))
        await services.model_uploads.remove_leftovers()
        assert not list(_folder(services).iterdir())
