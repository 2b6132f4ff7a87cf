"""Servers elsewhere whose models may be used here: added, tested, switched on and off by admins. On the event loop.

Nothing is asked of any server but what an admin orders, or a request for one of its models needs; and neither before an
admin has said that models elsewhere may be used at all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from urllib.parse import urlsplit

from app.errors import Conflict, InvalidInput, NotFound, said
from app.language import Said, kept
from app.names import can_be_seen, clean_label
from app.security import name_key
from app.services.changes import Change, Changes
from app.services.endpoints import Endpoints
from app.services.engines import EngineRegistry
from app.vault import Vault
from engine.errors import EndpointError
from engine.remote.endpoint import (
    KEY_HEADER,
    MAX_HEADERS,
    SESSION_HEADER,
    Address,
    Probed,
    checked_url,
    is_good_header,
    is_good_key,
)
from engine.remote.probing import Trial, probe, try_out
from store import connections, elsewhere
from store.connections import Led, LedTo
from store.database import Database
from store.tables import Connection, ConnectionModel, now

MAX_NAME_CHARS = 60
MAX_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A connection as an admin enters it. Without a name it is called as its host is. None of `key` and `headers`: as
    they are; empty: none, from now on.
    """

    name: str
    base_url: str
    key: str | None = None
    headers: Mapping[str, str] | None = None
    session_header: str = SESSION_HEADER


@dataclass(frozen=True, slots=True)
class ConnectionEntry:
    connection: Connection
    models: tuple[ConnectionModel, ...]
    num_left_out: int = 0       # of its server's list, when this process last asked: odd names, or too many

    @property
    def has_key(self) -> bool:
        return bool(self.connection.sealed_key)


