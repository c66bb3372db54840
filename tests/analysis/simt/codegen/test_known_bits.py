"""Bits that LLVM knows of an index: SASS of nvcc 13.5.37, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty


def _store_of(first: str, second: str, array: str = "float s[1024]") -> tuple[int, int, Certainty]:
    found = accesses_of(
        f"__global__ void k(const float *a, float *o, int d) {{ __shared__ {array};"
        f" int t = threadIdx.x; s[{first}] = a[t]; s[{second}] = a[t + 77];"
        " __syncthreads(); o[t] = s[t * 3]; }\n"
        "void f(const float *a, float *o) { k<<<1, 32>>>(a, o, 3); }\n"
    )
    stores = [a for a in found if a.kind is AccessKind.STORE]
    (certainty,) = {a.certainty for a in stores}
    return max(a.width_bytes for a in stores), sum(a.instructions for a in stores), certainty


@pytest.mark.parametrize(
    ("first", "second", "width"),
    [
        ("2 * t & ~1", "2 * t | 1", 8),
        ("(2 * t + 1) & -2", "2 * t + 1", 8),
        ("2 * (t & 31) & 62", "2 * (t & 31) + 1", 8),
        ("(2 * t + 64 * d) & ~1", "(2 * t + 64 * d) | 1", 8),
        ("2 * t & 0x7fffffe", "2 * t | 1", 4),  # no range of threadIdx is known
        ("(2 * t + d) & ~1", "(2 * t + d) | 1", 4),  # nor is the residue of an argument
        ("t & ~1", "t | 1", 4),
    ],
)
def test_a_mask_that_takes_no_unknown_bits_is_none(first: str, second: str, width: int) -> None:
    assert _store_of(first, second) == (width, 8 // width, Certainty.ASSUMED)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(t | 1) - 1", "t | 1"),
        ("((t + 1) | 1) - 1", "(t + 1) | 1"),
        ("(2 * t | 3) - 3", "(2 * t | 3) - 2"),
    ],
)
def test_bits_that_an_or_sets_align_what_llvm_fuses(first: str, second: str) -> None:
    """Of an array of natural alignment ptxas sees none of it."""
    assert _store_of(first, second) == (4, 2, Certainty.ASSUMED)
    aligned = "__align__(16) float s[1024]"
    assert _store_of(first, second, aligned) == (8, 1, Certainty.ASSUMED)
