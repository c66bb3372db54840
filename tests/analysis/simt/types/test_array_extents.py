"""Array extents that are not known, and what their accesses say about them."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.reasons import ReasonCode

KERNEL = """
DECLARATION __global__ void k(float *o) {
  __shared__ float s[EXTENT][EXTENT];
  s[threadIdx.y][threadIdx.x] = o[0];
}
"""


@pytest.mark.parametrize(
    ("declaration", "extent", "code"),
    [
        ("", "TILE", ReasonCode.NOT_DECLARED),
        ("", "2 * TILE", ReasonCode.NOT_DECLARED),
        ("template <int TILE>", "TILE", ReasonCode.UNKNOWN_TYPE),
    ],
)
def test_an_extent_that_nothing_declares_is_told_from_one_that_a_launch_gives(
    declaration, extent, code
):
    text = KERNEL.replace("DECLARATION", declaration).replace("EXTENT", extent)
    found = accesses_of(text)
    assert [a.reason.code for a in found if a.reason] == [code]


@pytest.mark.parametrize("extent", ["HALF << 1", "(HALF << 1)", "(64 >> 1)"])
def test_an_extent_that_is_shifted_is_read_in_nested_arrays(extent):
    text = f"""constexpr int HALF = 16;
    __global__ void k(float *o) {{
      __shared__ std::array<std::array<float, {extent}>, 32> s;
      s[threadIdx.x][0] = o[0];
    }}
    void run(float *o) {{ k<<<1, 32>>>(o); }}"""
    [access] = accesses_of(text)
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 32