class ConnectionService:
    """Raises NotFound for a connection that is not there, EndpointError for what a server does."""

    def __init__(
        self, db: Database, endpoints: Endpoints, engines: EngineRegistry, vault: Vault, changes: Changes
    ) -> None:
        self._db = db
        self._endpoints = endpoints
        self._engines = engines
        self._vault = vault
        self._changes = changes
        self._left_out: dict[str, int] = {}     # by connection

    async def is_allowed(self) -> bool:
        """Whether models elsewhere may be used on this Inglenook."""
        return await self._db.read(elsewhere.is_allowed)

    async def set_allowed(self, is_allowed: bool) -> None:
        """Switched off, what comes from elsewhere stops at once."""
        await self._db.run(connections.set_allowed, is_allowed)
        if not is_allowed:
            listed = await self._db.read(connections.list_all)
            await self._end({model.model_id for _, models in listed for model in models})
        self._announce()

    async def list(self) -> list[ConnectionEntry]:
        """Oldest first: in that order they stand in for each other."""
        listed = await self._db.read(connections.list_all)
        return [ConnectionEntry(each, tuple(models), self._left_out.get(each.id, 0)) for each, models in listed]

    async def named(self, name: str) -> ConnectionEntry:
        found = await self._db.read(connections.find, name_key(name))
        return await self._entry(found.id if found else "", name)

    async def add(self, entered: Entered) -> ConnectionEntry:
        """Asks the server what it is and which models it has; where it does not say, nothing is kept."""
        await self._check_allowed()
        values = await self._values(entered, None)
        if len(await self._db.read(connections.list_all)) >= MAX_CONNECTIONS:
            raise Conflict(Said("error-connections-many", count=MAX_CONNECTIONS))
        await self._check_name(values["name"], None)
        found = await probe(self._endpoints.wire, self._address(Connection(**values)))
        connection = Connection(**values | _of_probe(found))
        led = await self._db.run(connections.add, connection, _led_to(found))
        if led is None:
            raise _taken(values["name"])
        return await self._take_in(connection, led, found)

    async def change(self, connection_id: str, entered: Entered) -> ConnectionEntry:
        """As `add`, of one that there is."""
        await self._check_allowed()
        before = (await self._entry(connection_id)).connection
        values = await self._values(entered, connection_id)
        await self._check_name(values["name"], connection_id)
        keeps_key = entered.key is None and before.sealed_key
        keeps_headers = entered.headers is None and before.sealed_headers
        if (keeps_key or keeps_headers) and values["base_url"] != before.base_url:      # given for another server
            raise InvalidInput(Said("error-connection-key-again"), field="key")
        asked = Connection(**before.model_dump() | values)
        found = await probe(self._endpoints.wire, self._address(asked))
        return await self._changed(before, values, found)

    async def test(self, connection_id: str) -> ConnectionEntry:
        """Asks the server again what it has. What is wrong is noted, and raised."""
        await self._check_allowed()
        connection = (await self._entry(connection_id)).connection
        try:
            found = await probe(self._endpoints.wire, self._endpoints.address(connection))
        except EndpointError as error:
            await self._db.run(connections.note_problem, connection_id, kept(said(error)))
            self._announce()
            raise
        return await self._changed(connection, {}, found)

    async def try_out(self, connection_id: str) -> tuple[str, Trial] | None:
        """One of its models says a word: which, and how soon. None where it has none that chats."""
        await self._check_allowed()
        entry = await self._entry(connection_id)
        by_id = await self._chatting()
        model = next((each for each in entry.models if each.model_id in by_id), None)
        if model is None:
            return None
        endpoint = self._endpoints.endpoint(entry.connection, model)
        return model.model_id, await try_out(self._endpoints.wire, endpoint)

    async def set_on(self, connection_id: str, is_on: bool) -> None:
        """Switched off, answers of its models stop at once, and are kept with their text."""
        entry = await self._entry(connection_id)
        await self._db.run(connections.set_on, connection_id, is_on)
        if not is_on:
            await self._end({each.model_id for each in entry.models})
        self._announce()

    async def remove(self, connection_id: str) -> None:
        """With its key, and the models to which no other connection leads. Chats keep their answers."""
        entry = await self._entry(connection_id)
        await self._db.run(connections.remove, connection_id)
        await self._end({each.model_id for each in entry.models})
        self._announce()

    # ------------------------------------------------------------------------------------------------------------------

    async def _check_allowed(self) -> None:
        if not await self.is_allowed():
            raise Conflict(Said("error-elsewhere-off"))

    async def _entry(self, connection_id: str, name: str = "") -> ConnectionEntry:
        listed = await self.list()
        found = next((each for each in listed if each.connection.id == connection_id), None)
        if found is None:
            raise _not_there(name[:MAX_NAME_CHARS], [each.connection.name for each in listed])
        return found

    def _address(self, entered: Connection) -> Address:
        """Raises InvalidInput where two keys would be sent: one as a key, one as a header."""
        address = self._endpoints.address(entered)
        if address.key and any(name.lower() == KEY_HEADER for name in address.headers):
            raise InvalidInput(Said("error-connection-two-keys"), field="headers")
        return address

    async def _values(self, entered: Entered, own_id: str | None) -> dict[str, Any]:
        """Columns, checked and sealed. Raises InvalidInput."""
        base_url = checked_url(entered.base_url)
        if base_url is None:
            raise InvalidInput(Said("error-connection-url"), field="base_url")
        name = clean_label(entered.name, max_chars=MAX_NAME_CHARS) or await self._name_of_host(base_url, own_id)
        session_header = entered.session_header.strip()
        if session_header and not is_good_header(session_header, "x"):
            raise InvalidInput(Said("error-connection-header", name=session_header[:80]), field="session_header")
        values = {"name": name, "name_key": name_key(name), "base_url": base_url, "session_header": session_header}
        if entered.key is not None:
            key = entered.key.strip()
            if not is_good_key(key):
                raise InvalidInput(Said("error-connection-key"), field="key")
            values["sealed_key"] = await self._sealed(key)
        if entered.headers is not None:
            bad = next((name for name, value in entered.headers.items() if not is_good_header(name, value)), None)
            if bad is not None:
                raise InvalidInput(Said("error-connection-header", name=bad[:80]), field="headers")
            if len(entered.headers) > MAX_HEADERS:
                raise InvalidInput(Said("error-connection-headers-many", count=MAX_HEADERS), field="headers")
            values["sealed_headers"] = await self._sealed(json.dumps(dict(entered.headers)) if entered.headers else "")
        return values

    async def _sealed(self, secret: str) -> str:
        return await asyncio.to_thread(self._vault.seal, secret) if secret else ""

    async def _name_of_host(self, base_url: str, own_id: str | None) -> str:
        """With its port, where one is given; numbered, where another is called so. What a server is may change, and
        may be found out wrongly: its address is what the admin knows.
        """
        host = urlsplit(base_url).netloc[:MAX_NAME_CHARS]
        taken = {each.connection.name_key for each in await self.list() if each.connection.id != own_id}
        names = chain((host,), (f"{host[:MAX_NAME_CHARS - 4]} {number}" for number in count(2)))
        return next(name for name in names if name_key(name) not in taken)

    async def _check_name(self, name: str, own_id: str | None) -> None:
        holder = await self._db.read(connections.find, name_key(name))
        if holder is not None and holder.id != own_id:
            raise _taken(name)

    async def _changed(self, before: Connection, entered: Mapping[str, Any], found: Probed) -> ConnectionEntry:
        """Others may have changed it while its server was asked: what they did is not undone."""
        values = {**entered, **_of_probe(found)}
        led = await self._db.run(connections.change, before, values, _led_to(found))
        if led is None:
            there = await self._entry(before.id, before.name)
            await self._check_name(values.get("name", there.connection.name), before.id)
            raise Conflict(Said("error-connection-changed", name=there.connection.name))
        return await self._take_in(before, led, found)

    async def _take_in(self, connection: Connection, led: Led, found: Probed) -> ConnectionEntry:
        for model_id in led.changed:
            self._engines.retire(model_id)          # the next request has another window
        for model_id in led.gone:
            await self._engines.forget(model_id)
        self._left_out[connection.id] = found.num_left_out + len(found.models) - len(_led_to(found))
        self._announce()
        return await self._entry(connection.id, connection.name)

    async def _chatting(self) -> set[str]:
        return {each.id for each in await self._db.read(connections.models_led_to) if not each.embeds}

    async def _end(self, model_ids: set[str]) -> None:
        await asyncio.gather(*(self._engines.unload(model_id) for model_id in model_ids))

    def _announce(self) -> None:
        self._changes.announce_all(Change("models"))


