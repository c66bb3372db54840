"""Constant places of neighbouring variables: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

SOURCE = """
__global__ void k(const float *x, float *o) {
  DECLARATIONS
  int t = threadIdx.x;
  FIRST
  if (t == 0) { STORES }
  __syncthreads();
  o[t] = SUM;
}
void f(float *p) { k<<<1, 256>>>(p, p); }
"""
ARRAY = "s[t] = x[t];"


@pytest.mark.parametrize(
    ("declarations", "first", "stores", "total", "expected"),
    [
        ("__shared__ float a, b, c;", "", "a = x[0]; b = x[1]; c = x[2];", "a + b * c", [4, 8, 16]),
        ("__shared__ float a; __shared__ int b;", "", "a = x[0]; b = x[1];", "a + b", [8, 8]),
        (
            "__shared__ float a, b; __shared__ float s[256];",
            ARRAY,
            "a = x[0]; b = x[1];",
            "a + b * s[t ^ 1]",
            [4, 4, 8, 8],
        ),
        (
            "__shared__ float a, b, c, d; __shared__ float s[256];",
            ARRAY,
            "a = x[0]; b = x[1]; c = x[2]; d = x[3];",
            "a + b * s[t ^ 1] + c * d",
            [4, 4, 16, 16],
        ),
        (
            "__shared__ float s[256]; __shared__ float a; __shared__ double d; __shared__ int b;",
            ARRAY,
            "a = x[0]; b = x[1]; d = x[3];",
            "a + b + d + s[t ^ 1]",
            [4, 4, 4, 4, 4, 4, 8, 8],
        ),
        (  # LLVM drops b, which is never loaded: a and c are one STS.64 (not followed), c and d not
            "__shared__ float a, b; __shared__ int c, d;",
            "",
            "a = x[0]; b = x[1]; o[512] = b + 1; c = x[2];",
            "a + c",
            None,
        ),
        (  # LLVM drops c, and makes variables of the elements of v: not followed
            "__shared__ float c, a, b; __shared__ float v[2];",
            "",
            "c = a = x[0]; b = x[1]; v[0] = x[2];",
            "a + b + v[0]",
            None,
        ),
    ],
)
def test_they_are_fused_by_their_addresses(
    smemlint, tmp_path, declarations, first, stores, total, expected
):
    source = SOURCE.replace("DECLARATIONS", declarations).replace("FIRST", first)
    source = source.replace("STORES", stores).replace("SUM", total)
    found = [a for a in accesses_of(source) if a.instructions]
    (tmp_path / "k.cu").write_text(source)
    assert smemlint("check", "k.cu", "--output-format", "concise")[1] == ""
    if expected is None:
        assert {a.width_bytes for a in found} == {4}
        return
    assert sorted(a.width_bytes for a in found) == expected
    loads = [a for a in found if a.kind is AccessKind.LOAD and a.width_bytes == 16]
    assert all((a.wavefronts.mean, a.ideal.mean) == (2, 2) for a in loads)
