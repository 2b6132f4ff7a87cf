"""The list of known language models, one of them the default."""

from __future__ import annotations

from sqlmodel import Session

from store import models
from store.tables import Model


def model(model_id: str, *, size_bytes: int = 98_000_000, embeds: bool = False) -> Model:
    return Model(id=model_id, name=model_id.title(), path=f"{model_id}.gguf", file_format="gguf", size_bytes=size_bytes,
                 modified_ns=1, embeds=embeds)


def defaults(session: Session) -> list[str]:
    session.flush()
    session.expire_all()
    return [row.id for row in models.list_all(session) if row.is_default]


def test_the_first_model_is_the_default_and_another_can_be(session: Session) -> None:
    models.upsert(session, model("a"))
    models.upsert(session, model("b"))
    assert defaults(session) == ["a"]
    assert models.set_default(session, "b")
    assert defaults(session) == ["b"]
    chosen = models.default(session)
    assert chosen is not None
    assert chosen.id == "b"


def test_an_unknown_model_cannot_become_the_default(session: Session) -> None:
    models.upsert(session, model("a"))
    assert not models.set_default(session, "unknown")
    assert defaults(session) == ["a"]


def test_a_changed_file_updates_its_row_and_keeps_its_place(session: Session) -> None:
    first = models.upsert(session, model("a"))
    added_at = first.added_at
    models.upsert(session, model("b"))
    again = models.upsert(session, model("a", size_bytes=5))
    assert (again.size_bytes, again.is_default, again.added_at) == (5, True, added_at)
    assert [row.id for row in models.list_all(session)] == ["a", "b"]


def test_adapters_are_kept_and_replaced(session: Session) -> None:
    adapted = model("a")
    adapted.adapters = [{"path": "style.gguf", "scale": 0.5, "size_bytes": 7, "modified_ns": 2}]
    models.upsert(session, adapted)
    session.flush()
    session.expire_all()
    (row,) = models.list_all(session)
    assert row.adapters == [{"path": "style.gguf", "scale": 0.5, "size_bytes": 7, "modified_ns": 2}]
    models.upsert(session, model("a"))
    session.flush()
    session.expire_all()
    assert models.list_all(session)[0].adapters == []


def test_when_the_default_is_removed_the_oldest_takes_its_place(session: Session) -> None:
    for model_id in ("a", "b", "c"):
        models.upsert(session, model(model_id))
    models.set_default(session, "c")
    assert models.remove(session, "c")
    assert defaults(session) == ["a"]
    assert not models.remove(session, "c")
    models.remove(session, "a")
    models.remove(session, "b")
    assert models.default(session) is None


def test_a_model_that_embeds_is_never_the_default(session: Session) -> None:
    models.upsert(session, model("vectors", embeds=True))
    assert defaults(session) == []
    models.upsert(session, model("a"))
    models.upsert(session, model("b"))
    models.remove(session, "a")
    assert defaults(session) == ["b"]
    models.upsert(session, model("b", embeds=True))         # its file was found to embed
    assert defaults(session) == []
