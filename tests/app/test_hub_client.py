"""Asking the hub: search, a model's page, its files by quantisation, and what is told when it does not answer.

The stand-in is held against huggingface_hub itself, and our layout of the shared cache likewise.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.errors import HubBusy, HubError, HubRefused, HubUnreachable, InvalidInput, NotFound
from app.hub.client import HubClient
from app.hub.disk import Disk
from app.hub.files import RemoteFile, check_whole, choose, variants_of
from app.hub.layout import SharedLayout, layout_of
from app.hub.transfer import Transfer
from tests.app.hub import TOKEN, Hub, git_oid, sha256

GGUF = b"GGUF" + bytes(5000)


@pytest_asyncio.fixture
async def client(hub: Hub) -> AsyncIterator[HubClient]:
    client = HubClient(hub.url)
    yield client
    await client.close()


@pytest.fixture
def birds(hub: Hub) -> Hub:
    hub.add(
        "birds/Parrot-GGUF", {"README.md": b"# Parrot\nTalks.", "parrot-Q8_0.gguf": GGUF, "config.json": b"{}"},
        tags=["gguf", "license:mit"], downloads=5, likes=9,
        gguf={"total": 135_000_000, "architecture": "llama", "context_length": 8192},
    )
    hub.add("birds/Sparrow-GGUF", {"s-Q4_K_M.gguf": GGUF}, tags=["gguf", "license:apache-2.0"], downloads=50, likes=1)
    hub.add("birds/Parrot", {"model.safetensors": b"x" * 2000}, tags=["safetensors", "license:mit"], downloads=500)
    return hub


class TestSearch:
    async def test_by_text_format_and_licence_most_loaded_first(self, birds: Hub, client: HubClient) -> None:
        assert [each.repo for each in await client.search("arrow")] == ["birds/Sparrow-GGUF"]
        assert [each.repo for each in await client.search()] == ["birds/Sparrow-GGUF", "birds/Parrot-GGUF"]
        assert [each.repo for each in await client.search(licence="mit")] == ["birds/Parrot-GGUF"]
        assert [each.repo for each in await client.search(file_format="safetensors")] == ["birds/Parrot"]
        assert [each.repo for each in await client.search(sort="likes", limit=1)] == ["birds/Parrot-GGUF"]
        assert len(await client.search(limit=1)) == 1
        assert await client.search("dodo") == []

    async def test_it_tells_what_a_person_chooses_by(self, birds: Hub, client: HubClient) -> None:
        parrot = (await client.search("parrot"))[0]
        assert (parrot.licence, parrot.downloads, parrot.likes, parrot.is_gated) == ("mit", 5, 9, False)
        assert (parrot.num_parameters, parrot.context_tokens) == (135_000_000, 8192)
        assert parrot.modified_at is not None and parrot.modified_at.tzinfo is not None

    async def test_nothing_that_names_this_machine_or_person_is_sent(self, birds: Hub, client: HubClient) -> None:
        await client.search("parrot")
        (asked,) = birds.heard("hub")
        assert set(asked.headers) == {"accept", "accept-encoding", "connection", "host", "user-agent"}
        assert asked.headers["user-agent"].startswith("inglenook/")


class TestPage:
    async def test_files_by_quantisation_with_sizes_hashes_and_the_commit(self, birds: Hub, client: HubClient) -> None:
        page = await client.page("birds/Parrot-GGUF")
        assert page.commit_sha == birds.repos["birds/Parrot-GGUF"].commit
        (variant,) = page.variants
        assert (variant.label, variant.file_format, variant.size_bytes) == ("Q8_0", "gguf", len(GGUF))
        assert variant.files == (RemoteFile(name="parrot-Q8_0.gguf", size_bytes=len(GGUF), sha256=sha256(GGUF)),)
        assert RemoteFile(name="config.json", size_bytes=2, git_oid=git_oid(b"{}")) in page.files
        assert await client.card("birds/Parrot-GGUF", page.commit_sha) == "# Parrot\nTalks."
        assert await client.card("birds/Sparrow-GGUF", birds.repos["birds/Sparrow-GGUF"].commit) == ""

    async def test_one_of_an_older_commit(self, birds: Hub, client: HubClient) -> None:
        old = birds.repos["birds/Parrot-GGUF"].commit
        birds.change("birds/Parrot-GGUF", "parrot-Q8_0.gguf", GGUF + b"!")
        assert (await client.page("birds/Parrot-GGUF")).variants[0].size_bytes == len(GGUF) + 1
        assert (await client.page("birds/Parrot-GGUF", old)).variants[0].size_bytes == len(GGUF)

    async def test_gated_models_say_so_and_open_with_a_token(self, birds: Hub, client: HubClient) -> None:
        birds.faults.wants_token = True
        page = await client.page("birds/Parrot-GGUF")
        assert page.model.is_gated
        with pytest.raises(HubRefused, match="Accept their terms"):
            await client.card("birds/Parrot-GGUF", page.commit_sha)
        client.token = TOKEN
        assert (await client.card("birds/Parrot-GGUF", page.commit_sha)).startswith("# Parrot")

    @pytest.mark.parametrize(
        "repo", ["parrot", "a/b/c", "../..", "a/..", "a/b?x", "a/b c", "a/", "/b", "a/b--c", "ü/b"]
    )
    async def test_what_is_no_repository_is_not_asked_for(self, birds: Hub, client: HubClient, repo: str) -> None:
        with pytest.raises(InvalidInput, match="owner/name"):
            await client.page(repo)
        assert birds.asked == []


class TestNoAnswer:
    async def test_unknown_models_are_told(self, birds: Hub, client: HubClient) -> None:
        with pytest.raises(HubRefused, match="does not exist, is private"):
            await client.page("birds/Dodo")
        with pytest.raises(NotFound):
            await client.page("birds/Parrot", "0" * 40)

    @pytest.mark.parametrize(("said", "words"), [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000, "did not answer with JSON"),
        (b"\x16\x03\x01 no HTTP at all\r\n\r\n", "breaks off, or answers what is no HTTP"),
        (b"", "breaks off, or answers what is no HTTP"),
    ])
    async def test_what_is_no_answer_is_told_as_that(self, said: bytes, words: str) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            client = HubClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            with pytest.raises(HubError, match=words):
                await client.page("birds/Parrot")
            await client.close()

    async def test_offline_is_told_at_once(self, hub: Hub) -> None:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            client = HubClient(f"http://127.0.0.1:{nobody.getsockname()[1]}")
            with pytest.raises(HubUnreachable, match="cannot be reached"):
                await client.search("parrot")
            await client.close()
        switched_off = HubClient(hub.url, is_offline=True)
        with pytest.raises(HubUnreachable, match="switched off"):
            await switched_off.search("parrot")
        assert hub.asked == []
        await switched_off.close()

    async def test_a_hub_with_too_much_to_do_says_how_long_to_wait(self, birds: Hub, client: HubClient) -> None:
        birds.faults.api_status, birds.faults.retry_after = 429, "30"
        with pytest.raises(HubBusy, match="30 s") as busy:
            await client.search("parrot")
        assert busy.value.retry_after_s == 30
        birds.faults.retry_after = "Wed, 21 Oct 2015 07:28:00 GMT"
        with pytest.raises(HubBusy) as busy:
            await client.search("parrot")
        assert busy.value.retry_after_s == 0
        birds.faults.retry_after = f"Wed, 21 Oct {10**20} 07:28:00 GMT"
        with pytest.raises(HubBusy) as busy:
            await client.search("parrot")
        assert busy.value.retry_after_s is None
        birds.faults.api_status = 500
        with pytest.raises(HubError, match="500"):
            await client.search("parrot")


def files(*names: str) -> list[RemoteFile]:
    return [RemoteFile(name=name, size_bytes=number, git_oid="0" * 40) for number, name in enumerate(names, 1)]


class TestVariants:
    @pytest.mark.parametrize(
        ("name", "label"),
        [
            ("Qwen3-0.6B-Q4_K_M.gguf", "Q4_K_M"), ("qwen2.5-7b-instruct-q8_0.gguf", "Q8_0"),
            ("m.IQ2_XXS.gguf", "IQ2_XXS"),
            ("gpt-oss-20b-mxfp4.gguf", "MXFP4"), ("m-BF16.gguf", "BF16"), ("m-f16.gguf", "F16"),
            ("m-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"), ("Q6_K/model.gguf", "Q6_K"), ("model.gguf", "model"),
            ("TQ2_0/x-TQ1_0.gguf", "TQ1_0"), ("smollm2-135m-instruct-q4_1.gguf", "Q4_1"),
        ],
    )
    def test_a_file_is_called_by_its_quantisation(self, name: str, label: str) -> None:
        assert [each.label for each in variants_of(files(name))] == [label]

    def test_split_ggufs_are_one_and_lead_with_their_first_part(self) -> None:
        parts = [f"Q8_0/big-Q8_0-{number:05}-of-00003.gguf" for number in (2, 3, 1)]
        (variant,) = variants_of(files(*parts))
        assert [file.name for file in variant.files] == sorted(parts)
        assert (variant.label, variant.missing, variant.size_bytes) == ("Q8_0", (), 6)

    def test_a_missing_part_is_named(self) -> None:
        (variant,) = variants_of(files("big-Q8_0-00001-of-00003.gguf", "big-Q8_0-00003-of-00003.gguf"))
        assert variant.missing == ("big-Q8_0-00002-of-00003.gguf",)
        with pytest.raises(InvalidInput, match=r"big-Q8_0-00002-of-00003\.gguf is missing there"):
            check_whole(variant, "a/b")
        (endless,) = variants_of(files("x-00001-of-99999.gguf"))
        assert len(endless.missing) <= 1000

    def test_sharded_safetensors_are_one_with_what_they_need_and_no_pickle(self) -> None:
        (variant,) = variants_of(files(
            "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
            "config.json", "tokenizer.json", "merges.txt", "pytorch_model.bin", "evil.pkl", "onnx/config.json",
        ))
        assert variant.label == "safetensors"
        assert [file.name for file in variant.files] == [
            "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "config.json", "merges.txt",
            "model.safetensors.index.json", "tokenizer.json",
        ]
        assert len(variant.weight_files) == 2

    def test_two_of_one_quantisation_are_told_apart_by_their_names(self) -> None:
        found = variants_of(files("small-Q8_0.gguf", "large-Q8_0.gguf", "large-Q4_0.gguf", "mmproj-F16.gguf"))
        assert [each.label for each in found] == ["small-Q8_0.gguf", "large-Q8_0.gguf", "Q4_0"]

    def test_names_that_lead_elsewhere_are_as_if_not_there(self) -> None:
        for name in ("../x-Q8_0.gguf", "/etc/x.gguf", "a/../../x.gguf", "a\\..\\x.gguf", "C:/x.gguf", "a//x.gguf",
                     "x\0.gguf", "a/./x.gguf", "é" * 600 + ".gguf", "C:x.gguf"):
            assert variants_of(files(name)) == (), name

    def test_choosing_is_by_quantisation_by_file_or_by_what_most_take(self) -> None:
        found = variants_of(files("m-Q8_0.gguf", "m-Q2_K.gguf", "m-Q4_K_M.gguf", "m-F16.gguf"))
        assert choose(found, "", "a/b").label == "Q4_K_M"
        assert choose(found, "q8_0", "a/b").label == "Q8_0"
        assert choose(found, "m-Q2_K.gguf", "a/b").label == "Q2_K"
        with pytest.raises(NotFound, match=r"has no 'Q5_0'\. It has: Q8_0, Q2_K, Q4_K_M, F16"):
            choose(found, "Q5_0", "a/b")
        with pytest.raises(NotFound, match="no GGUF"):
            choose([], "", "a/b")
        assert choose(variants_of(files("m-Q2_K.gguf", "model.safetensors")), "", "a/b").label == "Q2_K"


def ask_the_library(hub: Hub, home: Path, code: str) -> Any:
    """In a process of its own: it reads its settings when it is imported."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
        "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
    }
    code = f"import json\nimport huggingface_hub as h\napi = h.HfApi()\nprint(json.dumps({code}, default=str))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
