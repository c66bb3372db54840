"""Loops over a chunk of each thread that a second end may cut short (SASS of nvcc 13.5.37)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty


@pytest.mark.parametrize(
    ("head", "certainty"),
    [
        ("i = t * 4; i < blockDim.x * 4 && i < t * 4 + 4", Certainty.SAMPLED),  # STS.128
        ("i = t * 4; i != 128 && i < t * 4 + 4", Certainty.SAMPLED),  # STS.128
        ("i = t * 4; i < t * 4 + 4 && i < t * 4 + 8", Certainty.SAMPLED),  # STS
        ("i = 0; i < 4 && i < 9", Certainty.ASSUMED),  # STS.128
    ],
)
def test_the_least_of_two_ends_is_open(head: str, certainty: Certainty) -> None:
    place = "t * 4 + i" if head.startswith("i = 0") else "i"
    found = accesses_of(
        "__global__ void k(const float *a, float *o) { __shared__ float s[256];"
        f" int t = threadIdx.x; for (int {head}; i++) s[{place}] = a[i];"
        " __syncthreads(); o[t] = s[t * 3]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o); }\n"
    )
    assert [a.certainty for a in found if a.kind is AccessKind.STORE] == [certainty]


@pytest.mark.parametrize(
    "condition",
    [
        "i < 256 && {}",
        "{} && i < 256",
        "256 > i && {}",
        "i >= 0 && {}",
        "i <= 255 && {}",
        "(i < 256) & ({})",
        "i < 4096 && {}",
    ],
)
@pytest.mark.parametrize("end", ["i < (t + 1) * 8", "i < t * 8 + 8", "i < b + 8", "i <= b + 7"])
@pytest.mark.parametrize(("type_name", "ways"), [("float", 8), ("__half", 4), ("char", 2)])
def test_iterations_with_a_second_end_that_is_constant_stay_apart(
    condition: str, end: str, type_name: str, ways: int
) -> None:
    """STS, STS.U16 or STS.U8 and the same loads: eight by iteration, of one element."""
    size = {"float": 4, "__half": 2, "char": 1}[type_name]
    loop = f"for (int i = b; {condition.format(end)}; i++)"
    found = accesses_of(
        f"__global__ void k(const {type_name} *a, {type_name} *o) {{"
        f" __shared__ __align__(16) {type_name} s[256]; int t = threadIdx.x, b = t * 8;"
        f" {loop} s[i] = a[i]; __syncthreads(); o[t] = s[t]; }}\n"
        f"void f(const {type_name} *a, {type_name} *o) {{ k<<<1, 32>>>(a, o); }}\n"
    )
    (store,) = (a for a in found if a.kind is AccessKind.STORE)
    assert (store.width_bytes, store.instructions, store.certainty) == (size, 8, Certainty.ASSUMED)
    assert (store.ways, store.wavefronts.max) == (ways, ways)


@pytest.mark.parametrize(
    ("condition", "width", "ways"),
    [
        ("i < 8 && t * 8 + i < 256", 4, 8),  # STS
        ("t * 8 + i < 256 && i < 8", 4, 8),  # STS
        ("i < 8 && t * 8 + i <= 255", 4, 8),  # STS
        ("(i < 8) & (t * 8 + i < 256)", 4, 8),  # STS
        ("i < 8 && t * 8 + i < 8192", 4, 8),  # STS
        ("i < 8", 16, 2),  # two STS.128
        ("i < 8 && i < 100", 16, 2),  # two STS.128
    ],
)
def test_iterations_that_threads_may_leave_before_stay_apart(
    condition: str, width: int, ways: int
) -> None:
    found = accesses_of(
        "__global__ void k(const float *a, float *o) { __shared__ __align__(16) float s[8192];"
        f" int t = threadIdx.x; for (int i = 0; {condition}; i++) s[t * 8 + i] = a[t * 8 + i];"
        " __syncthreads(); o[t] = s[t]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o); }\n"
    )
    stores = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    assert {(a.width_bytes, a.certainty, a.ways) for a in stores} == {
        (width, Certainty.ASSUMED, ways)
    }
