"""Connections with more models than anybody has had yet."""

from __future__ import annotations

import time
from pathlib import Path

from store import connections
from store.connections import LedTo
from store.database import Database
from store.tables import Connection, Model
from tests.pace import seconds_of


def found(*names: str) -> list[LedTo]:
    return [
        LedTo(remote_id=name, context_tokens=0, embeds=False, quantisation="", calls_tools=None) for name in names
    ]


def connection(name: str) -> Connection:
    return Connection(name=name, name_key=name, base_url=f"http://{name}/v1", session_header="")


def test_hundreds_of_models_hold_up_nobody_s_writes(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "inglenook.sqlite3")
    began_s = time.thread_time()
    for name in ("one", "two"):
        led = database.run_sync(connections.add, connection(name), found(*(f"{name}-{each}" for each in range(500))))
        assert led is not None and len(led.changed) == 500
    assert time.thread_time() - began_s < seconds_of(60)      # 4 s: reading all models for each of them took 20
    database.close()


def test_each_model_has_an_id_of_its_own_however_odd_the_names(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "inglenook.sqlite3")
    here = ["a", "a-elsewhere", *(f"a-elsewhere-{number}" for number in range(2, 130))]
    with database.session() as session:
        session.add_all(
            Model(id=each, name=each, path=f"/{each}.gguf", file_format="gguf", quantisation="", size_bytes=1,
                  modified_ns=0) for each in here
        )
    names = ["a", "../..", "a/../b", "?#%", " ", "\N{ROCKET}", "x/"]
    for name in ("one", "two"):
        database.run_sync(connections.add, connection(name), found(*names))
    models = database.run_sync(connections.models_led_to)
    assert {each.id for each in models} == {"a-elsewhere-130", *names[1:]} and all(each.name for each in models)
    database.close()