class TestAsTheLibrary:
    """What our stand-in says is what Hugging Face's own library understands, and what we write it reads."""

    def test_it_finds_describes_and_loads_from_our_stand_in(self, birds: Hub, tmp_path: Path) -> None:
        repo = "birds/Parrot-GGUF"
        search = "api.list_models(search='bird', filter=['gguf', 'license:mit'], sort='downloads')"
        found = ask_the_library(birds, tmp_path, f"[m.id for m in {search}]")
        assert found == [repo]
        described = ask_the_library(
            birds, tmp_path,
            f"(lambda i: [i.sha, i.gated, [[s.rfilename, s.size, s.lfs and s.lfs.sha256] for s in i.siblings]])"
            f"(api.model_info('{repo}', files_metadata=True))",
        )
        assert described[0] == birds.repos[repo].commit
        assert ["parrot-Q8_0.gguf", len(GGUF), sha256(GGUF)] in described[2]
        for name in ("parrot-Q8_0.gguf", "config.json"):
            loaded = Path(ask_the_library(birds, tmp_path, f"h.hf_hub_download('{repo}', '{name}')"))
            assert loaded.read_bytes() == birds.repos[repo].files[name]

    async def test_the_shared_cache_that_we_write_is_whole_to_the_library(
        self, birds: Hub, client: HubClient, tmp_path: Path
    ) -> None:
        repo = "birds/Parrot-GGUF"
        page = await client.page(repo)
        layout = SharedLayout(tmp_path / "hub", repo, page.commit_sha, page.files)
        await Transfer(client=client, layout=layout, disk=Disk(kept_free_bytes=0)).run()
        birds.asked.clear()
        offline = f"h.hf_hub_download('{repo}', 'parrot-Q8_0.gguf', local_files_only=True)"
        loaded = ask_the_library(birds, tmp_path, offline)
        assert loaded == str(layout.place(next(file for file in page.files if file.sha256)))
        scan = ask_the_library(
            birds, tmp_path,
            "(lambda c: [[r.repo_id, r.size_on_disk, r.nb_files] for r in c.repos] + [str(w) for w in c.warnings])"
            "(h.scan_cache_dir())",
        )
        assert scan == [[repo, sum(file.size_bytes for file in page.files), 3]]
        assert birds.asked == []

    async def test_two_data_folders_never_write_into_one_part(
        self, birds: Hub, client: HubClient, tmp_path: Path
    ) -> None:
        page = await client.page("birds/Parrot-GGUF")
        ours, theirs = [
            layout_of("shared", models_dir=tmp_path / each / "models", cache_dir=tmp_path / "hub", repo=page.model.repo,
                      commit_sha=page.commit_sha, files=page.files)
            for each in ("ours", "theirs")
        ]
        for file in page.files:
            assert ours.part(file) != theirs.part(file) and ours.place(file) == theirs.place(file)

    async def test_what_the_library_has_loaded_is_not_loaded_again(
        self, birds: Hub, client: HubClient, tmp_path: Path
    ) -> None:
        repo = "birds/Parrot-GGUF"
        ask_the_library(birds, tmp_path, f"h.hf_hub_download('{repo}', 'parrot-Q8_0.gguf')")
        old = birds.repos[repo].commit
        birds.change(repo, "config.json", b'{"new": true}')
        page = await client.page(repo)
        assert page.commit_sha != old
        birds.asked.clear()
        layout = SharedLayout(tmp_path / "hub", repo, page.commit_sha, page.variants[0].files)
        await Transfer(client=client, layout=layout, disk=Disk(kept_free_bytes=0)).run()
        assert layout.place(layout.files[0]).read_bytes() == GGUF
        assert birds.asked == []
