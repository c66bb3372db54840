"""Indices with a sign and less than 32 bits: SASS of nvcc 13.5.37, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty


@pytest.mark.parametrize(
    ("type", "body", "width"),
    [
        ("short", "s[4 * t + i] = a[t + i * 64]", 4),
        ("signed char", "s[4 * t + i] = a[t + i * 64]", 4),
        ("short", "s[(t ^ 1) * 4 + i] = a[t + i * 64]", 4),
        ("short", "s[4 * (t & 15) + i] = a[t + i * 64]", 16),
        ("short", "s[4 * (31 - t) + i] = a[t + i * 64]", 16),
        ("unsigned short", "s[4 * t + i] = a[t + i * 64]", 16),
        ("int", "s[4 * t + i] = a[t + i * 64]", 16),
    ],
)
def test_ptxas_sees_no_alignment_of_what_is_extended_by_its_sign(
    type: str, body: str, width: int
) -> None:
    found = accesses_of(
        "__global__ void k(const float *a, float *o) { __shared__ float s[256];"
        f" {type} t = threadIdx.x; for ({type} i = 0; i < 4; i++) {body};"
        " __syncthreads(); o[t] = s[threadIdx.x * 3]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o); }\n"
    )
    stores = [a for a in found if a.kind is AccessKind.STORE]
    assert {(a.width_bytes, a.instructions) for a in stores} == {(width, 16 // width)}
    assert {a.certainty for a in stores} == {Certainty.ASSUMED}


def test_of_what_is_computed_before_it_is_cut_off_both_occur() -> None:
    found = accesses_of(
        "__global__ void k(const float *a, float *o) { __shared__ float s[256];"
        " short t = threadIdx.x, b = t * 4; for (int i = 0; i < 4; i++) s[b + i] = a[t + i * 64];"
        " __syncthreads(); o[t] = s[threadIdx.x * 3]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o); }\n"
    )
    (store,) = (a for a in found if a.kind is AccessKind.STORE)
    assert store.certainty is Certainty.SAMPLED
