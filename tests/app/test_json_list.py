"""Elements of a list are told apart wherever the file is cut into chunks, and one that is bad costs no other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats import json_list
from app.formats.json_list import Fault, ListSplitter, NotJson

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def split(data: bytes, chunk_bytes: int = 7) -> list[bytes | Fault]:
    splitter = ListSplitter()
    chunks = [data[at:at + chunk_bytes] for at in range(0, len(data), chunk_bytes)]
    return [element for chunk in chunks for element in splitter.feed(chunk)] + [*splitter.finish()]


@given(st.lists(JSON, max_size=5), st.integers(1, 40), st.sampled_from([None, 2]), st.booleans())
def test_each_element_comes_out_as_it_stood(entries: list[object], size: int, indent: int | None, plain: bool) -> None:
    data = json.dumps(entries, indent=indent, ensure_ascii=plain).encode()
    assert [json.loads(each) for each in split(data, size) if isinstance(each, bytes)] == entries


@given(st.dictionaries(st.text(), JSON, max_size=3), st.integers(1, 40))
def test_a_lone_object_is_a_list_of_one(entry: dict[str, object], size: int) -> None:
    (element,) = split(b"\xef\xbb\xbf \n" + json.dumps(entry).encode() + b"\n", size)
    assert isinstance(element, bytes) and json.loads(element) == entry


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize(
    "element",
    [rb'"\\"', rb'"\""', rb'"a\\\"],["', rb'{"k\\":"]}"}', '"漢\\ud800"'.encode(), rb"[[],{}]", b"tru", b"1.5e9"],
)
def test_strings_hide_what_is_in_them(element: bytes, size: int) -> None:
    assert split(b"[1," + element + b" , 2]", size) == [b"1", element, b"2"]


@pytest.mark.parametrize("data", [b"[]", b"  [ ]  ", b"\xef\xbb\xbf[\n]"])
def test_an_empty_list_has_nothing(data: bytes) -> None:
    assert split(data, 1) == []


@pytest.mark.parametrize("data", [b"", b"   ", b"hello", b"PK\x03\x04", b"\xff\xfe[\x00", b"null", b'"text"', b"-1"])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(NotJson):
        split(data)


@pytest.mark.parametrize("data", [b"[1,2", b'[1,2,"abc', b'[1,2,{"a":[', b"[1,2,"])
def test_what_was_cut_off_says_so_after_all_that_is_whole(data: bytes) -> None:
    *whole, last = split(data)
    assert isinstance(last, Fault) and "cut off" in last.reason
    assert whole[:1] == [b"1"]


def test_two_commas_have_a_fault_between_them() -> None:
    first, fault, last = split(b"[1,,2]")
    assert (first, last) == (b"1", b"2") and isinstance(fault, Fault)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b"[" + b"1," * 3_000 + b"1]", "more than 2,000 values"),
        (b'"' + b"x" * 20_000 + b'"', "larger than"),
    ],
)
def test_a_monster_is_skipped_without_being_kept(
    monkeypatch: pytest.MonkeyPatch, bad: bytes, reason: str
) -> None:
    monkeypatch.setattr(json_list, "MAX_ELEMENT_VALUES", 2_000)
    monkeypatch.setattr(json_list, "MAX_ELEMENT_BYTES", 10_000)
    before, fault, after = split(b'["before",' + bad + b',"after"]', 4096)
    assert (before, after) == (b'"before"', b'"after"')
    assert isinstance(fault, Fault) and reason in fault.reason


def test_what_follows_the_list_is_not_read() -> None:
    assert split(b"[1] [2]") == [b"1"]
