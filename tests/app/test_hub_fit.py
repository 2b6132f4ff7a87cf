"""Whether a model fits is told before its download, from its header at the hub, by the loader's own plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import gguf
import pytest
import pytest_asyncio

from app.errors import HubError
from app.hub.client import HubClient
from app.hub.files import Variant
from app.hub.head import read_remote_header
from app.services.container import Services
from engine.errors import ModelLoadError
from engine.fit import Fit, Verdict, judge
from engine.gguf import read_header
from engine.hardware import Machine
from engine.memory import LoadLimits
from tests.app.hub import Hub
from tests.app.shop import REPO, Shop, tiny_model, tiny_part
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest_asyncio.fixture
async def client(hub: Hub) -> AsyncIterator[HubClient]:
    client = HubClient(hub.url)
    yield client
    await client.close()


async def variant_of(client: HubClient, repo: str = REPO) -> tuple[str, Variant]:
    page = await client.page(repo)
    return page.commit_sha, page.variants[0]


async def test_the_header_read_from_afar_is_the_file_s_own(hub: Hub, client: HubClient, tmp_path: Path) -> None:
    hub.add(REPO, {"tiny-F32.gguf": tiny_model()})
    path = tmp_path / "tiny-F32.gguf"
    path.write_bytes(tiny_model())
    here, there = read_header(path), await read_remote_header(client, REPO, *await variant_of(client))
    assert replace(here, path=there.path, part_paths=there.part_paths) == there


async def test_only_the_first_megabytes_travel_more_where_the_header_is_longer(
    hub: Hub, client: HubClient, tmp_path: Path
) -> None:
    long = write_tiny_gguf(tmp_path / "x.gguf", chat_template="{# " + "x" * 2_500_000 + " #}").read_bytes()
    weights = 64_000_000
    big = _with_a_weight_of(tmp_path, weights)
    hub.add("birds/Long", {"long-F32.gguf": long})
    hub.add("birds/Heavy", {"heavy-F32.gguf": big})
    header = await read_remote_header(client, "birds/Long", *await variant_of(client, "birds/Long"))
    assert header.architecture == "llama"
    header = await read_remote_header(client, "birds/Heavy", *await variant_of(client, "birds/Heavy"))
    assert header.weight_bytes > weights
    assert hub.sent_bytes["heavy-F32.gguf"] <= 1 << 20


async def test_all_parts_of_a_split_model_count(hub: Hub, client: HubClient) -> None:
    hub.add(REPO, {f"big-{number + 1:05}-of-00003.gguf": tiny_part(number, 3) for number in range(3)})
    header = await read_remote_header(client, REPO, *await variant_of(client))
    assert header.file_bytes == sum(len(tiny_part(number, 3)) for number in range(3))
    assert len(header.part_paths) == 3


async def test_headers_that_lie_are_refused_and_sources_without_ranges_told(hub: Hub, client: HubClient) -> None:
    endless = b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little")
    endless += (1).to_bytes(8, "little") + b"a" + (9).to_bytes(4, "little") + (4).to_bytes(4, "little")
    hub.add("birds/Liar", {"liar-Q8_0.gguf": endless + (2**63).to_bytes(8, "little")})
    with pytest.raises(ModelLoadError, match="claims"):
        await read_remote_header(client, "birds/Liar", *await variant_of(client, "birds/Liar"))
    hub.add(REPO, {"x-Q8_0.gguf": tiny_model() + bytes(3 << 20)})
    hub.faults.ignores_range = True
    with pytest.raises(HubError, match="whole file"):
        await read_remote_header(client, REPO, *await variant_of(client))


@pytest.mark.parametrize(
    ("available_bytes", "scale", "verdict", "num_users", "context_tokens"),
    [
        (8 << 30, 1.0, Verdict.FITS, 8, 4096),
        (360_000_000, 1.0, Verdict.FITS, 8, 4096),
        (337_000_000, 1.0, Verdict.TIGHT, 2, 1024),
        (300_000_000, 1.0, Verdict.TOO_BIG, 0, 0),
        (8 << 30, 30_000.0, Verdict.TOO_BIG, 0, 0),
    ],
)
async def test_it_fits_or_is_tight_or_too_big(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available_bytes: int, scale: float, verdict: Verdict,
    num_users: int, context_tokens: int,
) -> None:
    total_bytes = max(available_bytes, 1 << 30)
    machine = Machine(processor="", system="", num_cores=2, total_bytes=total_bytes, available_bytes=available_bytes)
    monkeypatch.setattr("engine.fit.inspect_machine", lambda: machine)
    header = read_header(write_tiny_gguf(tmp_path / "tiny.gguf"))
    fit = await judge(header, LoadLimits(gpu_layers=0), scale=scale)
    assert (fit.verdict, fit.num_users, fit.context_tokens) == (verdict, num_users, context_tokens), fit
    assert bool(fit.reason) == (verdict is Verdict.TOO_BIG)
    more = await judge(header, LoadLimits(gpu_layers=0), reclaimable_bytes=1 << 30)
    assert more.verdict is Verdict.FITS, "what loaded models hold would be given back"


async def test_of_a_page_every_variant_is_judged_by_one_header(services: Services, hub: Hub) -> None:
    hub.add(REPO, {
        "tiny-F32.gguf": tiny_model(), "tiny-F16.gguf": tiny_model() + bytes(100_000), "model.safetensors": b"x" * 2000,
    })
    shop = Shop.open(services, hub, gpu_layers=0)
    page = await shop.hub_service.page(REPO)
    fits = await shop.hub_service.fits(page)
    assert {label: fit.verdict for label, fit in fits.items()} == {
        "F32": Verdict.FITS, "F16": Verdict.FITS, "safetensors": Verdict.UNKNOWN
    }
    assert len([each for each in hub.heard("files") if each.method == "GET"]) == 1
    hub.faults.status = 500
    hub.add("birds/Sick", {"sick-Q8_0.gguf": tiny_model(1)})
    sick = await shop.hub_service.page("birds/Sick")
    assert (await shop.hub_service.fits(sick))["Q8_0"].verdict is Verdict.UNKNOWN
    fit: Fit = await shop.hub_service.fit("birds/Sick", sick.commit_sha, sick.variants[0])
    assert "500" in fit.reason
    await shop.close()


async def test_it_must_fit_into_the_memory_budget_too(services: Services, hub: Hub) -> None:
    hub.add(REPO, {"tiny-F32.gguf": tiny_model()})
    shop = Shop.open(services, hub, gpu_layers=0)
    page = await shop.hub_service.page(REPO)
    services.engines.budget_bytes = 500_000
    fits = await shop.hub_service.fits(page)
    assert {fit.verdict for fit in fits.values()} == {Verdict.TOO_BIG}
    assert all("of the memory budget are left" in fit.reason for fit in fits.values())
    await shop.close()


def _with_a_weight_of(folder: Path, num_bytes: int) -> bytes:
    """The tiny model with one more tensor."""
    import numpy as np

    path = folder / "heavy.gguf"
    add_weights = gguf.GGUFWriter.write_header_to_file

    def add(self: gguf.GGUFWriter) -> None:
        self.add_tensor("extra.weight", np.zeros((num_bytes // 4 // 64, 64), np.float32))
        add_weights(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf.GGUFWriter, "write_header_to_file", add)
        return write_tiny_gguf(path).read_bytes()
