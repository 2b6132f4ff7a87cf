"""Names of files from the hub, made safe for any system, and folders that are never left."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidInput
from app.hub.files import RemoteFile
from app.hub.layout import OwnLayout, SharedLayout
from app.hub.names import MAX_BYTES, safe_component, safe_paths


@pytest.mark.parametrize("name", ["Qwen3-0.6B-Q8_0.gguf", "張庭綱.gguf", "Ünï🙂.gguf", ".gitattributes", "a b (1).txt"])
def test_a_name_that_any_system_keeps_stays(name: str) -> None:
    assert safe_component(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "name",
    [
        "CON.txt", "nul.tar.gz", "LPT1", "com¹.txt", "a.", "a ", " a", "a:b", "a?*", "x\u202egpj.gguf", "..", "...",
        "\ud800.gguf",
    ],
)
def test_one_that_windows_or_an_eye_takes_for_another_is_changed(name: str) -> None:
    safe = safe_component(name)
    assert safe != name
    assert safe == safe.strip(" ").rstrip(".")
    assert safe.partition(".")[0].lower() not in ("con", "nul", "lpt1", "com¹")


def test_the_number_of_a_part_stays_and_the_parts_stay_together() -> None:
    long = "m" * 300
    paths = safe_paths([f"{long}-{number:05}-of-00002.gguf" for number in (1, 2)])
    first, second = paths.values()
    assert first.endswith("-00001-of-00002.gguf")
    assert second == first.replace("-00001-", "-00002-")
    assert len(first.encode()) <= MAX_BYTES


def test_names_that_differ_in_case_or_form_only_stay_apart() -> None:
    names = ["Model.gguf", "model.gguf", "MODEL.GGUF", "é.json", "e\u0301.json"]
    paths = safe_paths(names)
    assert len({unicodedata.normalize("NFC", path).casefold() for path in paths.values()}) == len(names)
    assert paths["Model.gguf"] == "Model.gguf"


@given(st.text(min_size=1, max_size=60))
def test_whatever_it_is_called_it_lies_below_its_folder(name: str) -> None:
    root = Path("/models")
    try:
        paths = safe_paths([name])
    except ValueError:
        return
    place = root / paths[name]
    assert place.is_relative_to(root)
    assert ".." not in place.parts
    assert place.name not in ("", ".", "..")
    assert all(len(part.encode()) <= 255 for part in place.parts)
    assert not set(place.name) & set('<>:"\\|?*\0')


@pytest.mark.parametrize(
    "name", ["../../x.gguf", "/etc/passwd", "a/../x.gguf", "a\\b.gguf", "C:/x.gguf", "", "a//b", "a\nb"]
)
@pytest.mark.parametrize("layout", [OwnLayout, SharedLayout])
def test_a_name_that_leads_out_is_refused_by_both_layouts(name: str, layout: type[OwnLayout | SharedLayout]) -> None:
    with pytest.raises(ValueError, match="no name of a file"):
        layout(Path("/models"), "a/b", "0" * 40, [RemoteFile(name=name, size_bytes=1, git_oid="0" * 40)])


@pytest.mark.parametrize("repo", ["../x", "a/../b", "a", "a/b/c", "a/..", "~/b", "a/b\0"])
def test_a_repository_that_leads_out_too(repo: str) -> None:
    with pytest.raises(InvalidInput):
        OwnLayout(Path("/models"), repo, "0" * 40, [])
