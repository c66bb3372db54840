"""Advice is worth its shared memory and holds for every access of the array."""

from __future__ import annotations

import pytest
from kernels import conflicts, kernel


def test_rows_of_more_than_half_again_are_no_advice():
    """Two rows of 16 words meet in 12 banks: only 30 more words a row keep them apart."""
    text = kernel(
        "__shared__ float s[10][18];",
        "s[threadIdx.x / 16 * 2 + 1][threadIdx.x % 16 + 1] = 1;",
        block="32",
    )
    found = conflicts(text)
    assert found
    assert all(f.fix is None or "48" not in f.fix.title for f in found)


def test_a_fragment_takes_a_pitch_and_no_swizzle():
    text = """
#include <mma.h>
__global__ void k(half *g) {
  __shared__ half s[16][80];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major> f;
  s[threadIdx.x % 16][threadIdx.x / 16] = g[0];
  nvcuda::wmma::load_matrix_sync(f, &s[0][0], 80);
}
void go(half *g) { k<<<1, 32>>>(g); }
"""
    found = conflicts(text)
    assert found
    assert not any("swizzle the index" in f.help for f in found)


HALVES = "*(float4 *)(s + i) = a; *(float4 *)(s + i + 4) = a;"
AT_ONCE = "*(ulonglong4 *)(s + i) = *(const ulonglong4 *)(out + x * 8);"


@pytest.mark.parametrize(("store", "is_swizzled"), [(HALVES, True), (AT_ONCE, False)])
def test_a_swizzle_leaves_what_one_assignment_moves_together(store, is_swizzled):
    """Of 32 bytes that one assignment stores, the second half does not follow a new index."""
    text = kernel(
        "__shared__ float s[16 * 72];",
        f"""int x = threadIdx.x, i = (x >> 3) * 72 + (x & 7) * 8;
  float4 a = *(const float4 *)(out + x * 4);
  {store}
  __syncthreads();
  out[x] = s[(x & 3) * 72 + (x >> 2)];""",
        block="128",
    )
    helps = [f.help for f in conflicts(text)]
    assert helps
    assert any("i ^ (" in words for words in helps) == is_swizzled
