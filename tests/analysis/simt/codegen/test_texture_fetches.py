"""Stores of what textures give: SASS of nvcc 13.5.37, -O3, sm_90 and sm_100."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(cudaTextureObject_t t, const TYPE *p, int *o) {
  __shared__ __align__(16) TYPE s[512];
  int i = threadIdx.x;
  s[4 * i] = FETCH(0);
  s[4 * i + 1] = FETCH(1);
  s[4 * i + 2] = FETCH(2);
  s[4 * i + 3] = FETCH(3);
  __syncthreads();
  o[i] = s[i];
}
void f(cudaTextureObject_t t, const TYPE *p, int *o) { k<<<1, 32>>>(t, p, o); }
"""


@pytest.mark.parametrize(
    ("ctype", "fetch", "widths"),
    [
        ("unsigned char", "tex2D<unsigned char>(t, i, n)", [1] * 4),
        ("unsigned char", "surf2Dread<unsigned char>(t, i, n)", [1] * 4),
        ("unsigned char", "p[i + 999 * n]", [4]),
        ("float", "tex2D<float>(t, i, n)", [16]),
    ],
)
def test_bytes_that_a_texture_gives_are_stored_one_by_one(ctype, fetch, widths):
    source = f"#define FETCH(n) {fetch}\n#define TYPE {ctype}\n{KERNEL}"
    stores = [a for a in accesses_of(source) if a.kind is AccessKind.STORE and a.instructions]
    assert [a.width_bytes for a in stores] == widths
