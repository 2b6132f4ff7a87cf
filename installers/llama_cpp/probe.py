"""What this processor really runs: each instruction set is tried in a child process, since what a virtual machine
claims and what it carries out are not always the same. Called by `installers.llama_cpp.wheel`; standard library only.

AMX is not in the table on purpose: builds with it end the process at the first decode on some virtual machines.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TRIAL_TIMEOUT_S = 20


@dataclass(frozen=True)
class Feature:
    name: str
    option: str                  # of ggml's CMake files; it adds the same compiler flags as stand here
    flags: tuple[str, ...]
    needs: tuple[str, ...]       # features without which ggml makes nothing of this one
    body: str                    # C, with `one` a 1 that the compiler can't know; returns 0 when the result is right


FEATURES = (
    Feature("sse4.2", "GGML_SSE42", ("-msse4.2",), (),
            "return _mm_crc32_u8(0, (unsigned char)one) != 0xf26b8303u;"),
    Feature("avx", "GGML_AVX", ("-mavx",), ("sse4.2",),
            "__m256 a = _mm256_set1_ps((float)one); return _mm256_cvtss_f32(_mm256_add_ps(a, a)) != 2.0f;"),
    Feature("avx2", "GGML_AVX2", ("-mavx2",), ("avx",),
            "__m256i a = _mm256_set1_epi32(one); return _mm256_cvtsi256_si32(_mm256_add_epi32(a, a)) != 2;"),
    Feature("fma", "GGML_FMA", ("-mfma",), ("avx",),
            "__m256 a = _mm256_set1_ps((float)one + 1); return _mm256_cvtss_f32(_mm256_fmadd_ps(a, a, a)) != 6.0f;"),
    Feature("f16c", "GGML_F16C", ("-mf16c",), ("avx",),
            "__m128i half = _mm_set1_epi16((short)(0x3bff + one));"
            "return _mm256_cvtss_f32(_mm256_cvtph_ps(half)) != 1.0f;"),
    Feature("bmi2", "GGML_BMI2", ("-mbmi2",), ("avx2",),
            "return _pdep_u32((unsigned)one + 4u, 0xf0u) != 0x50u;"),
    Feature("avx-vnni", "GGML_AVX_VNNI", ("-mavxvnni",), ("avx2",),
            "__m256i a = _mm256_set1_epi8((char)one);"
            "return _mm256_cvtsi256_si32(_mm256_dpbusd_avx_epi32(_mm256_set1_epi32(one), a, a)) != 5;"),
    Feature("avx512", "GGML_AVX512", ("-mavx512f", "-mavx512cd", "-mavx512vl", "-mavx512dq", "-mavx512bw"),
            ("avx2", "fma", "f16c"),
            "__m512i a = _mm512_set1_epi32(one);"
            "__m512i bytes = _mm512_add_epi8(a, _mm512_conflict_epi32(a));"
            "__m256i low = _mm512_castsi512_si256(_mm512_mullo_epi64(bytes, a));"
            "return _mm256_cvtsi256_si32(_mm256_maskz_add_epi32((__mmask8)0xff, low, low)) != 2;"),
    Feature("avx512-vbmi", "GGML_AVX512_VBMI", ("-mavx512f", "-mavx512bw", "-mavx512vbmi"), ("avx512",),
            "__m512i a = _mm512_set1_epi8((char)one);"
            "return _mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_permutexvar_epi8(a, a))) != 0x01010101;"),
    Feature("avx512-vnni", "GGML_AVX512_VNNI", ("-mavx512f", "-mavx512vnni"), ("avx512",),
            "__m512i a = _mm512_set1_epi8((char)one), sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(one), a, a);"
            "return _mm_cvtsi128_si32(_mm512_castsi512_si128(sum)) != 5;"),
    Feature("avx512-bf16", "GGML_AVX512_BF16", ("-mavx512f", "-mavx512bf16"), ("avx512",),
            "__m512 a = _mm512_set1_ps((float)one + 1); __m512bh b = _mm512_cvtne2ps_pbh(a, a);"
            "return _mm512_cvtss_f32(_mm512_dpbf16_ps(a, b, b)) != 10.0f;"),
)

# What almost every x86-64 processor since 2013 has: the second choice when a build with more than this crashes.
BASELINE = ("sse4.2", "avx", "avx2", "fma", "f16c", "bmi2")


def is_x86_64() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def c_compiler() -> str | None:
    """Path of the C compiler that CMake will take, or None."""
    return _find(os.environ.get("CC"), "cc", "gcc", "clang")


def cxx_compiler() -> str | None:
    return _find(os.environ.get("CXX"), "c++", "g++", "clang++")


def compiler_version(compiler: str) -> str:
    """First line of what the compiler says of itself: part of the name under which a build is kept."""
    asked = [compiler, "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def features_that_run(compiler: str) -> tuple[str, ...]:
    """Names from `FEATURES` whose program compiled, ran and computed the right value, in the table's order."""
    with tempfile.TemporaryDirectory(prefix="inglenook-probe-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(lambda feature: _runs(compiler, feature, Path(folder)), FEATURES))
    kept: list[str] = []
    for feature, runs in zip(FEATURES, ran, strict=True):
        if runs and all(need in kept for need in feature.needs):
            kept.append(feature.name)
    return tuple(kept)


def _runs(compiler: str, feature: Feature, folder: Path) -> bool:
    source = folder / f"{feature.name}.c"
    program = folder / f"{feature.name}.out"
    source.write_text(f"#include <immintrin.h>\nint main(int one, char **argv) {{ (void)argv; {feature.body} }}\n")
    compile_it = [compiler, "-O1", *feature.flags, "-o", str(program), str(source)]
    return _succeeds(compile_it) and _succeeds([str(program)])


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TRIAL_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _find(*names: str | None) -> str | None:
    return next((path for name in names if name and (path := shutil.which(name))), None)
