"""Chats out and in again, through the services: nothing lost, nothing twice, and an end to every import."""

from __future__ import annotations

import asyncio
import io
import json
import random
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict, InvalidInput, TooLarge
from app.formats import archive, reader
from app.services.container import Services
from app.services.exports import ExportFormat
from app.services.imports import Import, ImportState
from app.services.setup import ChatSetup
from app.settings import Settings
from store import answers, conversations, messages
from store.chat_places import place_of
from store.imports import Merged
from store.tables import Conversation, Message, MessageStatus, WhenFull
from tests.app.elsewhere import (
    chatgpt_conversation,
    newest_zip,
    node,
    open_webui_chat,
    said,
    write_json,
    zipped,
)
from tests.app.house import PASSWORD, Shelf, until

MiB = 2**20


async def exported(services: Services, user_id: str, form: ExportFormat = ExportFormat.JSON) -> bytes:
    download = await services.exports.everything(user_id, form)
    return b"".join([chunk async for chunk in download.chunks])


async def pieces(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at:at + size]


async def imported(services: Services, user_id: str, data: bytes, name: str = "chats.json") -> Import:
    ongoing = await services.imports.receive(user_id, name, pieces(data), num_bytes=len(data))
    await until(lambda: not ongoing.is_running)
    return ongoing


def counts(done: Import) -> tuple[int, int, int, int]:
    return done.counts[Merged.ADDED], done.counts[Merged.UPDATED], done.counts[Merged.KNOWN], done.num_skipped


async def everything(services: Services, user_id: str) -> list[dict[str, Any]]:
    """All chats as values, without ids: messages by the texts of the path that leads to each."""
    chats = []
    for conversation in await services.conversations.list_recent(user_id, limit=999):
        found = await services.db.read(messages.tree, user_id, conversation.id)
        assert found is not None
        chats.append(_values(*found))
    return chats


def _values(conversation: Conversation, tree: list[Message]) -> dict[str, Any]:
    paths: dict[str | None, tuple[str, ...]] = {None: ()}
    rows = []
    for message in tree:
        paths[message.id] = (*paths[message.parent_id], f"{message.role.value}: {message.content}")
        rows.append(message.model_dump(exclude={"id", "conversation_id", "parent_id"}) | {"path": paths[message.id]})
    kept = conversation.model_dump(exclude={"id", "user_id", "current_message_id"})
    return kept | {"current": paths[conversation.current_message_id], "messages": rows}


@pytest.fixture
async def ben_id(services: Services) -> str:
    return (await services.accounts.add_user("Ben", PASSWORD)).id


async def test_what_is_exported_comes_home_the_same(services: Services, user_id: str, ben_id: str) -> None:
    """Texts that begin like our own notation, thoughts, line ends of all kinds, versions, failures, a system prompt."""
    await imported(services, user_id, json.dumps([chatgpt_conversation(), open_webui_chat()]).encode())
    sent = await services.chat.send(user_id, None, "The family?\r\n\t \x00 \u2028 </details>", model_id="parrot")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass
    odd = '<details type="reasoning" done="true">\n<summary>x</summary>\n> y\n</details>\n'
    for reasoning, content in [("", odd), (odd, odd), ("> a\n\n\r\n> b", "text"), ("\n", "\n\n"), ("", " \n")]:
        turn = await services.db.run(
            messages.add_turn, user_id, sent.conversation_id, content or "?", model_id="gone-model"
        )
        assert turn is not None
        await services.db.run(
            answers.finish, turn.answer.id, MessageStatus.STOPPED, content=content, reasoning=reasoning,
            model_version="v1", finish_reason="stop", prompt_tokens=7, cached_tokens=3, completion_tokens=9,
            time_to_first_token_s=0.1, duration_s=1.25, model_id="gone-model",
        )
    file = await exported(services, user_id)
    before = await everything(services, user_id)
    assert len(before) == 3
    assert counts(await imported(services, ben_id, file)) == (3, 0, 0, 0)
    assert await everything(services, ben_id) == before
    assert counts(await imported(services, user_id, file)) == (0, 0, 3, 0)
    assert await everything(services, user_id) == before
    assert json.loads(await exported(services, ben_id))[0]["title"] == json.loads(file)[0]["title"]


