"""Libraries of headers: includes in angle brackets, kernels behind macros, functions nobody calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from smemlint.facts import Facts

MACROS = "#pragma once\n#define LIB_KERNEL static __global__ void\n#define LIB_PITCH 33\n"
KERNEL = """
#include <lib/core/lib-macros.hpp>
#include <cuda_fp16.h>
LIB_KERNEL transpose(float *out) {
  __shared__ float s[32][LIB_PITCH];
  s[threadIdx.x][threadIdx.y] = out[threadIdx.x];
}
void go(float *out) { transpose<<<1, dim3(32, 8)>>>(out); }
"""


def facts_of_files(**texts: str) -> Facts:
    """Of files by name; `__` stands for `/`."""
    sources = [Source(name.replace("__", "/"), text) for name, text in texts.items()]
    facts, crashed = analyze(sources, Settings())
    assert not crashed, facts.not_analysed
    return facts


def test_a_header_of_the_project_is_read_in_angle_brackets() -> None:
    header = {"include__lib__core__lib-macros.hpp": MACROS}
    (kernel,) = facts_of_files(**header, **{"src__k.cu": KERNEL}).kernels
    (store,) = kernel.accesses
    # 33 words a row: lane l is in bank l
    assert (store.wavefronts.mean, kernel.instance.block) == (1.0, (32, 8, 1))
    wider = {"include__lib__core__lib-macros.hpp": MACROS.replace("33", "32")}
    (kernel,) = facts_of_files(**wider, **{"src__k.cu": KERNEL}).kernels
    assert kernel.accesses[0].wavefronts.mean == 32.0


def test_a_header_in_angle_brackets_that_is_not_there_is_another_library_s() -> None:
    facts = facts_of_files(**{"src__k.cu": KERNEL.replace("LIB_PITCH", "33")})
    assert [k.instance.kernel for k in facts.kernels] == ["transpose"]
    assert facts.not_analysed == ()


def test_every_header_of_cutlass_brings_its_constants() -> None:
    kernel = KERNEL.replace("LIB_PITCH", "cutlass::NumThreadsPerWarpGroup / 4")
    for header in ("cutlass/arch/barrier.h", "cute/tensor.hpp"):
        (found,) = facts_of_files(
            **{"k.cu": kernel.replace("lib/core/lib-macros.hpp", header)}
        ).kernels
        assert found.accesses[0].array.dims == (32, 32)


def test_a_header_in_angle_brackets_may_lie_in_a_folder_above() -> None:
    kernel = KERNEL.replace("lib/core/lib-macros.hpp", "macros.hpp")
    files = {"a__macros.hpp": MACROS, "b__macros.hpp": MACROS.replace("33", "32")}
    for folder, wavefronts in (("a", 1.0), ("b", 32.0)):
        (found,) = facts_of_files(**files, **{f"{folder}__fast__k.cu": kernel}).kernels
        assert found.accesses[0].wavefronts.mean == wavefronts


def test_the_only_header_of_that_name_is_meant_wherever_it_lies() -> None:
    kernel = KERNEL.replace("lib/core/lib-macros.hpp", "macros.hpp")
    files = {"x__util__macros.hpp": MACROS.replace("33", "32"), "a__b__k.cu": kernel}
    (found,) = facts_of_files(**files).kernels
    assert found.accesses[0].wavefronts.mean == 32.0
    (found,) = facts_of_files(**files, z__macros__hpp="", **{"z__macros.hpp": MACROS}).kernels
    assert not found.accesses[0].certainty.is_decided


def test_a_name_of_the_standard_library_is_not_looked_for_in_the_project() -> None:
    for name in ("pitch", "math.h"):
        files = {name: "#define LIB_PITCH 32\n", "k.cu": f"#include <{name}>\n" + KERNEL}
        (found,) = facts_of_files(**files, **{"include__lib__core__lib-macros.hpp": MACROS}).kernels
        assert found.accesses[0].wavefronts.mean == 1.0


def test_a_word_that_says_kernel_makes_one_only_of_device_code() -> None:
    host = "LIB_KERNEL count(float *out) { static float s[32]; s[0] = out[0]; }\n"
    facts = facts_of_files(**{"k.cu": host})
    assert (facts.kernels, facts.not_analysed) == ((), ())


def test_shared_memory_that_no_kernel_reaches_is_said() -> None:
    body = "(float *o) { __shared__ float s[32]; s[threadIdx.x] = o[0]; o[1] = s[0]; }\n"
    lonely = "__device__ void lonely" + body + "HIDDEN void hidden" + body
    used = "__device__ void used" + body + "__global__ void k(float *o) { used(o); }\n"
    facts = facts_of_files(**{"k.cu": lonely + used})
    notes = [(n.kernel, n.reason.code) for n in facts.not_analysed]
    assert notes == [("lonely", "not-reached"), ("hidden", "not-reached")]
    assert {a.span.line for k in facts.kernels for a in k.accesses} == {3}


def test_cutlass_is_not_read_where_it_lies_beside_the_sources_but_a_folder_of_that_name_is() -> (
    None
):
    kernel = """
