"""Range-based loops over arrays: SASS of nvcc 13.0.88, sm_90, -O3, as tests/oracle/compiled reads it."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

_BEFORE = """
  __shared__ float rows[4][33];
  __shared__ float b[32];
  __shared__ float big[200];
  __shared__ float4 q[32];
  float x = 0;
"""


@pytest.mark.parametrize(
    ("body", "width", "instructions", "wavefronts"),
    [
        ("for (auto &row : rows) row[t] = o[t];", 4, 4, 4),
        ("for (auto row : rows) x += row[t * 3 % 32];", 4, 4, 4),
        ("for (float e : b) x += e;", 16, 8, 16),
        ("for (float &e : big) e = o[t];", 16, 50, 200),
        ("for (float e : big) x += e;", 16, 50, 100),
        ("for (const float4 &e : q) x += e.x;", 4, 32, 32),
        ("float r[8]; for (float &e : r) e = o[t]; int k = 0; for (float e : r) big[t * 4 + k++] = e;", 16, 2, 8),
        ("int n[3] = {1, 2, 4}; for (int &e : n) e *= 2; for (int e : n) big[t * e] = o[t];", 4, 3, 14),
        ("int n[3] = {1, 2, 4}; for (int i = 0; i < 3; i++) { int *e = n + i; *e *= 2; } for (int e : n) big[t * e] = o[t];", 4, 3, 14),
    ],
)  # fmt: skip
def test_figures(body, width, instructions, wavefronts):
    text = f"""__global__ void k(float *o) {{ int t = threadIdx.x; {_BEFORE} {body} o[t] = x; }}
    void run(float *o) {{ k<<<1, 32>>>(o); }}"""
    (access,) = [a for a in accesses_of(text) if a.kind in (AccessKind.LOAD, AccessKind.STORE)]
    found = access.width_bytes, access.instructions, access.instructions * access.wavefronts.mean
    assert found == (width, instructions, wavefronts)