async def test_a_chat_s_own_set_up_goes_along_and_comes_back(services: Services, user_id: str, ben_id: str) -> None:
    preset = await services.presets.create(user_id, "Pirate", ChatSetup(system_prompt="Arr."))
    setup = ChatSetup(
        preset_id=preset.id, model_id="parrot", system_prompt="Be brief.", when_full=WhenFull.SUMMARISE,
        parameters={"temperature": 0.3, "stop": ["a,b"], "reasoning": False},
    )
    sent = await services.chat.send(user_id, None, "Hello", setup=setup)
    await services.chat.stop(user_id, sent.answer_id)
    file = await exported(services, user_id)
    assert json.loads(file)[0]["chat"]["params"] == {"temperature": 0.3, "think": False, "system": "Be brief."}
    assert json.loads(file)[0]["chat"]["inglenook"]["setup"]["preset"] == "Pirate"
    shown = b"".join([piece async for piece in (
        await services.exports.one(user_id, sent.conversation_id, ExportFormat.MARKDOWN)
    ).chunks]).decode()
    assert "*temperature 0.3, stop ['a,b'], reasoning False*\n\n## System prompt\n\nBe brief.\n\n## You" in shown

    own = await services.presets.create(ben_id, "Pirate", ChatSetup())
    await imported(services, ben_id, file)
    (chat,) = await services.conversations.list_recent(ben_id)
    assert ChatSetup.of(chat) == replace(setup, preset_id=own.id)       # the one that is called so here
    thread = await services.conversations.thread(ben_id, chat.id)
    assert [each.message.role.value for each in thread] == ["user", "assistant"]


async def test_of_a_set_up_what_makes_no_sense_here_is_left_out(services: Services, user_id: str) -> None:
    chat = open_webui_chat()
    chat["chat"]["params"] |= {"temperature": 99, "top_p": "much", "top_k": 40, "system": "x" * 300_000}
    await imported(services, user_id, json.dumps([chat]).encode())
    (conversation,) = await services.conversations.list_recent(user_id)
    assert conversation.parameters == {"top_k": 40}
    assert len(conversation.system_prompt) == 200_000


async def test_the_newest_zip_is_read_and_known_again(services: Services, user_id: str) -> None:
    conversations = [chatgpt_conversation(f"c{number}", f"Chat {number}") for number in range(5)]
    data = newest_zip(*conversations)
    assert counts(await imported(services, user_id, data, "export.zip")) == (5, 0, 0, 0)
    assert counts(await imported(services, user_id, data, "export.zip")) == (0, 0, 5, 0)
    single = json.dumps(conversations).encode()
    assert counts(await imported(services, user_id, single)) == (0, 0, 5, 0)
    titles = [each.title for each in await services.conversations.list_recent(user_id, limit=9)]
    assert sorted(titles) == [f"Chat {number}" for number in range(5)]


async def test_bad_entries_are_told_and_skipped(services: Services, user_id: str) -> None:
    good = json.dumps(chatgpt_conversation()).encode()
    bad = [b"17", b"{nonsense}", b'{"title": "Of somebody", "messages": 3}', b'{"title":"\xff"}', b'{"mapping":{}}']
    done = await imported(services, user_id, b"[" + b",".join([*bad, good]) + b",{\"cut")
    assert (done.state, counts(done)) == (ImportState.DONE, (1, 0, 0, 6))
    assert [(each.position, each.title) for each in done.skipped] == [
        (1, ""), (2, ""), (3, "Of somebody"), (4, ""), (5, ""), (7, ""),
    ]
    reasons = [each.reason for each in done.skipped]
    assert "UTF-8" in reasons[3] and "no messages" in reasons[4] and "cut off" in reasons[5]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"hello", "no JSON list"), (zipped({"a.txt": "x"}), "no JSON file"),
        (zipped({"user.json": "{}", "message_feedback.json": "[]"}), "no JSON file"),
    ],
)
async def test_a_file_without_chats_says_so(services: Services, user_id: str, data: bytes, problem: str) -> None:
    done = await imported(services, user_id, data)
    assert done.state is ImportState.FAILED and problem in done.problem


