"""One real server a session with people and models in it, and a set of services a test without a server."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from app import cli
from app.instance import Instance, Note
from app.services.changes import Change
from app.services.container import Services
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from tests.app.command_line import Inglenook, Outcome
from tests.app.house import PASSWORD, PATIENCE_S, House, Person, Shelf
from tests.app.hub import Hub

PARIS = "The capital of France is Paris."
COUNTING = " ".join(str(number) for number in range(1, 200))
FAMILY = "👨‍👩‍👧‍👦 漢字 ñ"
REPLIES = {"France": PARIS, "count": COUNTING, "family": FAMILY, "fox": "The quick brown fox", "": "Hello there."}


@pytest.fixture(scope="session")
def house_hub() -> Iterator[Hub]:
    """The one that the house downloads from. Whoever switches faults on switches them off again."""
    hub = Hub()
    yield hub
    hub.close()


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory, house_hub: Hub) -> Iterator[House]:
    """Models: `parrot` answers by REPLIES and is the default; tests may put more."""
    shelf = Shelf()
    house = House(tmp_path_factory.mktemp("house"), shelf, hub_endpoint=house_hub.url)
    house.start()
    house.do(shelf.put(house.services, "parrot", lambda: ScriptedBackend(REPLIES)))
    house.do(house.services.models.set_default("parrot"))
    yield house
    house.stop()


@dataclass(frozen=True)
class FirstSignUps:
    page: httpx.Response            # before anybody was there
    without_link: httpx.Response
    race: list[httpx.Response]      # with the link, all at once


@pytest.fixture(scope="session")
def first_sign_ups(house: House) -> FirstSignUps:
    """What happened when nobody had an account yet. A process can have but one house, so it happens once."""
    assert house.setup_url is not None
    token = house.setup_url.partition("token=")[2]

    async def try_all() -> FirstSignUps:
        async with httpx.AsyncClient(base_url=house.url, headers={"Accept": "text/html"}, timeout=PATIENCE_S) as client:

            def sign_up(token: str, name: str) -> Coroutine[None, None, httpx.Response]:
                return client.post("/setup", data={"token": token, "name": name, "password": PASSWORD})

            page, without = await client.get("/"), await sign_up("guess", "Eve")
            race = await asyncio.gather(*(sign_up(token, name) for name in ("Ada", "Ida", "Zoe")))
            return FirstSignUps(page, without, race)

    return asyncio.run(try_all())


@pytest.fixture(scope="session")
def admin(house: House, first_sign_ups: FirstSignUps) -> Person:
    """A person of an Inglenook that is set up."""
    return house.person("Adam")


@pytest.fixture(scope="session")
def anna(house: House, admin: Person) -> Person:
    return house.person("Anna")


@pytest.fixture(scope="session")
def ben(house: House, admin: Person) -> Person:
    return house.person("Ben")


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    yield hub
    hub.close()


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("INGLENOOK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("INGLENOOK_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def inglenook(data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inglenook:
    def call(*arguments: str, stdin: str | bytes | io.BufferedReader = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        given = io.BytesIO(data) if isinstance(data, bytes) else data
        monkeypatch.setattr(sys, "argv", ["inglenook", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def full_after() -> Iterator[Callable[[int], None]]:
    """No file may grow beyond so many bytes any more, as on a disk that fills up."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda num_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def beside(house: House, admin: Person, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """`inglenook` is called on the data folder of the house, which has it open."""
    folder = house.services.settings.data_dir
    monkeypatch.setenv("INGLENOOK_DATA_DIR", str(folder))
    with Instance.claim(folder) as instance:
        instance.publish(Note(os.getpid(), house.url))
        yield house


@pytest.fixture
def heard(beside: House) -> Iterator[list[Change]]:
    """By the server's own pages."""
    heard: list[Change] = []

    async def watch() -> object:
        return beside.services.changes.watch(None, heard.append)

    unwatch = beside.do(watch())
    yield heard
    assert callable(unwatch)
    unwatch()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest_asyncio.fixture
async def services(tmp_path: Path, shelf: Shelf) -> AsyncIterator[Services]:
    """Without a server. `parrot` is there and the default."""
    services = Services.open(Settings(data_dir=tmp_path / "data"), shelf.load)
    await shelf.put(services, "parrot", lambda: ScriptedBackend(REPLIES))
    yield services
    await services.stop()
    services.close()


@pytest_asyncio.fixture
async def user_id(services: Services) -> str:
    return (await services.accounts.add_user("Anna", PASSWORD)).id