def parse_headers(text: str) -> dict[str, str]:
    """Of lines as `Name: value`. Raises InvalidInput."""
    headers: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon:
            raise InvalidInput(Said("error-connection-header", name=name[:80]), field="headers")
        headers[name.strip()] = value.strip()
    return headers


def _of_probe(found: Probed) -> dict[str, Any]:
    return {
        "base_url": found.base_url, "kind": found.kind.value, "has_tokenizer": found.has_tokenizer,
        "latency_s": found.latency_s, "answered_at": now(), "failed_at": None, "problem": "",
    }


def _led_to(found: Probed) -> list[LedTo]:
    return [
        LedTo(
            remote_id=each.remote_id, context_tokens=each.window, embeds=each.embeds, quantisation=each.quantisation,
            calls_tools=each.calls_tools,
        )
        for each in found.models
        if can_be_seen(each.remote_id)      # nobody could tell it from another
    ]


def _not_there(name: str, known: list[str]) -> NotFound:
    """`name`: as it was asked for; "" of one that was there a moment ago."""
    if not name:
        return NotFound(Said("error-connection-removed"))
    if not known:
        return NotFound(Said("error-no-connection-at-all", name=name))
    return NotFound(Said("error-no-connection", name=name, known=", ".join(known)))


def _taken(name: str) -> Conflict:
    return Conflict(Said("error-connection-taken", name=name))