#include "cutlass/pitch.h"
__global__ void k(float *out) {
  __shared__ float s[32 * PITCH];
  s[threadIdx.x * PITCH] = out[threadIdx.x];
}
void go(float *out) { k<<<1, 32>>>(out); }
"""
    header = "#pragma once\n#define PITCH 32\n"
    for folder, wavefronts in (("src__cutlass", 32.0), ("include__cutlass", None)):
        (found,) = facts_of_files(**{f"{folder}__pitch.h": header, "src__k.cu": kernel}).kernels
        (store,) = found.accesses
        assert (store.wavefronts.mean if store.wavefronts else None) == wavefronts


def test_what_stands_for_a_header_of_cutlass_is_read_whether_it_is_there_or_not() -> None:
    kernel = """
#include "cutlass/fast_math.h"
__global__ void k(float *out) {
  __shared__ float s[2048];
  s[threadIdx.x * cutlass::round_up(5, 4)] = s[threadIdx.x * cutlass::ceil_div(7, 2)];
}
void go(float *out) { k<<<1, 32>>>(out); }
"""
    own = {"include__cutlass__fast_math.h": "namespace cutlass { int round_up(int a, int b); }"}
    for files in ({}, own):
        (found,) = facts_of_files(**files, **{"src__k.cu": kernel}).kernels
        figures = sorted((a.kind.value, a.wavefronts.mean) for a in found.accesses)
        assert figures == [("load", 4.0), ("store", 8.0)]


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("cutlass/cute/layout.hpp", False),  # a copy of CUTLASS's include folder, named for it
        ("cutlass/cutlass/half.h", False),
        ("include/cute/layout.hpp", False),
        ("cutlass/cute/gemm.hpp", True),  # none of CuTe's
        ("cute/layout.hpp", True),
    ],
)
def test_a_copy_of_cutes_headers_is_not_read_wherever_it_lies(path: str, is_read: bool) -> None:
    name = "/".join(path.split("/")[-2:])
    kernel = f"""
#include "{name}"
#ifdef IS_READ
#define STRIDE 2
#else
#define STRIDE 1
#endif
__global__ void k() {{ __shared__ float s[64]; s[threadIdx.x * STRIDE] = 0; }}
void go() {{ k<<<1, 32>>>(); }}
"""
    files = {f"csrc/{path}".replace("/", "__"): "#define IS_READ\n", "csrc__main.cu": kernel}
    (found,) = facts_of_files(**files).kernels
    assert [a.wavefronts.mean for a in found.accesses if a.wavefronts] == [2.0 if is_read else 1.0]


@pytest.mark.parametrize(
    ("name", "notes"),
    [("cutlass/util/GPU_Clock.hpp", 0), ("cutlass/gemm/device/gemm.h", 0), ("cutlass/mine.h", 1)],
)
def test_only_headers_that_cutlass_has_are_not_missed(name: str, notes: int) -> None:
    kernel = f"""
#include "{name}"
__global__ void k() {{ __shared__ float s[64]; s[threadIdx.x] = 0; }}
void go() {{ k<<<1, 32>>>(); }}
"""
    assert len(facts_of_files(**{"src__main.cu": kernel}).not_analysed) == notes
