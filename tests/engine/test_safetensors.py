"""Safetensors: what is read from good files, and that every bad one ends in a sentence, in bounded time and memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engine.errors import ModelLoadError
from engine.safetensors import read_safetensors
from engine.safetensors_reader import read_raw_header
from tests.engine.bounded import in_200_mb
from tests.engine.tiny_safetensors import INDEX, content_of, header_of, write_sharded, write_tiny_safetensors

GOOD = header_of({"a": ("F32", [4], 16)})


def entry(**changes: object) -> dict[str, object]:
    return {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} | changes}


class TestAGoodModel:
    def test_in_one_file_tells_its_type_and_size(self, tmp_path: Path) -> None:
        header = read_safetensors(write_tiny_safetensors(tmp_path / "small.safetensors"))
        assert (header.quantisation, header.weight_bytes) == ("BF16", 72)
        assert (header.architecture, header.context_length, header.has_tokenizer) == ("", 0, False)
        assert header.chat_template is None

    def test_keeps_what_its_tensors_are(self, tmp_path: Path) -> None:
        raw = read_raw_header(write_tiny_safetensors(tmp_path / "m.safetensors"))
        assert [(t.name, t.dtype, t.shape, t.start, t.num_bytes) for t in raw.tensors] == [
            ("a", "BF16", (4, 8), 0, 64), ("b", "F32", (2,), 64, 8),
        ]
        assert raw.metadata == {"format": "pt"}

    def test_in_several_files_is_one(self, tmp_path: Path) -> None:
        paths = write_sharded(tmp_path / "Qwen3-0.6B")
        header = read_safetensors(tmp_path / "Qwen3-0.6B")
        assert header.part_paths == tuple(paths)
        assert (header.architecture, header.context_length) == ("qwen3", 40960)
        assert (header.weight_bytes, header.file_bytes) == (48, sum(path.stat().st_size for path in paths))
        assert (header.has_tokenizer, header.special_tokens) == (True, ("<|im_start|>", "<|im_end|>"))
        assert (header.chat_template, header.eos_token) == ("{{ messages[0].content }}", "<|im_end|>")
        assert read_safetensors(paths[1]).part_paths == tuple(paths), "chosen by any of its files"

    def test_needs_no_index_where_the_names_say_it(self, tmp_path: Path) -> None:
        paths = write_sharded(tmp_path / "m")
        (tmp_path / "m" / INDEX).unlink()
        assert read_safetensors(tmp_path / "m").part_paths == tuple(paths)

    def test_may_have_a_template_in_a_file_of_its_own(self, tmp_path: Path) -> None:
        write_sharded(tmp_path / "m")
        (tmp_path / "m" / "chat_template.jinja").write_text("Hello")
        assert read_safetensors(tmp_path / "m").chat_template == "Hello"


@pytest.mark.parametrize("with_index", [True, False])
def test_a_missing_part_is_named(tmp_path: Path, with_index: bool) -> None:
    paths = write_sharded(tmp_path / "m")
    paths[1].unlink()
    if not with_index:
        (tmp_path / "m" / INDEX).unlink()
    with pytest.raises(ModelLoadError, match=r"Part 2 of 3 is missing: model-00002-of-00003\.safetensors\. Download"):
        read_safetensors(tmp_path / "m")


HUGE = 2**63
BAD_FILES = {
    "nothing": (b"", 'is not a safetensors file: it has 0 bytes'),
    "too little": (b"\1\0\0\0\0\0\0", "it has 7 bytes"),
    "a header of 2**63 bytes": (content_of(GOOD, 16, size=HUGE), "claims 9,223,372,036,854,775,808 bytes"),
    "a header longer than its file": (content_of(GOOD, 16, size=100), "claims 100 bytes for its header, but only"),
    "no header": (content_of(b"", 0), "lacks a { at byte 0"),
    "no JSON": (content_of(b"hello", 0), "lacks a {"),
    "a list": (content_of([], 0), "lacks a {"),
    "an unfinished header": (content_of(b'{"a', 0), "has no text where a name"),
    "a name without an end": (content_of(b'{"' + b"\\" * 99_999, 0), "has no text where a name"),
    "no comma": (content_of(b'{"__metadata__":{} "a":1}', 0), "lacks a ,"),
    "something behind": (content_of(b"{} {}", 0), "has something behind the end"),
    "a tensor twice": (
        content_of(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                   b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', 0), "has 'a' twice",
    ),
    "two sets of metadata": (content_of(b'{"__metadata__":{},"__metadata__":{}}', 0), "has '__metadata__' twice"),
    "a metadata key twice": (content_of(b'{"__metadata__":{"k":"","k":""}}', 0), "has the metadata key 'k' twice"),
    "metadata that is no text": (content_of({"__metadata__": {"k": 1}}, 0), "has no text where the metadata key 'k'"),
    "half a character": (content_of(b'{"\xc3":1}', 0), "has a broken text"),
    "a type twice": (
        content_of(b'{"a":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}}', 16), "in no known way"
    ),
    "a tensor that is a number": (content_of({"a": 5}, 0), "describes the tensor 'a' in no known way"),
    "a tensor in a tensor": (content_of({"a": {"b": {}}}, 0), "in no known way"),
    "a tensor of a thousand lists": (content_of(b'{"a":{"x":' + b"[" * 1000 + b"}}", 0), "in no known way"),
    "a tensor with something more": (content_of(entry(pickle="x"), 16), "in no known way"),
    "an unknown type": (content_of(entry(dtype="X8"), 16), "in the unknown type 'X8'. Take another quantisation"),
    "a type that is a list": (content_of(entry(dtype=["F32"]), 16), "in the unknown type"),
    "a shape that overflows": (content_of(entry(shape=[2**32, 2**32]), 16), "the impossible shape"),
    "a negative shape": (content_of(entry(shape=[-4]), 16), "the impossible shape [-4]"),
    "a shape with a fraction": (content_of(entry(shape=[4.0]), 16), "the impossible shape [4.0]"),
    "a shape of yes and no": (content_of(entry(shape=[True, 4]), 16), "the impossible shape"),
    "a shape of a number with 5000 digits": (
        content_of(b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,16]}}', 16), "in no known way"
    ),
    "nine dimensions": (content_of(entry(shape=[1] * 9), 16), "the impossible shape"),
    "an end past the file": (content_of(entry(data_offsets=[0, 17]), 16), "is cut off: the tensor 'a' should lie at"),
    "an end before its start": (content_of(entry(data_offsets=[16, 0]), 16), "which its shape and type do not fill"),
    "one offset": (content_of(entry(data_offsets=[16]), 16), "is cut off"),
    "fewer bytes than its shape": (content_of(entry(data_offsets=[0, 8]), 16), "8 bytes, which its shape and type"),
    "a hole": (content_of(entry(data_offsets=[8, 24]), 24), "at byte 8 of its data, where 0 is due"),
    "two tensors in one place": (
        content_of(entry() | {"b": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, 16),
        "at byte 0 of its data, where 16 is due",
    ),
    "data that nothing describes": (content_of(GOOD, 20), "has 20 bytes of data where its header describes 16"),
    "no weights": (content_of({}, 0), "holds no weights"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_refused(name: str, tmp_path: Path) -> None:
    content, fault = BAD_FILES[name]
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelLoadError) as refused:
        read_safetensors(path)
    assert fault in str(refused.value)
    assert str(refused.value).startswith("model.safetensors ")
    assert str(refused.value).endswith(".")


def index_of(**weight_map: str) -> str:
    return json.dumps({"weight_map": weight_map})


BAD_INDEXES = {
    "a way out of the folder": (index_of(t0="../../etc/passwd.safetensors"), "which is no file of this folder"),
    "a way out on Windows": (index_of(t0="..\\x.safetensors"), "which is no file of this folder"),
    "a drive": (index_of(t0="C:x.safetensors"), "which is no file of this folder"),
    "a pickle": (index_of(t0="model.bin"), "which is no file of this folder"),
    "an invisible letter": (index_of(t0="m\u202e.safetensors"), "which is no file of this folder"),
    "one of 99,999": (index_of(t0="model-00001-of-99999.safetensors"), "is one of 99999 files, and 1 are there"),
    "a tensor twice": ('{"weight_map":{"a":"m.safetensors","a":"m.safetensors"}}', "has the tensor 'a' twice"),
    "two maps": ('{"weight_map":{"a":"m.safetensors"},"weight_map":{}}', "has 'weight_map' twice"),
    "no tensors": ('{"weight_map":{}}', "lists no tensors"),
    "a map that is a list": ('{"weight_map":[]}', "lacks a {"),
    "no JSON": ("hello", "lacks a {"),
    "a tensor where it is not": (
        index_of(t0="model-00001-of-00002.safetensors", t9="model-00002-of-00002.safetensors"), "does not place there"
    ),
}


@pytest.mark.parametrize("name", BAD_INDEXES)
def test_an_index_is_refused(name: str, tmp_path: Path) -> None:
    text, fault = BAD_INDEXES[name]
    write_sharded(tmp_path, 2)
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(ModelLoadError, match=fault):
        read_safetensors(tmp_path)


def test_a_name_alone_makes_no_parts(tmp_path: Path) -> None:
    path = write_tiny_safetensors(tmp_path / "m-00001-of-99999.safetensors")
    with pytest.raises(ModelLoadError, match="one of 99999 files; 1 to 1000 are possible"):
        read_safetensors(path)


def test_a_folder_of_two_models_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"holds no \.safetensors file"):
        read_safetensors(tmp_path)
    for name in ("a", "b"):
        write_tiny_safetensors(tmp_path / f"{name}.safetensors")
    with pytest.raises(ModelLoadError, match="holds several models"):
        read_safetensors(tmp_path)


def test_side_files_are_bounded_too(tmp_path: Path) -> None:
    write_sharded(tmp_path)
    config = tmp_path / "config.json"
    for content in (b"[" * 1_000_000, b"{" + b" " * (3 << 20) + b"}", b"\xff\xfe\xfd"):
        config.write_bytes(content)
        with pytest.raises(ModelLoadError, match=r"config\.json"):
            read_safetensors(tmp_path)
    config.write_text("[]")
    assert read_safetensors(tmp_path).architecture == ""


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")
def test_no_claim_takes_much_time_or_memory(tmp_path: Path) -> None:
    """In a process that may have 200 MB: headers as large as are taken, of what takes most to read."""
    tensor = b'"%07d":{"dtype":"U8","shape":[],"data_offsets":[0,1]},'
    headers = {
        "brackets": b"{" + b'"a":{"x":' + b"[" * (31 << 20),
        "texts": b'{"__metadata__":{' + b",".join(b'"%d":""' % n for n in range(2_000_000)) + b"}}",
        "one text": b'{"__metadata__":{"k":"' + "𝄞".encode() * (7 << 20) + b'"}}',
        "one name": b'{"' + b"n" * (31 << 20) + b'":1}',
        "backslashes": b'{"' + b"\\\\" * (15 << 20),
        "space": b"{" + b" " * (31 << 20),
        "tensors": b"{" + b"".join(tensor % n for n in range(500_000)),
    }
    for name, header in headers.items():
        (tmp_path / f"{name}.safetensors").write_bytes(content_of(header, 8))
    (tmp_path / "huge.safetensors").write_bytes(content_of(GOOD, 16, size=100 << 20))
    with (tmp_path / "huge.safetensors").open("ab") as file:
        file.truncate(8 << 30)
    result = in_200_mb(tmp_path, "engine.safetensors", "read_safetensors", "*.safetensors")
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")
def test_many_small_claims_cost_no_more_than_one_large(tmp_path: Path) -> None:
    tensor = '"%d-%d":{"dtype":"U8","shape":[],"data_offsets":[%d,%d]}'
    for part in range(1, 401):
        names = ",".join(tensor % (part, n, n, n + 1) for n in range(2000))
        path = tmp_path / f"m-{part:05}-of-00400.safetensors"
        path.write_bytes(content_of(f"{{{names}}}".encode(), 2000))
    result = in_200_mb(tmp_path, "engine.safetensors", "read_safetensors", "m-00001-*.safetensors")
    assert result.returncode == 0, result.stderr
