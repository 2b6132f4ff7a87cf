"""The queue of downloads: states, what outlives a restart, two at a time, one model however often it is asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
import pytest_asyncio
from sqlmodel import Session

from app.errors import Conflict, HubRefused, HubUnreachable, InvalidInput, NotFound
from app.hub.disk import KEPT_FREE_BYTES, Disk, NoRoom
from app.hub.pace import Hours
from app.services import download_queue
from app.services.changes import Change
from app.services.container import Services
from app.services.download_status import Meter
from app.services.downloads import DownloadRules
from app.services.model_facts import spec_from
from engine.errors import ModelLoadError
from engine.select import select_backend
from store import downloads
from store.errors import DatabaseUnusable
from store.tables import Download
from store.tables import DownloadState as State
from tests.app.house import turn
from tests.app.hub import TOKEN, Hub, sha256
from tests.app.shop import REPO, Shop, tiny_model, tiny_part
from tests.engine.tiny_safetensors import content_of, header_of

NAME = "parrot-Q4_K_M.gguf"
BIG = tiny_model()
SHARDS = [f"model-{number:05}-of-00002.safetensors" for number in (1, 2)]
WHOLE = {
    SHARDS[0]: content_of(header_of({"a": ("F32", [600], 2400)}), 2400),
    SHARDS[1]: content_of(header_of({"b": ("F32", [400], 1600)}), 1600),
    "model.safetensors.index.json": json.dumps({"weight_map": dict(zip("ab", SHARDS, strict=True))}).encode(),
    "config.json": json.dumps({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 259, "hidden_size": 32,
        "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "torch_dtype": "float32",
    }).encode(),
    "tokenizer.json": b"{}",
}


@pytest_asyncio.fixture
async def shop(services: Services, hub: Hub) -> AsyncIterator[Shop]:
    hub.add(REPO, {NAME: BIG, "parrot-Q8_0.gguf": tiny_model(1), "README.md": b"# Parrot"}, tags=["gguf"])
    shop = Shop.open(services, hub)
    await shop.downloads.start()
    yield shop
    await shop.close()


def content(path: str) -> bytes:
    return Path(path).read_bytes()


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


class TestOne:
    async def test_it_ends_as_a_model_that_knows_where_it_came_from(self, shop: Shop) -> None:
        asked = await shop.downloads.request(REPO)
        assert (asked.repo, asked.label, asked.total_bytes) == (REPO, "Q4_K_M", len(BIG))
        done = await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert (done.done_bytes, done.reason, done.model_id) == (len(BIG), "", "parrot-q4_k_m")
        model = await shop.services.models.find("parrot-q4_k_m")
        assert (model.name, model.repo, model.commit_sha) == ("Tiny 0", REPO, shop.hub.repos[REPO].commit)
        assert model.files == [{"path": model.path, "size_bytes": len(BIG), "sha256": sha256(BIG)}]
        assert spec_from(model).version.startswith(f"{REPO} at {model.commit_sha}, {NAME}, {len(BIG)} bytes, ")
        folder = shop.services.settings.models_dir
        assert Path(model.path) == folder / "birds" / "Parrot-GGUF" / model.commit_sha[:12] / NAME
        assert content(model.path) == BIG

    async def test_by_quantisation_or_by_file(self, shop: Shop) -> None:
        assert (await shop.downloads.request(REPO, "q8_0")).label == "Q8_0"
        assert (await shop.downloads.request(REPO, NAME)).label == "Q4_K_M"
        with pytest.raises(NotFound, match="has no 'Q2_K'"):
            await shop.downloads.request(REPO, "Q2_K")
        with pytest.raises(HubRefused, match="does not exist"):
            await shop.downloads.request("birds/Dodo")

    async def test_asked_for_twice_it_is_one(self, shop: Shop) -> None:
        shop.hub.hold()
        first, second = await asyncio.gather(shop.downloads.request(REPO), shop.downloads.request(REPO, NAME))
        assert first.id == second.id
        shop.hub.release()
        await shop.until(first.id, lambda status: status.state is State.ON_DISK)
        third = await shop.downloads.request(REPO, "Q4_K_M")
        assert (third.id, third.state) == (first.id, State.ON_DISK)
        assert shop.hub.sent_bytes[NAME] == len(BIG)
        assert len(shop.downloads.list()) == 1

    async def test_pages_are_told_how_far_it_is(self, shop: Shop) -> None:
        told: list[Change] = []
        shop.services.changes.watch(None, told.append)
        asked = await shop.downloads.request(REPO)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        await turn()
        assert Change("downloads") in told
        assert Change("models") in told

    async def test_a_split_model_is_one_and_is_deleted_as_one(self, shop: Shop) -> None:
        names = [f"Q8_0/big-Q8_0-{number:05}-of-00002.gguf" for number in (1, 2)]
        shop.hub.add("birds/Big", {name: tiny_part(number, 2) for number, name in enumerate(names)})
        asked = await shop.downloads.request("birds/Big", "Q8_0")
        done = await shop.until(asked.id, lambda status: status.state in (State.ON_DISK, State.FAILED))
        assert (done.state, done.model_id) == (State.ON_DISK, "big-q8_0")
        model = await shop.services.models.find("big-q8_0")
        assert model.size_bytes == asked.total_bytes == sum(len(tiny_part(number, 2)) for number in (0, 1))
        assert files_in(shop.services.settings.models_dir) == [Path(name).name for name in names]
        await shop.services.models.remove("big-q8_0")
        assert list(shop.services.settings.models_dir.iterdir()) == []

    async def test_a_missing_part_is_named_before_anything_is_fetched(self, shop: Shop) -> None:
        shop.hub.add("birds/Big", {"big-Q8_0-00002-of-00002.gguf": b"x"})
        with pytest.raises(InvalidInput, match=r"big-Q8_0-00001-of-00002\.gguf is missing"):
            await shop.downloads.request("birds/Big")
        assert shop.hub.heard("files") == []

    async def test_sharded_safetensors_are_one_model_with_all_that_it_needs(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.services.downloads.runnable_formats", lambda: frozenset({"gguf", "safetensors"}))
        monkeypatch.setattr("engine.judge.select_backend", lambda _path: "torch")
        shop.hub.add("birds/Whole", WHOLE | {"pytorch_model.bin": b"\x80\x02"})
        asked = await shop.downloads.request("birds/Whole")
        done = await shop.until(asked.id, lambda status: status.state in (State.ON_DISK, State.FAILED))
        assert (done.state, done.model_id, done.reason) == (State.ON_DISK, "whole", "")
        model = await shop.services.models.find("whole")
        size_bytes = sum(len(WHOLE[name]) for name in SHARDS)
        assert (model.file_format, model.architecture, model.size_bytes) == ("safetensors", "llama", size_bytes)
        assert files_in(Path(model.path)) == sorted(WHOLE)
        await shop.services.models.remove("whole")
        assert list(shop.services.settings.models_dir.iterdir()) == []

    async def test_what_nothing_here_can_run_is_refused_unless_it_is_wanted_anyway(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.services.downloads.runnable_formats", lambda: frozenset({"gguf"}))
        shop.hub.add("birds/Whole", {name: WHOLE[name] for name in WHOLE if name != "tokenizer.json"})
        with pytest.raises(InvalidInput, match="Or take a GGUF file"):
            await shop.downloads.request("birds/Whole")
        asked = await shop.downloads.request("birds/Whole", anyway=True)
        ended = await shop.until(asked.id, lambda status: status.state in (State.ON_DISK, State.FAILED))
        assert ended.state is State.FAILED
        assert ended.reason.startswith("It came whole and unharmed, but cannot be used: ")

    async def test_a_file_that_is_no_model_is_told_and_no_model(self, shop: Shop) -> None:
        shop.hub.add("birds/Fake", {"fake-Q8_0.gguf": b"GGUF" + bytes(3000)})
        asked = await shop.downloads.request("birds/Fake")
        ended = await shop.until(asked.id, lambda status: status.state is State.FAILED)
        assert "cannot be used" in ended.reason
        assert [entry.model.id for entry in await shop.services.models.list()] == ["parrot"]

    async def test_the_shared_cache_is_referenced_in_place_and_never_deleted(
        self, services: Services, hub: Hub, tmp_path: Path
    ) -> None:
        hub.add(REPO, {NAME: BIG})
        shop = Shop.open(services, hub, hub_cache_dir=tmp_path / "cache", download_layout="shared")
        await shop.downloads.start()
        asked = await shop.downloads.request(REPO)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        model = await services.models.find("parrot-q4_k_m")
        folder = tmp_path / "cache" / "models--birds--Parrot-GGUF"
        assert Path(model.path) == folder / "snapshots" / hub.repos[REPO].commit / NAME
        await services.models.remove(model.id)
        assert content(model.path) == BIG
        assert files_in(folder / "blobs") == [sha256(BIG)]
        await shop.close()

    async def test_a_removed_model_comes_again_when_it_is_asked_for(self, shop: Shop) -> None:
        first = await shop.downloads.request(REPO)
        await shop.until(first.id, lambda status: status.state is State.ON_DISK)
        await shop.services.models.remove("parrot-q4_k_m")
        again = await shop.downloads.request(REPO)
        await shop.until(again.id, lambda status: status.state is State.ON_DISK)
        assert shop.hub.sent_bytes[NAME] == 2 * len(BIG)

    async def test_a_new_commit_updates_the_model_and_can_be_taken_back_a_new_card_is_none(self, shop: Shop) -> None:
        first = await shop.downloads.request(REPO)
        await shop.until(first.id, lambda status: status.state is State.ON_DISK)
        shop.hub.change(REPO, "README.md", b"# Parrot, now with a longer card")
        assert (await shop.downloads.request(REPO)).state is State.ON_DISK
        commit = shop.hub.change(REPO, NAME, tiny_model(2))
        asked = await shop.downloads.request(REPO)
        done = await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert (done.commit_sha, done.model_id) == (commit, "parrot-q4_k_m")
        model = await shop.services.models.find("parrot-q4_k_m")
        assert (model.commit_sha, content(model.path)) == (commit, tiny_model(2))
        assert [file["sha256"] for file in model.files] == [sha256(tiny_model(2))]
        old, new = await shop.services.model_versions.list("parrot-q4_k_m")
        assert (old.is_there, old.is_in_use, new.is_in_use) == (True, False, True)
        assert old.version.startswith(f"{REPO} at ")
        model = await shop.services.model_versions.roll_back("parrot-q4_k_m")
        assert content(model.path) == BIG
        again = await shop.downloads.request(REPO)      # it is here: nothing comes again
        assert (again.state, again.model_id) == (State.ON_DISK, "parrot-q4_k_m")
        await shop.services.models.remove("parrot-q4_k_m")
        assert files_in(shop.services.settings.models_dir) == []

    async def test_also_where_the_finished_download_was_forgotten_meanwhile(self, shop: Shop) -> None:
        first = await shop.downloads.request(REPO)
        await shop.until(first.id, lambda status: status.state is State.ON_DISK)
        await shop.downloads.cancel(first.id)
        shop.hub.change(REPO, NAME, tiny_model(2))
        asked = await shop.downloads.request(REPO)
        done = await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert done.model_id == "parrot-q4_k_m"
        assert [entry.model.id for entry in await shop.services.models.list() if entry.model.repo] == ["parrot-q4_k_m"]
        other = await shop.downloads.request(REPO, "Q8_0")      # another file of it is another model
        done = await shop.until(other.id, lambda status: status.state is State.ON_DISK)
        assert done.model_id == "parrot-q8_0"


class TestStops:
    async def test_pausing_keeps_what_came_and_resuming_fetches_the_rest(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 3)
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 3)
        paused = await shop.downloads.pause(asked.id)
        assert paused.state is State.PAUSED
        assert 0 < paused.done_bytes < len(BIG)
        with pytest.raises(Conflict):
            await shop.downloads.pause(asked.id)
        shop.hub.release()
        shop.hub.sent_bytes.clear()
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert shop.hub.sent_bytes[NAME] == len(BIG) - paused.done_bytes
        with pytest.raises(Conflict):
            await shop.downloads.resume(asked.id)

    async def test_giving_up_leaves_nothing(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 3)
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 3)
        await shop.downloads.cancel(asked.id)
        assert files_in(shop.services.settings.models_dir) == []
        assert shop.downloads.list() == []
        with pytest.raises(NotFound):
            shop.downloads.get(asked.id)

    async def test_forgetting_a_finished_one_keeps_the_model(self, shop: Shop) -> None:
        asked = await shop.downloads.request(REPO)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        await shop.downloads.cancel(asked.id)
        assert shop.downloads.list() == []
        assert content((await shop.services.models.find("parrot-q4_k_m")).path) == BIG

    async def test_wrong_content_fails_is_no_model_and_comes_right_when_resumed(self, shop: Shop) -> None:
        shop.hub.faults.flips_byte_at = len(BIG) // 2
        asked = await shop.downloads.request(REPO)
        failed = await shop.until(asked.id, lambda status: status.state is State.FAILED)
        assert "not what the hub promised" in failed.reason
        assert failed.done_bytes == 0
        assert [entry.model.id for entry in await shop.services.models.list()] == ["parrot"]
        assert files_in(shop.services.settings.models_dir) == []
        shop.hub.faults.flips_byte_at = None
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert (await shop.services.models.find("parrot-q4_k_m")).size_bytes == len(BIG)

    async def test_a_file_that_was_replaced_is_taken_anew_when_resumed(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 3)
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 3)
        await shop.downloads.pause(asked.id)
        shop.hub.release()
        shop.hub.change_in_place(REPO, NAME, tiny_model(5))
        await shop.downloads.resume(asked.id)
        failed = await shop.until(asked.id, lambda status: status.state is State.FAILED)
        assert "replaced at its source" in failed.reason
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert content((await shop.services.models.find("parrot-q4_k_m")).path) == tiny_model(5)

    async def test_a_lost_network_fails_with_words_and_goes_on_when_resumed(self, shop: Shop) -> None:
        shop.hub.faults.cuts_at = 0.4
        asked = await shop.downloads.request(REPO)
        failed = await shop.until(asked.id, lambda status: status.state is State.FAILED)
        assert "breaks off" in failed.reason
        assert failed.done_bytes > 0
        shop.hub.faults.cuts_at = None
        shop.hub.sent_bytes.clear()
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert shop.hub.sent_bytes[NAME] == len(BIG) - failed.done_bytes

    async def test_a_gated_model_comes_once_there_is_a_token(self, shop: Shop) -> None:
        shop.hub.faults.wants_token = True
        asked = await shop.downloads.request(REPO)
        failed = await shop.until(asked.id, lambda status: status.state is State.FAILED)
        assert "Accept their terms" in failed.reason
        await shop.hub_service.tokens.set(TOKEN)
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert not any("authorization" in each.headers for each in shop.hub.heard("files"))

    async def test_offline_is_told_at_once(self, services: Services, hub: Hub) -> None:
        shop = Shop.open(services, hub, hub_offline=True)
        await shop.downloads.start()
        with pytest.raises(HubUnreachable):
            await shop.downloads.request(REPO)
        with pytest.raises(HubUnreachable):
            await shop.hub_service.search("parrot")
        assert shop.downloads.list() == []
        await shop.close()


class TestQueue:
    async def test_two_run_at_a_time_in_the_order_they_were_asked_for(self, shop: Shop) -> None:
        shop.hub.hold()
        for number in range(4):
            shop.hub.add(f"birds/B{number}", {f"b{number}-Q8_0.gguf": tiny_model(number)})
        asked = [await shop.downloads.request(f"birds/B{number}") for number in range(4)]
        assert [status.state for status in shop.downloads.list()] == [
            State.DOWNLOADING, State.DOWNLOADING, State.QUEUED, State.QUEUED
        ]
        assert "another download" in shop.downloads.get(asked[2].id).reason
        await shop.downloads.pause(asked[3].id)
        await shop.downloads.pause(asked[0].id)
        assert shop.downloads.get(asked[2].id).state is State.DOWNLOADING
        shop.hub.release()
        for each in asked[1:3]:
            await shop.until(each.id, lambda status: status.state is State.ON_DISK)
        assert [status.state for status in shop.downloads.list()] == [
            State.PAUSED, State.ON_DISK, State.ON_DISK, State.PAUSED
        ]

    async def test_two_of_one_repository_which_may_share_files_run_one_after_the_other(self, shop: Shop) -> None:
        shop.hub.hold()
        shop.hub.add("birds/Two", {f"two-{kind}.gguf": tiny_model(at) for at, kind in enumerate(("Q4_0", "Q8_0"))})
        shop.hub.add("birds/Third", {"third-Q8_0.gguf": tiny_model(3)})
        first, second = [await shop.downloads.request("birds/Two", kind) for kind in ("Q4_0", "Q8_0")]
        third = await shop.downloads.request("birds/Third")
        assert [shop.downloads.get(each.id).state for each in (first, second, third)] == [
            State.DOWNLOADING, State.QUEUED, State.DOWNLOADING
        ]
        shop.hub.release()
        for each in (first, second, third):
            await shop.until(each.id, lambda status: status.state is State.ON_DISK)

    async def test_a_restart_goes_on_with_what_ran_and_leaves_what_paused(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 3)
        running = await shop.downloads.request(REPO)
        paused = await shop.downloads.request(REPO, "Q8_0")
        await shop.downloads.pause(paused.id)
        await shop.held(running.id, len(BIG) // 3)
        await shop.close()
        shop.hub.release()
        before = shop.hub.sent_bytes[NAME]
        after = Shop.open(shop.services, shop.hub)
        await after.downloads.start()
        await after.until(running.id, lambda status: status.state is State.ON_DISK)
        assert after.downloads.get(paused.id).state is State.PAUSED
        assert shop.hub.sent_bytes[NAME] < before + len(BIG)
        await after.close()

    async def test_one_process_has_the_queue_the_other_says_so(self, shop: Shop) -> None:
        second = Shop.open(shop.services, shop.hub)
        await second.downloads.start()
        with pytest.raises(Conflict, match="Another Inglenook"):
            await second.downloads.request(REPO)
        await second.close()
        assert (await shop.downloads.request(REPO)).repo == REPO

    async def test_a_command_runs_what_it_was_asked_for_and_nothing_else(self, shop: Shop) -> None:
        shop.hub.hold()
        old = await shop.downloads.request(REPO)
        await shop.close()
        shop.hub.release()
        command = Shop.open(shop.services, shop.hub)
        await command.downloads.start(runs_all=False)
        asked = await command.downloads.request(REPO, "Q8_0")
        await command.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert command.downloads.get(old.id).state is State.QUEUED
        assert "when Inglenook runs" in command.downloads.get(old.id).reason
        await command.close()
        server = Shop.open(shop.services, shop.hub)
        await server.downloads.start()
        await server.until(old.id, lambda status: status.state is State.ON_DISK)
        await server.close()

    async def test_a_command_goes_on_with_what_waited_when_it_is_asked_for(self, shop: Shop) -> None:
        shop.hub.hold()
        old = await shop.downloads.request(REPO)
        await shop.close()
        shop.hub.release()
        for ask in ("request", "resume"):
            command = Shop.open(shop.services, shop.hub)
            await command.downloads.start(runs_all=False)
            if ask == "request":
                shop.hub.hold()
                assert (await command.downloads.request(REPO)).state is State.DOWNLOADING
                shop.hub.release()
            else:
                assert (await command.downloads.resume(old.id)).state is State.DOWNLOADING
                await command.until(old.id, lambda status: status.state is State.ON_DISK)
            await command.close()

    async def test_when_the_other_process_ends_the_queue_is_taken_over_as_it_is_then(self, shop: Shop) -> None:
        second = Shop.open(shop.services, shop.hub)
        await second.downloads.start()
        shop.hub.hold()
        asked = await shop.downloads.request(REPO)
        await shop.close()
        shop.hub.release()
        other = await second.downloads.request(REPO, "Q8_0")
        for each in (asked, other):
            await second.until(each.id, lambda status: status.state is State.ON_DISK)
        await second.close()


    async def test_a_database_that_cannot_be_read_at_that_moment_is_read_the_next_time(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(download_queue, "LOOK_AGAIN_S", 0.01)
        shop.hub.hold()
        asked = await shop.downloads.request(REPO)
        second = Shop.open(shop.services, shop.hub)
        await second.downloads.start()
        list_all, failures = downloads.list_all, [DatabaseUnusable("The disk is full."), OSError("odd")]

        def list_or_fail(session: Session) -> list[Download]:
            if failures:
                raise failures.pop()
            return list_all(session)

        monkeypatch.setattr(downloads, "list_all", list_or_fail)
        await shop.close()
        shop.hub.release()
        await second.until(asked.id, lambda status: status.state is State.ON_DISK)
        assert not failures
        await second.close()


class TestPartial:
    """CASE 14: half a file is never taken for a model."""

    async def test_it_is_shown_as_partial_and_nothing_loads_it(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 2)
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 2)
        await shop.close()
        after = Shop.open(shop.services, shop.hub)
        await after.downloads.start(runs_all=False)
        status = after.downloads.get(asked.id)
        assert status.state is State.QUEUED
        assert 0 < status.fraction < 1
        (part,) = shop.services.settings.models_dir.rglob("*.part")
        assert part.read_bytes()[:4] == b"GGUF"
        with pytest.raises(ModelLoadError, match="not downloaded whole"):
            select_backend(part)
        with pytest.raises(InvalidInput, match="not downloaded whole"):
            await shop.services.models.add(part)
        assert [entry.model.id for entry in await shop.services.models.list()] == ["parrot"]
        await after.close()


class TestDisk:
    """CASE 13."""

    async def test_no_room_is_told_with_numbers_before_anything_is_fetched(self, services: Services, hub: Hub) -> None:
        hub.add(REPO, {NAME: BIG})
        shop = Shop.open(services, hub, Disk(free=lambda _folder: KEPT_FREE_BYTES + 100_000))
        await shop.downloads.start()
        with pytest.raises(NoRoom, match=r"0\.\d MiB are still to come, 2\.0 GiB of the disk stay free"):
            await shop.downloads.request(REPO)
        assert shop.downloads.list() == []
        assert hub.heard("files") == []
        await shop.close()

    async def test_what_others_are_still_to_bring_counts(self, services: Services, hub: Hub) -> None:
        hub.add(REPO, {NAME: BIG, "parrot-Q8_0.gguf": tiny_model(1)})
        hub.hold()
        shop = Shop.open(services, hub, Disk(free=lambda _folder: KEPT_FREE_BYTES + int(1.5 * len(BIG))))
        await shop.downloads.start()
        await shop.downloads.request(REPO)
        with pytest.raises(NoRoom, match="promised to other downloads"):
            await shop.downloads.request(REPO, "Q8_0")
        await shop.close()

    async def test_a_disk_that_fills_midway_pauses_it_and_all_else_goes_on(self, services: Services, hub: Hub) -> None:
        hub.add(REPO, {NAME: BIG})
        hub.hold(NAME, len(BIG) // 4)
        free = {"bytes": 10**10}
        shop = Shop.open(services, hub, Disk(free=lambda _folder: free["bytes"]))
        await shop.downloads.start()
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 4)
        free["bytes"] = 10**9
        paused = await shop.until(asked.id, lambda status: status.state is State.PAUSED)
        assert "is full" in paused.reason
        assert (await services.accounts.add_user("Ben", "correct horse battery")).name == "Ben"
        free["bytes"] = 10**10
        hub.release()
        await shop.downloads.resume(asked.id)
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
        await shop.close()


class TestRules:
    async def test_they_are_kept_and_wrong_ones_refused(self, shop: Shop) -> None:
        rules = DownloadRules(layout="shared", bytes_per_s=5_000_000, hours="22:00-06:00")
        await shop.downloads.set_rules(rules)
        await shop.close()
        after = Shop.open(shop.services, shop.hub)
        await after.downloads.start()
        assert after.downloads.rules == rules
        for wrong in (DownloadRules(hours="25:00-06:00"), DownloadRules(hours="night"), DownloadRules(bytes_per_s=3)):
            with pytest.raises(InvalidInput):
                await after.downloads.set_rules(wrong)
        await after.close()

    async def test_outside_the_hours_what_runs_waits_and_goes_on_when_they_are_lifted(self, shop: Shop) -> None:
        shop.hub.hold(NAME, len(BIG) // 3)
        asked = await shop.downloads.request(REPO)
        await shop.held(asked.id, len(BIG) // 3)
        hour = datetime.now().hour
        later = f"{(hour + 3) % 24:02}:00-{(hour + 4) % 24:02}:00"
        await shop.downloads.set_rules(DownloadRules(hours=later))
        waiting = shop.downloads.get(asked.id)
        assert waiting.state is State.QUEUED
        assert later in waiting.reason
        shop.hub.release()
        await shop.downloads.set_rules(DownloadRules())
        await shop.until(asked.id, lambda status: status.state is State.ON_DISK)

    @pytest.mark.parametrize(
        ("hours", "at", "wait_s"),
        [
            ("", "12:00", 0), ("22:00-06:00", "23:00", 0), ("22:00-06:00", "05:59", 0), ("22:00-06:00", "06:00", 57600),
            ("22:00-06:00", "21:00", 3600), ("01:00-05:00", "00:00", 3600), ("01:00-05:00", "05:00", 72000),
            ("01:00-05:00", "03:00", 0), ("08:00-08:00", "03:00", 0),
        ],
    )
    def test_hours_may_span_midnight(self, hours: str, at: str, wait_s: float) -> None:
        assert Hours(hours).wait_s(datetime.fromisoformat(f"2026-03-03T{at}")) == wait_s


def test_the_meter_follows_what_came_within_the_last_seconds() -> None:
    meter = Meter()
    assert meter.bytes_per_s is None
    for second in range(30):
        meter.sample(second, 1000 * second if second < 15 else 15_000 + 5000 * (second - 15))
    assert meter.bytes_per_s == 5000
    meter.sample(30, 0)
    assert meter.bytes_per_s is None, "it was begun anew"


async def test_an_admin_s_token_never_shows_in_what_is_logged(
    shop: Shop, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    shop.hub.faults.wants_token = True
    await shop.hub_service.tokens.set(TOKEN)
    asked = await shop.downloads.request(REPO)
    await shop.until(asked.id, lambda status: status.state is State.ON_DISK)
    shown = capfd.readouterr()
    assert TOKEN not in shown.out + shown.err + caplog.text + json.dumps(asked.reason)
