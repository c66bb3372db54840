"""Indices and ends that are the least or most of two: SASS of nvcc 13.5.37, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty


def _store_of(body: str, array: str) -> tuple[int, int, Certainty]:
    found = accesses_of(
        f"__global__ void k(const float *a, float *o, int n) {{ __shared__ {array};"
        f" int t = threadIdx.x; {body}"
        " __syncthreads(); o[t] = s[t * 3]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o, 16); }\n"
    )
    (store,) = (a for a in found if a.kind is AccessKind.STORE)
    return store.width_bytes, store.instructions, store.certainty


@pytest.mark.parametrize(
    ("index", "width"),
    [
        ("min(4 * t, 252)", 4),
        ("min(4 * t + 1, 61) - 1", 4),
        ("min(max(4 * t - 4, 0), 252)", 4),
        ("min(t, 31) * 4", 16),
    ],
)
def test_llvm_sees_the_bits_that_both_have_and_ptxas_none(index: str, width: int) -> None:
    body = f"int e = {index}; for (int j = 0; j < 4; j++) s[e + j] = a[t + j * 99];"
    assert _store_of(body, "float s[512]") == (width, 16 // width, Certainty.ASSUMED)
    assert _store_of(body, "__align__(16) float s[512]") == (16, 1, Certainty.ASSUMED)


@pytest.mark.parametrize(
    ("head", "place", "certainty"),
    [
        ("b = t * 4, e = min(b + 4, 512); b < e; b++", "b", Certainty.SAMPLED),  # STS.64
        ("i = 0, e = min(4, 512 - 4 * t); i < e; i++", "4 * t + i", Certainty.SAMPLED),  # STS.64
        (
            "i = 0; i < min(n, 16); i++",
            "16 * t + i",
            Certainty.SAMPLED,
        ),  # STS.128 by #pragma unroll
        ("i = 0, e = t < 64 ? 4 : 2; i < e; i++", "4 * t + i", Certainty.SAMPLED),  # STS
        ("b = t * 4, e = b + min(4, 8); b < e; b++", "b", Certainty.ASSUMED),  # STS.128
    ],
)
def test_a_loop_to_the_least_of_two_is_open(head: str, place: str, certainty: Certainty) -> None:
    found = _store_of(f"for (int {head}) s[{place}] = a[{place} * 3];", "float s[512]")
    assert found[2] is certainty


def test_a_loop_that_no_thread_is_known_to_run() -> None:
    found = _store_of(
        "for (int i = 5; i < min(t & 3, 4); i++) s[4 * t + i] = a[i]; s[t] = 1;", "float s[9]"
    )
    assert found[0] == 4


@pytest.mark.parametrize(
    ("clamped", "width", "certainty"),
    [
        ("int b = t * 4; if (b > 501) b = 501;", 4, Certainty.ASSUMED),  # STS
        ("int b = t * 4; if (t > 100) { b = 3; }", 4, Certainty.ASSUMED),  # STS
        ("int b = t; if (b > 50) b = 50; b *= 4;", 16, Certainty.ASSUMED),  # STS.128
    ],
)
def test_what_no_thread_assigns_the_compiler_sees(
    clamped: str, width: int, certainty: Certainty
) -> None:
    body = f"{clamped} for (int i = 0; i < 4; i++) s[b + i] = a[i * 3 + t];"
    assert _store_of(body, "float s[1024]") == (width, 16 // width, certainty)


@pytest.mark.parametrize("clamp", ["t > 100", "blockDim.x > 100"])
def test_a_loop_to_what_no_thread_assigns_is_open(clamp: str) -> None:
    body = f"int e = 4; if ({clamp}) e = 3; for (int i = 0; i < e; i++) s[t * 4 + i] = a[i * 3];"
    assert _store_of(body, "float s[1024]")[2] is Certainty.SAMPLED  # STS
