"""Which servers elsewhere answer for a model now, and the engine that asks them. On the event loop.

The store is asked before each request: what an admin switches off here, or on the command line of the same machine, is
asked no more from that moment on. What becomes of requests is noted there, seldom while all is well.
"""

from __future__ import annotations

import asyncio
import json
import time

import structlog

from app.errors import ModelUnavailable, said
from app.language import Said, kept
from app.services.changes import Change, Changes
from app.services.model_settings import ModelSettings
from app.vault import Vault
from engine.engine import EngineInfo
from engine.errors import EndpointError
from engine.remote.endpoint import SERVER_NAMES, Address, Endpoint, ServerKind
from engine.remote.engine import RemoteEngine
from engine.remote.wire import Wire
from store import connections, elsewhere
from store.database import Database
from store.errors import StoreError
from store.tables import Connection, ConnectionModel, Model

UNKNOWN_CONTEXT_TOKENS = 32_768     # where neither the server nor an admin says how much it holds
NOTED_EVERY_S = 300.0               # that a connection answers, while it does
MAX_NUM_SEQS = 256                  # how many at once is the server's to say

log = structlog.get_logger(__name__)


class Endpoints:
    def __init__(self, db: Database, vault: Vault, changes: Changes) -> None:
        self.wire = Wire()
        self._db = db
        self._vault = vault
        self._changes = changes
        self._opened: dict[str, str] = {}                   # by what is sealed: few, and they change seldom
        self._noted: dict[str, tuple[bool, float]] = {}     # by connection: whether it answered; noted when
        self._notes: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        if self._notes:
            await asyncio.wait(self._notes)
        await self.wire.close()

    def engine(self, model: Model) -> RemoteEngine:
        """Opened without asking anybody anything."""
        window = ModelSettings.of(model).context_tokens or model.context_tokens or UNKNOWN_CONTEXT_TOKENS
        info = EngineInfo(
            model_id=model.id, name=model.name, version=str(model.origin.get("name", model.id)), backend="HTTP",
            device="elsewhere", quantisation=model.quantisation, max_model_len=window, max_num_seqs=MAX_NUM_SEQS,
            has_chat_template=not model.embeds, is_elsewhere=True, kv_type="",
        )
        return RemoteEngine(info, self.wire, lambda: self.of(model.id), self._note)

    async def of(self, model_id: str) -> list[Endpoint]:
        """In the order in which they stand in for each other. Raises ModelUnavailable where none may be used."""
        if not await self._db.read(elsewhere.is_allowed):
            raise ModelUnavailable(Said("error-elsewhere-off"))
        led = (await self._db.read(elsewhere.usable)).get(model_id, ())
        return [self.endpoint(connection, model) for connection, model in led]

    def endpoint(self, connection: Connection, model: ConnectionModel) -> Endpoint:
        return Endpoint(
            connection_id=connection.id, address=self.address(connection), kind=kind_of(connection),
            remote_id=model.remote_id, has_tokenizer=connection.has_tokenizer, calls_tools=model.calls_tools,
        )

    def address(self, connection: Connection) -> Address:
        """With its secrets. Where one cannot be read any more, nothing is sent there, and whoever asks is told."""
        key, headers = (self._open(each) for each in (connection.sealed_key, connection.sealed_headers))
        return Address(
            name=connection.name, base_url=connection.base_url, key=key or "", headers=json.loads(headers or "{}"),
            session_header=connection.session_header, is_locked=key is None or headers is None,
        )

    def _open(self, sealed: str) -> str | None:
        if sealed and sealed not in self._opened:
            secret = self._vault.open(sealed)
            if secret is None:          # the key's file may come back
                return None
            self._opened[sealed] = secret
        return self._opened[sealed] if sealed else ""

    def _note(self, endpoint: Endpoint, error: EndpointError | None, _after_s: float) -> None:
        """A change at once, and otherwise now and then."""
        was_good, noted_s = self._noted.get(endpoint.connection_id, (None, 0.0))
        is_good, now_s = error is None, time.monotonic()
        if was_good is is_good and now_s - noted_s < NOTED_EVERY_S:
            return
        self._noted[endpoint.connection_id] = (is_good, now_s)
        if error is not None:
            log.warning("a connection failed", connection=endpoint.address.name, reason=str(error))
        task = asyncio.create_task(self._keep(endpoint.connection_id, error))
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _keep(self, connection_id: str, error: EndpointError | None) -> None:
        try:
            if error is None:
                await self._db.run(connections.note_answer, connection_id)
            else:
                await self._db.run(connections.note_problem, connection_id, kept(said(error)))
        except StoreError as failure:       # a full disk, say: it is shown as it was
            log.warning("how a connection does could not be noted", reason=str(failure))
            return
        self._changes.announce_all(Change("models"))


def kind_of(connection: Connection) -> ServerKind:
    """One that a newer Inglenook knows is any here."""
    return ServerKind(connection.kind) if connection.kind in SERVER_NAMES else ServerKind.ANY