async def test_a_zip_whose_files_are_broken_gives_what_is_whole(services: Services, user_id: str) -> None:
    noise = "".join(random.Random(1).choices("abcdefgh", k=2_000_000))
    broken = json.dumps([chatgpt_conversation("c1"), chatgpt_conversation("c2", noise)])
    data = bytearray(zipped({
        "../../conversations-1.json": broken, "C:\\x\\conversations-2.json": json.dumps([chatgpt_conversation("c3")]),
        "/conversations-10.json": "nonsense",
    }))
    place = data.index(b"conversations-1.json") + 400_000
    data[place:place + 8] = b"\xff" * 8
    done = await imported(services, user_id, bytes(data))
    assert done.state is ImportState.DONE
    assert done.counts[Merged.ADDED] == 2
    assert [each.file for each in done.skipped] == ["conversations-1.json", "conversations-10.json"]
    assert not list((services.settings.data_dir.parent).rglob("conversations*"))


def _packed(way: int) -> bytearray:
    """Two files of chats, in this way of packing."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", way) as archive:
        for number in (1, 2):
            archive.writestr(f"conversations-{number}.json", json.dumps([chatgpt_conversation(f"chat {number}")]))
    return bytearray(content.getvalue())


@pytest.mark.parametrize("way", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
async def test_damage_in_one_file_of_a_zip_costs_no_other_however_it_is_packed(
    services: Services, user_id: str, way: int
) -> None:
    data = _packed(way)
    first = data.index(b"conversations-1.json") + len(b"conversations-1.json")
    data[first + 9:first + 60] = b"\xff" * 51
    done = await imported(services, user_id, bytes(data), "export.zip")
    assert (done.state, done.problem, counts(done)) == (ImportState.DONE, "", (1, 0, 0, 1))
    assert "damaged in the ZIP" in done.skipped[0].reason


async def test_a_place_before_a_zips_beginning_is_damage_in_that_file(services: Services, user_id: str) -> None:
    data = _packed(zipfile.ZIP_DEFLATED)
    end = data.rindex(b"PK\x05\x06")
    data[end + 16:end + 20] = (int.from_bytes(data[end + 16:end + 20], "little") + 40).to_bytes(4, "little")
    done = await imported(services, user_id, bytes(data), "export.zip")
    assert (done.state, done.problem) == (ImportState.DONE, "")
    assert "damaged in the ZIP" in done.skipped[0].reason


async def test_a_name_that_is_no_utf_8_is_damage_of_the_zip(services: Services, user_id: str) -> None:
    data = zipped({"chäts.json": "[]"}).replace("ä".encode(), b"\xff\xff")
    done = await imported(services, user_id, data, "export.zip")
    assert done.state is ImportState.FAILED and "This ZIP is damaged" in done.problem


async def test_a_disk_that_fills_up_in_the_last_piece_is_told(
    services: Services, user_id: str, full_after: Callable[[int], None]
) -> None:
    data = json.dumps([open_webui_chat("long", "x" * 5 * MiB)]).encode()
    full_after(len(data) - 1000)
    with pytest.raises(InvalidInput):
        await services.imports.receive(user_id, "chats.json", pieces(data, MiB), num_bytes=None)
    with pytest.raises(InvalidInput):
        await services.model_uploads.receive("long.gguf", pieces(data, MiB), num_bytes=len(data))
    assert not list(services.settings.data_dir.rglob("*.part"))


async def test_a_zip_bomb_is_bounded(services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 4 * MiB)
    done = await imported(services, user_id, zipped({"conversations.json": b"[" + b" " * 20 * MiB + b"]"}))
    assert done.state is ImportState.FAILED and "unpacks to more" in done.problem


@pytest.mark.parametrize("entry", [b"{}", b"", b"1", b'{"mapping":{}}'])
async def test_a_small_zip_of_a_million_nothings_ends_soon(services: Services, user_id: str, entry: bytes) -> None:
    data = zipped({"conversations.json": b"[" + (entry + b",") * 1_000_000 + b"1]"})
    done = await imported(services, user_id, data, "export.zip")
    assert done.state is ImportState.FAILED
    assert done.num_skipped == reader.MAX_BAD
    assert "are no chats" in done.problem


async def test_more_chats_than_anybody_has_are_not_read(
    services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MAX_CHATS", 3)
    data = json.dumps([chatgpt_conversation(f"c{number}", f"Chat {number}") for number in range(5)]).encode()
    done = await imported(services, user_id, data)
    assert (done.state, counts(done)) == (ImportState.FAILED, (3, 0, 0, 0))


def test_what_a_zip_unpacks_to_is_bounded_by_its_own_size(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"conversations.json": b'["' + b"a" * 300 * MiB + b'"]'}))
    progress = archive.Progress()
    with pytest.raises(archive.UnreadableFile):
        for _ in reader.read_conversations(path, progress):
            pass
    assert progress.num_bytes_read < 300 * MiB


async def test_a_zip_of_too_many_names_is_refused_before_it_is_read(
    services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 5_000)
    done = await imported(services, user_id, zipped({f"{number}.json": "[]" for number in range(200)}))
    assert done.state is ImportState.FAILED and "too many files" in done.problem


async def test_a_million_parts_in_one_message_are_refused(services: Services, user_id: str) -> None:
    entry = json.dumps(chatgpt_conversation()).replace('"What is this?"', '"",' * 1_000_000 + '"x"')
    done = await imported(services, user_id, f"[{entry},{json.dumps(open_webui_chat())}]".encode())
    assert counts(done) == (1, 0, 0, 1)
    assert "values" in done.skipped[0].reason


async def test_one_runs_at_a_time_and_can_be_cancelled(services: Services, user_id: str, ben_id: str) -> None:
    data = json.dumps([chatgpt_conversation(f"c{number}") for number in range(2_000)]).encode()
    ongoing = await services.imports.receive(user_id, "a.json", pieces(data, MiB), num_bytes=None)
    with pytest.raises(Conflict, match="running already"):
        await services.imports.receive(user_id, "b.json", pieces(b"[]"), num_bytes=2)
    assert counts(await imported(services, ben_id, json.dumps([open_webui_chat()]).encode())) == (1, 0, 0, 0)
    await until(lambda: ongoing.counts[Merged.ADDED] > 3)
    assert 0 < ongoing.fraction < 1
    await services.imports.cancel(user_id)
    assert ongoing.state is ImportState.CANCELLED
    assert list(services.settings.imports_dir.iterdir()) == []
    for chat in await everything(services, user_id):
        assert len(chat["messages"]) == 6
    num_stored = len(await everything(services, user_id))
    again = await imported(services, user_id, json.dumps([chatgpt_conversation("c0")]).encode())
    assert counts(again) == (0, 0, 1, 0)
    assert ongoing.counts[Merged.ADDED] <= num_stored <= ongoing.counts[Merged.ADDED] + 1 < 2_000


async def test_who_is_shut_out_imports_no_more(services: Services, user_id: str) -> None:
    data = json.dumps([chatgpt_conversation(f"c{number}") for number in range(2_000)]).encode()
    ongoing = await services.imports.receive(user_id, "a.json", pieces(data, MiB), num_bytes=None)
    await services.accounts.set_active(user_id, False)
    await until(lambda: not ongoing.is_running)
    assert ongoing.state is ImportState.CANCELLED


async def test_an_upload_that_breaks_off_leaves_nothing(services: Services, user_id: str) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield b"[" * 2 * MiB
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await services.imports.receive(user_id, "a.json", breaks(), num_bytes=None)
    assert services.imports.latest(user_id) is None
    assert list(services.settings.imports_dir.iterdir()) == []
    with pytest.raises(InvalidInput, match="empty"):
        await services.imports.receive(user_id, "a.json", pieces(b""), num_bytes=0)


async def test_a_file_beyond_the_limit_is_refused_while_it_comes(tmp_path: Path, shelf: Shelf) -> None:
    services = Services.open(Settings(data_dir=tmp_path / "data", import_max_bytes=10_000), shelf.load)
    user = await services.accounts.add_user("Anna", PASSWORD)
    with pytest.raises(TooLarge, match="10,000 bytes"):
        await services.imports.receive(user.id, "a.json", pieces(b"[" * 20_000), num_bytes=None)
    with pytest.raises(InvalidInput, match="no room on the disk"):
        await services.imports.receive(user.id, "a.json", pieces(b"[]"), num_bytes=2**60)
    await services.stop()
    services.close()


async def test_the_start_removes_what_a_crash_has_left(services: Services) -> None:
    leftover = services.settings.imports_dir / "0.part"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"x")
    await services.imports.remove_leftovers()
    assert not leftover.exists()


@pytest.mark.slow
async def test_sixty_megabytes_take_little_memory(services: Services, user_id: str, tmp_path: Path) -> None:
    """One chat is in memory, however many there are; out as well as in."""
    text = "A sentence of some length, with a number. " * 2_000
    path = tmp_path / "large.json"
    with path.open("w") as file:
        for number in range(60 * MiB // (8 * len(text))):
            nodes = [node("m0", None, ["m1"], "user", said(f"{number}?"))]
            nodes += [node(f"m{at}", f"m{at - 1}", [f"m{at + 1}"], "assistant", said(text)) for at in range(1, 9)]
            entry = {"id": f"c{number}", "mapping": {each["id"]: each for each in nodes}}
            file.write(("[" if number == 0 else ",") + json.dumps(entry))
        file.write("]")
    assert path.stat().st_size > 55 * MiB
    tracemalloc.start()
    done = await services.imports.read_here(user_id, path)
    (_, peak) = tracemalloc.get_traced_memory()
    assert done.state is ImportState.DONE and done.counts[Merged.ADDED] > 50
    assert peak < 25 * MiB, f"{peak / MiB:.0f} MiB"
    tracemalloc.reset_peak()
    download = await services.exports.everything(user_id, ExportFormat.JSON)
    num_bytes = sum([len(chunk) async for chunk in download.chunks])
    (_, peak) = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_bytes > 55 * MiB and peak < 25 * MiB, f"{peak / MiB:.0f} MiB"


async def test_the_loop_goes_on_while_a_file_is_read(services: Services, user_id: str, tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", [chatgpt_conversation(f"c{number}") for number in range(30)])
    reading = asyncio.create_task(services.imports.read_here(user_id, path))
    num_turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        num_turns += 1
    assert num_turns > 30


async def test_all_as_markdown_is_a_zip_with_a_file_a_chat(services: Services, user_id: str, ben_id: str) -> None:
    chats = [chatgpt_conversation("c1"), chatgpt_conversation("c2"), open_webui_chat("o", "漢字/..")]
    await imported(services, user_id, json.dumps(chats).encode())
    await imported(services, ben_id, json.dumps([open_webui_chat("b", "Ben's")]).encode())
    with zipfile.ZipFile(io.BytesIO(await exported(services, user_id, ExportFormat.MARKDOWN))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == [
            "2024-10-27 漢字.md", "2025-02-19 Cats and code (2).md", "2025-02-19 Cats and code.md",
        ]
        text = archive.read("2024-10-27 漢字.md").decode()
    assert text == (
        "# 漢字/..\n\n*2024-10-27 03:33 UTC*\n\n## System prompt\n\nYou are a baker.\n\n## You\n\nHow do I bake?\n\n"
        "## qwen3:8b\n\n<details>\n<summary>Thought first</summary>\n\nFlour & water.\n\nSalt.\n\n</details>\n\n"
        "Knead.\n"
    )


async def test_markdown_names_models_as_people_know_them(services: Services, user_id: str) -> None:
    """Also one that is gone."""
    sent = await services.chat.send(user_id, None, "Hello")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    await services.models.remove("parrot")
    text = await services.exports.one(user_id, sent.conversation_id, ExportFormat.MARKDOWN)
    assert b"\n## Parrot\n" in b"".join([piece async for piece in text.chunks])


async def test_nobody_with_no_chats_gets_an_empty_list(services: Services, user_id: str) -> None:
    assert json.loads(await exported(services, user_id)) == []


async def test_folders_tags_pins_and_the_archive_come_home_too(
    services: Services, user_id: str, ben_id: str
) -> None:
    ids = [(await services.chat.send(user_id, None, text)).conversation_id for text in "123"]
    for conversation_id, title in zip(ids, ("One", "Two", "Three"), strict=True):
        await services.organise.rename(user_id, conversation_id, title)
    folder, _ = await services.organise.create_folder(user_id, "Work")
    inner, _ = await services.organise.create_folder(user_id, "Office", parent_id=folder.id)
    await services.organise.move(user_id, ids[:1], inner.id)
    await services.organise.tag(user_id, ids[:1], "Big Plans")
    await services.organise.pin(user_id, [ids[2], ids[0]])
    await services.organise.archive(user_id, ids[1:2])
    file = await exported(services, user_id)
    entry = next(each for each in json.loads(file) if each["id"] == ids[0])
    assert (entry["folder_id"], entry["pinned"], entry["archived"]) == (inner.id, True, False)
    assert entry["meta"] == {"tags": ["big_plans"]}
    assert counts(await imported(services, ben_id, file)) == (3, 0, 0, 0)
    assert await _places(services, ben_id) == await _places(services, user_id) == {
        "One": (["Work", "Office"], 1, False, ["Big Plans"]),
        "Two": ([], None, True, []),
        "Three": ([], 0, False, []),
    }


async def test_of_open_webui_pins_archive_tags_and_folders_without_names_are_kept(
    services: Services, user_id: str
) -> None:
    chat = open_webui_chat() | {"pinned": True}
    chats = [
        chat | {"id": "a", "folder_id": "f1", "archived": False, "meta": {"tags": ["work\u200b", "\u3164"]}},
        chat | {"id": "b", "folder_id": "f1", "pinned": False, "archived": True, "meta": {}},
        chat | {"id": "c", "folder_id": 7, "pinned": "yes", "archived": None, "meta": {"tags": "x"}},
    ]
    assert counts(await imported(services, user_id, json.dumps(chats).encode())) == (3, 0, 0, 0)
    places = sorted((await _all_places(services, user_id)), key=str)
    assert places == [
        (["Imported"], 0, False, ["work"]), (["Imported"], None, True, []), ([], None, False, []),
    ]
    await services.organise.tag(user_id, [chat.id for chat in await _rows(services, user_id)], "mine")
    await imported(services, user_id, json.dumps(chats).encode())
    assert all("mine" in place[3] for place in await _all_places(services, user_id)), "what is here is never changed"


async def test_of_chatgpt_the_archive_and_the_stars_are_kept(services: Services, user_id: str) -> None:
    chats = [
        chatgpt_conversation() | {"conversation_id": "a", "is_archived": True},
        chatgpt_conversation() | {"conversation_id": "b", "is_starred": True},
    ]
    assert counts(await imported(services, user_id, json.dumps(chats).encode())) == (2, 0, 0, 0)
    assert sorted(await _all_places(services, user_id), key=str) == [([], 0, False, []), ([], None, True, [])]


async def _rows(services: Services, user_id: str) -> list[Conversation]:
    ids = await services.db.read(conversations.list_ids, user_id)
    return [await services.conversations.get(user_id, each) for each in ids]


async def _all_places(services: Services, user_id: str) -> list[tuple[list[str], int | None, bool, list[str]]]:
    places = [await services.db.read(place_of, row) for row in await _rows(services, user_id)]
    return [
        ([*place.folder], place.pin_position, place.archived_at is not None, [*place.tags]) for place in places
    ]


async def _places(services: Services, user_id: str) -> dict[str, tuple[list[str], int | None, bool, list[str]]]:
    rows = await _rows(services, user_id)
    return dict(zip((row.title for row in rows), await _all_places(services, user_id), strict=True))
