"""Branches that the compiler discards; figures from machine code (nvcc 13.0.88, nvdisasm 13.5.37,
sm_90, -O3, read by tests/oracle/compiled).
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, ways_of

from smemlint.facts import Certainty

ARMS = """
#include <cuda_fp16.h>
#include <type_traits>
template <typename T, int D> __device__ void store_arm(T *dst, const T *src, int t) {
  if constexpr (CONDITION) dst[t * 2] = src[t];
  else dst[t * 32] = src[t];
}
typedef void (*store_fn)(__half2 *, const __half2 *, int);
template <typename T, int N> __device__ constexpr store_fn chosen() {
  if constexpr (N == 3) return store_arm<T, N>; else return store_arm<T, 1>;
}
template <typename T> __global__ void k(T *out, const T *in) {
  __shared__ T tile[8192];
  CALL
}
void f() { k<__half2><<<1, 256>>>(nullptr, nullptr); }
"""


def stores(condition: str, call: str) -> list[tuple[int, str, float]]:
    source = ARMS.replace("CONDITION", condition).replace("CALL", call)
    return [way for way in ways_of(source) if way[1] == "store"]


@pytest.mark.parametrize(
    "condition",
    [
        "std::is_same_v<T, __half2>",
        "std::is_same<T, half2>::value",
        "!std::is_same_v<T, float>",
        "std::is_class_v<T>",
        "!std::is_integral_v<T> && D == 3",
    ],
)
def test_type_traits_pick_the_branch(condition: str) -> None:
    found = stores(condition, "store_arm<T, 3>(tile, in, threadIdx.x);")
    assert found == [(5, "store", 2.0)]


@pytest.mark.parametrize("call", ["store_arm<T, 3>", "chosen<T, 3>()"])
def test_a_function_pointer_keeps_its_template_arguments(call: str) -> None:
    found = stores("D > 2", f"constexpr store_fn fn = {call}; fn(tile, in, threadIdx.x);")
    assert found == [(5, "store", 2.0)]


def test_an_open_branch_of_the_compiler_has_no_figure() -> None:
    source = """
template <typename T, class Traits> __global__ void k(T *out, const T *in) {
  __shared__ float tile[8192];
  if constexpr (Traits::kWide) tile[threadIdx.x * 2] = 1;
  else tile[threadIdx.x * 32] = 2;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
template <class X> void go(X x) { k<float, X><<<1, 256>>>(nullptr, nullptr); }
"""
    found = {a.span.line: a.certainty for a in accesses_of(source)}
    assert found == {4: Certainty.UNKNOWN, 5: Certainty.UNKNOWN, 7: Certainty.ASSUMED}


@pytest.mark.parametrize(
    ("trait", "width"),
    [
        ("std::make_unsigned<T>::type", 2),
        ("std::make_signed_t<unsigned char>", 1),
        ("std::remove_reference<T &>::type", 2),
        ("std::decay_t<const T &>", 2),
    ],
)
def test_types_that_traits_make(trait: str, width: int) -> None:
    text = f"""
template <class T> __global__ void k(T *g) {{
  using U = typename {trait};
  __shared__ U s[1024];
  s[threadIdx.x * 2] = g[0];
}}
void f(short *g) {{ k<short><<<1, 32>>>(g); }}
"""
    (access,) = accesses_of(text)
    assert access.width_bytes == width


HOOK = """
#include <type_traits>
template <class Hook> __device__ void step(float *s, Hook hook) {
  if constexpr (std::is_same_v<Hook, std::nullptr_t>) s[threadIdx.x * 2] = 0;
  else hook(s);
}
template <bool HasHook> __device__ auto chosen() {
  if constexpr (HasHook) return [](float *s) { s[threadIdx.x * 32] = 1; };
  else return nullptr;
}
__global__ void k() {
  __shared__ float s[1024];
  CALL
}
void f() { k<<<1, 32>>>(); }
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("step(s, nullptr);", (4, 2.0)),
        ("auto none = nullptr; step(s, none);", (4, 2.0)),
        ("step(s, [](float *t) { t[threadIdx.x * 4] = 1; });", (13, 4.0)),
        ("auto hook = [](float *t) { t[threadIdx.x * 4] = 1; }; step(s, hook);", (13, 4.0)),
        ("step(s, chosen<true>());", (8, 32.0)),
        ("step(s, chosen<false>());", (4, 2.0)),
        ("if constexpr (!std::is_integral_v<std::nullptr_t>) s[threadIdx.x * 8] = 1;", (13, 8.0)),
    ],
)
def test_a_lambda_and_a_null_pointer_have_types_of_their_own(
    call: str, found: tuple[int, float]
) -> None:
    (access,) = accesses_of(HOOK.replace("CALL", call))
    assert (access.span.line, access.ways) == found


def test_a_null_pointer_is_passed_for_a_pointer() -> None:
    source = """
__device__ void step(float *s, int stride) { s[threadIdx.x * stride] = 0; }
__device__ void step(float *s, const float *from) { s[threadIdx.x * 2] = 0; }
__global__ void k() { __shared__ float s[1024]; step(s, nullptr); }
void f() { k<<<1, 32>>>(); }
"""
    (access,) = accesses_of(source)
    assert (access.span.line, access.ways) == (3, 2.0)
