"""Headers: what is read from good files, and that every bad one ends in a sentence, in bounded time and memory."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import gguf
import pytest

from engine.errors import ModelLoadError
from engine.gguf import is_beside_a_model, read_header
from engine.gguf_reader import TENSOR_TYPES, MetadataArray
from tests.engine.bounded import in_200_mb
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.pace import seconds_of

ROOT = Path(__file__).parents[2]
UINT32, TEXT, ARRAY = 4, 8, 9


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


BASICS = (
    key("general.architecture", TEXT, text("llama")),
    key("llama.block_count", UINT32, struct.pack("<I", 2)),
    key("llama.context_length", UINT32, struct.pack("<I", 128)),
    key("llama.embedding_length", UINT32, struct.pack("<I", 64)),
    key("llama.attention.head_count", UINT32, struct.pack("<I", 4)),
)


def file_of(
    *keys: bytes, tensors: tuple[bytes, ...] = (), data: bytes = b"", counts: tuple[int, int] | None = None
) -> bytes:
    """`counts` of tensors and keys that the file claims, where they are not the true ones."""
    num_tensors, num_keys = counts or (len(tensors), len(keys))
    head = b"GGUF" + struct.pack("<IQQ", 3, num_tensors, num_keys) + b"".join(keys) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + data if tensors else head


def refusal(folder: Path, content: bytes, name: str = "model.gguf") -> str:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(ModelLoadError) as refused:
        read_header(path)
    return str(refused.value)


class TestAGoodFile:
    def test_tells_what_the_pages_and_the_plan_need(self, tiny: Path) -> None:
        header = read_header(tiny)
        assert (header.architecture, header.name, header.quantisation) == ("llama", "Tiny 0", "F32")
        assert (header.context_length, header.block_count, header.embedding_length) == (4096, 2, 64)
        assert header.has_tokenizer
        assert header.file_bytes == tiny.stat().st_size

    def test_has_the_weights_that_the_library_of_the_format_finds(self, tiny: Path) -> None:
        theirs = gguf.GGUFReader(tiny).tensors
        ours = read_header(tiny).tensors
        assert [(t.name, t.num_bytes) for t in ours] == [(t.name, t.n_bytes) for t in theirs]
        assert [t.shape for t in ours] == [tuple(map(int, t.shape)) for t in theirs]

    def test_knows_the_size_of_a_token_in_the_cache(self, tiny: Path) -> None:
        header = read_header(tiny)
        assert header.kv_bytes_per_token("f16") == 2 * 2 * 32 * 2       # layers, K and V, two heads of 16, bytes
        assert header.kv_bytes_per_token("f32") == 512
        assert header.kv_bytes_by_layer("f16") == (128, 128)

    def test_does_not_keep_its_vocabulary(self, tiny: Path) -> None:
        tokens = read_header(tiny).metadata["tokenizer.ggml.tokens"]
        assert isinstance(tokens, MetadataArray)
        assert (tokens.length, tokens.values) == (264, ())

    def test_may_give_each_layer_its_own_heads(self, tmp_path: Path) -> None:
        heads = key("llama.attention.head_count_kv", ARRAY, struct.pack("<IQ2I", UINT32, 2, 1, 4))
        path = tmp_path / "m.gguf"
        path.write_bytes(file_of(*BASICS, heads, tensors=(tensor("t", (32,)),), data=b"\0" * 128))
        assert read_header(path).kv_values_by_layer == (1 * 2 * 16, 4 * 2 * 16)

    def test_names_the_type_of_most_weights_where_the_recipe_is_unknown(self, tmp_path: Path) -> None:
        path = tmp_path / "m.gguf"
        tensors = (tensor("small", (32,), 0, 0), tensor("large", (256, 8), 12, 128))
        path.write_bytes(file_of(*BASICS, tensors=tensors, data=b"\0" * (128 + 8 * 144)))
        assert read_header(path).quantisation == "Q4_K"

    def test_is_read_in_milliseconds_with_a_large_vocabulary(self, tmp_path: Path) -> None:
        words = b"".join(text(f"word {n}") for n in range(300_000))
        tokens = key("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", TEXT, 300_000) + words)
        path = tmp_path / "m.gguf"
        path.write_bytes(file_of(*BASICS, tokens, tensors=(tensor("t", (32,)),), data=b"\0" * 128))
        start_s = time.process_time()
        found = read_header(path).metadata["tokenizer.ggml.tokens"]
        took_s = time.process_time() - start_s
        assert isinstance(found, MetadataArray) and found.length == 300_000
        assert took_s < seconds_of(20)


def test_sizes_of_types_are_those_of_the_format() -> None:
    theirs = {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    ours = {kind: (each.block_elements, each.block_bytes) for kind, each in TENSOR_TYPES.items()}
    assert {kind: ours[kind] for kind in theirs if kind in ours} == theirs | {9: (32, 36)}


HUGE = 2**63
BAD_FILES = {
    "an empty file": (b"", "is not a GGUF file"),
    "another format": (b"PK\x03\x04" + b"\0" * 100, "is not a GGUF file"),
    "the old version": (b"GGUF" + struct.pack("<III", 1, 0, 0) + b"\0" * 8, "has GGUF version 1"),
    "a machine of the other kind": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "only a magic": (b"GGUF", "ends in the middle of its header"),
    "an array of 2**63 numbers, in 49 bytes": (
        file_of(key("a", ARRAY, struct.pack("<IQ", UINT32, HUGE))), "claims 36,893,488,147,419,103,232 bytes"
    ),
    "an array of 2**63 texts": (file_of(key("a", ARRAY, struct.pack("<IQ", TEXT, HUGE))), "claims"),
    "an array of 2**64-1 bytes": (file_of(key("a", ARRAY, struct.pack("<IQ", 0, 2 * HUGE - 1))), "claims"),
    "an array of arrays": (file_of(key("a", ARRAY, struct.pack("<IQIQ", ARRAY, 1, 0, 0))), "has an array of arrays"),
    "a text in an array that is too long": (
        file_of(key("a", ARRAY, struct.pack("<IQQ", TEXT, 1, 2**62))), "claims 4,611,686,018,427,387,904 bytes"
    ),
    "a text of 2**62 bytes": (file_of(key("a", TEXT, struct.pack("<Q", 2**62))), "claims 4,611,686,018,427,387,904"),
    "a key of 2**62 bytes": (file_of(struct.pack("<Q", 2**62), counts=(0, 1)), "claims"),
    "a key without a name": (file_of(key("", 0, b"\0" * 20)), "has 0 bytes in the name of a metadata key"),
    "2**60 tensors": (file_of(counts=(2**60, 0)), "claims 1,152,921,504,606,846,976 tensors"),
    "2**60 keys": (file_of(counts=(0, 2**60)), "claims 1,152,921,504,606,846,976 metadata keys"),
    "more keys than it has room for": (file_of(counts=(0, 9000)), "claims 126,000 bytes"),
    "a key twice": (file_of(key("a", 0, b"\1"), key("a", 0, b"\2")), "has the metadata key 'a' twice"),
    "an unknown type of value": (file_of(key("a", 99, b"\0" * 8)), "the unknown type 99"),
    "no weights": (file_of(*BASICS), "holds no weights"),
    "no architecture": (file_of(tensors=(tensor("t", (32,)),), data=b"\0" * 128), "does not say its architecture"),
    "an odd alignment": (file_of(*BASICS, key("general.alignment", UINT32, struct.pack("<I", 33))), "to 33 bytes"),
    "a tensor twice": (
        file_of(*BASICS, tensors=(tensor("t", (32,)), tensor("t", (32,), offset=128)), data=b"\0" * 256),
        "has the tensor 't' twice",
    ),
    "a shape that overflows": (
        file_of(*BASICS, tensors=(tensor("t", (2**32, 2**32, 4)),), data=b"\0" * 128), "the impossible shape"
    ),
    "a shape without elements": (file_of(*BASICS, tensors=(tensor("t", (32, 0)),)), "the impossible shape (32, 0)"),
    "a shape of five dimensions": (file_of(*BASICS, tensors=(tensor("t", (1,) * 5),)), "5 dimensions"),
    "a tensor of an unknown type": (file_of(*BASICS, tensors=(tensor("t", (32,), 77),)), "the unknown type 77"),
    "a row that its type cannot store": (file_of(*BASICS, tensors=(tensor("t", (33,), 2),)), "Q4_0 cannot store"),
    "a tensor past its end": (
        file_of(*BASICS, tensors=(tensor("t", (32,), 0, 2**62),), data=b"\0" * 128), "is cut off: the tensor 't'"
    ),
    "a tensor in the wrong place": (
        file_of(*BASICS, tensors=(tensor("t", (32,), 0, 64),), data=b"\0" * 256),
        "at byte 64 of its data, where 0 is due",
    ),
    "missing data": (file_of(*BASICS, tensors=(tensor("t", (32,)),), data=b"\0" * 127), "is cut off: it should have"),
    "no layers": (
        file_of(BASICS[0], key("llama.block_count", UINT32, struct.pack("<I", 0)), *BASICS[2:],
                tensors=(tensor("t", (32,)),), data=b"\0" * 128),
        "block_count is 0, where a whole number of 1 to 512 is due",
    ),
    "a million layers": (
        file_of(BASICS[0], key("llama.block_count", UINT32, struct.pack("<I", 10**6)), *BASICS[2:],
                tensors=(tensor("t", (32,)),), data=b"\0" * 128),
        "block_count is 1000000",
    ),
    "a text where a number belongs": (
        file_of(BASICS[0], key("llama.block_count", TEXT, text("two")), *BASICS[2:],
                tensors=(tensor("t", (32,)),), data=b"\0" * 128),
        "block_count is 'two'",
    ),
    "no context length": (
        file_of(*BASICS[:2], *BASICS[3:], tensors=(tensor("t", (32,)),), data=b"\0" * 128),
        "does not say its llama.context_length",
    ),
    "eyes without a model": (file_of(key("general.architecture", TEXT, text("clip"))), "part of a model that reads"),
    "an adapter": (file_of(BASICS[0], key("general.type", TEXT, text("adapter"))), "an adapter (LoRA)"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_refused(name: str, tmp_path: Path) -> None:
    content, fault = BAD_FILES[name]
    message = refusal(tmp_path, content)
    assert fault in message
    assert message.startswith("model.gguf ")
    assert message.endswith(".")


def test_every_truncation_is_refused(tiny: Path, tmp_path: Path) -> None:
    content = tiny.read_bytes()
    for size in [*range(0, 6000, 97), *range(6000, len(content), 20_000), len(content) - 1]:
        refusal(tmp_path, content[:size])


def test_a_thousand_damaged_files_are_read_or_refused(tiny: Path, tmp_path: Path) -> None:
    rng = random.Random(37)
    content = tiny.read_bytes()
    header_bytes = len(content) - read_header(tiny).weight_bytes
    path = tmp_path / "damaged.gguf"
    num_refused = 0
    for _ in range(1000):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(header_bytes)
            damaged[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        path.write_bytes(damaged)
        try:
            read_header(path)
        except ModelLoadError:
            num_refused += 1
    assert 100 < num_refused < 1000


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")
def test_no_claim_takes_much_time_or_memory(tmp_path: Path) -> None:
    """In a process that may have 200 MB, on files as large as a disk can pretend: 8 GB of nothing."""
    claims = {
        "texts": key("a", ARRAY, struct.pack("<IQ", TEXT, 2_000_000)),
        "more texts": key("a", ARRAY, struct.pack("<IQ", TEXT, 2**29)),
        "numbers": key("a", ARRAY, struct.pack("<IQ", UINT32, 2**30)),
        "text": key("a", TEXT, struct.pack("<Q", 2**32)),
        "small arrays": b"".join(
            key(f"{n:04}", ARRAY, struct.pack("<IQ", kind, 4096) + bytes(4096 * width))
            for n, (kind, width) in enumerate([(0, 1), (12, 8)] * 2499)
        ),
        "small texts": b"".join(key(f"{n:04}", TEXT, text("x" * 4000)) for n in range(4999)),
    }
    counts = {"small arrays": (1, 5000), "small texts": (1, 5000)}
    for name, claim in claims.items():
        path = tmp_path / f"{name}.gguf"
        with path.open("wb") as file:
            file.write(file_of(claim, counts=counts.get(name, (1, 2))))
            file.truncate(8 << 30)
    result = in_200_mb(tmp_path, "engine.gguf", "read_header", "*.gguf")
    assert result.returncode == 0, result.stderr


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.gguf", Path("\0.gguf")):
        with pytest.raises(ModelLoadError):
            read_header(path)


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")
def test_many_small_claims_cost_no_more_than_one_large(tmp_path: Path) -> None:
    """A thousand parts, each of which alone would do."""
    words = struct.pack("<IQ", TEXT, 20_000) + text("word") * 20_000
    for number in range(1000):
        path = tmp_path / f"m-{number + 1:05}-of-01000.gguf"
        numbers = (
            key("split.no", 2, struct.pack("<H", number)), key("split.count", 2, struct.pack("<H", 1000)),
            key("tokens", ARRAY, words),
        )
        keys = (*BASICS, *numbers) if number == 0 else numbers
        path.write_bytes(file_of(*keys, tensors=(tensor(f"t{number}", (32,)),), data=b"\0" * 128))
    result = in_200_mb(tmp_path, "engine.gguf", "read_header", "m-00001-*.gguf")
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory as POSIX does")
def test_judging_all_of_a_hostile_model_keeps_to_the_same_bounds(tmp_path: Path) -> None:
    """As many texts as are read, a vocabulary of markers, and a template that works as long as it may."""
    word = text("<|a marker|>")
    slow = "{% for i in range(90000) %}{% set x = [i, i, i] | join %}{% endfor %}{{ messages[0].content }}"
    keys = (
        *BASICS,
        key("tokenizer.ggml.model", TEXT, text("gpt2")),
        key("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", TEXT, 900_000) + word * 900_000),
        key("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ", 5, 900_000) + b"\3\0\0\0" * 900_000),
        key("tokenizer.ggml.merges", ARRAY, struct.pack("<IQ", TEXT, 1_100_000) + text("a b") * 1_100_000),
        key("tokenizer.chat_template", TEXT, text(slow)),
    )
    tensors = tuple(tensor(f"t{n}", (32,), 0, 128 * n) for n in range(20_000))
    head = file_of(*keys, tensors=tensors)
    (tmp_path / "m.gguf").write_bytes(head + b"\0" * 128 * 20_000)
    (tmp_path / "examine.py").write_text(
        "from pathlib import Path\nfrom engine.errors import ModelLoadError\nfrom engine.judge import judge\n"
        "def examine(path: Path) -> None:\n    judge(path).examine_template()\n    raise ModelLoadError('.')\n"
    )
    result = in_200_mb(tmp_path, "examine", "examine", "m.gguf")
    assert result.returncode == 0, result.stderr


class TestAModelInParts:
    @pytest.fixture
    def parts(self, tmp_path: Path) -> list[Path]:
        paths = [tmp_path / f"m-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
        for number, path in enumerate(paths):
            numbers = (key("split.no", 2, struct.pack("<H", number)), key("split.count", 2, struct.pack("<H", 3)))
            keys = (*BASICS, *numbers) if number == 0 else numbers
            path.write_bytes(file_of(*keys, tensors=(tensor(f"t{number}", (32,)),), data=b"\0" * 128))
        return paths

    def test_is_counted_as_one(self, parts: list[Path]) -> None:
        header = read_header(parts[0])
        assert header.part_paths == tuple(parts)
        assert header.weight_bytes == 3 * 128
        assert header.file_bytes == sum(path.stat().st_size for path in parts)

    def test_says_which_part_is_missing(self, parts: list[Path]) -> None:
        parts[1].unlink()
        with pytest.raises(ModelLoadError, match=r"Part 2 of 3 is missing: m-00002-of-00003\.gguf"):
            read_header(parts[0])

    def test_is_chosen_by_its_first(self, parts: list[Path]) -> None:
        with pytest.raises(ModelLoadError, match=r"Choose the first, m-00001-of-00003\.gguf"):
            read_header(parts[2])

    def test_has_no_part_twice(self, parts: list[Path]) -> None:
        parts[2].write_bytes(parts[1].read_bytes())
        with pytest.raises(ModelLoadError, match="is not the part that its name says"):
            read_header(parts[0])

    def test_holds_no_tensor_twice(self, parts: list[Path]) -> None:
        content = parts[2].read_bytes()
        assert content.count(b"t2") == 1
        parts[2].write_bytes(content.replace(b"t2", b"t1"))
        with pytest.raises(ModelLoadError, match="hold one tensor twice"):
            read_header(parts[0])

    def test_must_keep_its_names(self, parts: list[Path]) -> None:
        renamed = parts[0].rename(parts[0].with_name("mine.gguf"))
        with pytest.raises(ModelLoadError, match="not by its name"):
            read_header(renamed)

    def test_a_name_alone_makes_no_parts(self, tiny: Path, tmp_path: Path) -> None:
        content = tiny.read_bytes()
        assert "Give it its name back" in refusal(tmp_path, content, "m-00001-of-99999.gguf")


def test_numpy_is_not_needed_to_read_a_header() -> None:
    script = "import sys, engine.gguf, engine.memory, engine.select\nassert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("mmproj-F16.gguf", True), ("mmproj-model-f16.gguf", True), ("Qwen2.5-VL-7B-mmproj-Q8_0.gguf", True),
        ("gemma-3-4b.mmproj.gguf", True), ("MMPROJ.gguf", True), ("mtp-qwen3.gguf", True),
        ("imatrix_unsloth.gguf", True),
        ("Llama-3-8B-imatrix.gguf", True), ("Llama-3-8B.imatrix.gguf", True), ("Llama-3-8B-Q4_K_M-imatrix.gguf", False),
        ("llama-imatrix-Q4_0.gguf", False), ("comprehend-mmprojects-Q4_0.gguf", False), ("qwen3-Q4_K_M.gguf", False),
    ],
)
def test_what_lies_beside_a_model_is_told_by_its_name(name: str, is_so: bool) -> None:
    assert is_beside_a_model(name) is is_so
