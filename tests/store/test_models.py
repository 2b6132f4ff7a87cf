"""The list of known language models, one of them the default."""

from __future__ import annotations

import pytest
from sqlmodel import Session

from store import models, removed_models, settings
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


def update(session: Session, model_id: str, path: str, size_bytes: int) -> None:
    facts = models.facts_of(model(model_id, size_bytes=size_bytes)) | {"path": path}
    assert models.install_version(session, model_id, facts) is not None


def in_use(session: Session, model_id: str) -> tuple[str, int]:
    session.flush()
    session.expire_all()
    row = models.get(session, model_id)
    assert row is not None
    return row.path, row.size_bytes


def test_an_update_stands_beside_what_it_replaces_and_can_be_taken_back(session: Session) -> None:
    models.upsert(session, model("a", size_bytes=1))
    models.set_settings(session, "a", {"users": 4})
    assert models.versions(session, "a") == []
    update(session, "a", "new.gguf", 2)
    assert in_use(session, "a") == ("new.gguf", 2)
    old, new = models.versions(session, "a")
    assert [each.facts["path"] for each in (old, new)] == ["a.gguf", "new.gguf"]
    assert models.use_version(session, old.id) is not None
    assert in_use(session, "a") == ("a.gguf", 1)
    row = models.get(session, "a")
    assert row is not None
    assert (row.settings, row.name, row.is_default) == ({"users": 4}, "A", True)
    assert len(models.versions(session, "a")) == 2
    assert models.forget_version(session, new.id)
    assert not models.forget_version(session, new.id)
    assert models.use_version(session, new.id) is None


def test_versions_go_with_their_model(session: Session) -> None:
    models.upsert(session, model("a"))
    update(session, "a", "new.gguf", 2)
    models.remove(session, "a")
    session.flush()
    assert models.versions(session, "a") == []
    assert models.install_version(session, "a", {}) is None


def test_a_changed_file_keeps_the_settings(session: Session) -> None:
    models.upsert(session, model("a"))
    models.set_settings(session, "a", {"users": 4})
    assert models.upsert(session, model("a", size_bytes=5)).settings == {"users": 4}


@pytest.mark.parametrize("stored", [[], [1], "x", 5, {"m": {}}, {"m": None}, {"m": {"name": 5, "quantisation": None}}])
def test_names_of_removed_models_that_were_edited_into_something_else_count_as_none(
    session: Session, stored: object
) -> None:
    settings.set_of_system(session, removed_models.SETTING, stored)
    session.flush()
    assert removed_models.by_id(session) == {}
    models.upsert(session, model("a"))
    session.flush()
    assert models.remove(session, "a")
    assert list(removed_models.by_id(session)) == ["a"]
