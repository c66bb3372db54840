"""Loops over a chunk of each thread that a second end may cut short (SASS of nvcc 13.5.37)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty


@pytest.mark.parametrize(
    ("head", "certainty"),
    [
        ("i = t * 4; i < 128 && i < (t + 1) * 4", Certainty.SAMPLED),  # STS
        ("i = t * 4; i < t * 4 + 4 && i < 128", Certainty.SAMPLED),  # STS
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
