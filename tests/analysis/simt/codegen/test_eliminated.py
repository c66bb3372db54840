"""Accesses that registers answer: instructions counted in SASS (nvcc 13.0.88 -O3 -arch=sm_90)."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(int *o, int n) {{
  __shared__ int s[1024], q[1024];
  int t = threadIdx.x, g = 0;
  s[t * 4 + 3] = o[t]; q[t] = o[t + 1];
  __syncthreads();
  {body}
  __syncthreads();
  o[t] = g;
}}
void run(int *o) {{ k<<<1, 32>>>(o, 3); }}
"""
UNROLLED = '_Pragma("unroll") for (int i = 1; i < 4; i++)'


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("s[t * 4] = n; g = s[t * 4];", [], [4]),
        ("s[t * 4] = n; __syncwarp(); g = s[t * 4];", [4], [4]),
        ("s[t * 4] = n; q[t + 5] = n; g = s[t * 4];", [], [4, 4]),
        ("s[t * 4] = n; if (o[t + 7] > n) q[t + 5] = n; g = s[t * 4];", [], [4, 4]),
        ("s[t * 4] = n; s[t * 4 + 1] = n + 1; g = s[t * 4];", [], [8]),
        ("s[t * 4] = n; s[t * 4] = n + o[t + 9];", [], [4]),
        ("s[t * 4] = n; g = s[t * 4 + 1]; s[t * 4] = n + o[t + 9];", [4], [4]),
        ("s[t * 4] = n; s[n] = 3; g = s[t * 4];", [4], [4, 4]),
        ("g = s[t * 4]; q[t + 5] = n + g; g += s[t * 4];", [4], [4]),
        ("if (o[t + 7] > n) { s[t * 4] = n; g = s[t * 4] + 1; }", [], [4]),
        ("s[t * 4] = n; if (o[t + 7] > n) { g = s[t * 4] + 1; }", [], [4]),
        ("if (t < n) s[t] = n; g = __shfl_down_sync(~0u, n, t); if (t < n) g += s[t];", [4], [4]),
        ("if (t < n) s[t] = n; if (t < n) g += s[t];", [], [4]),
        (UNROLLED + " { s[t * 4] = s[t * 4] + s[t * 4 + i]; }", [16], [4]),
        (UNROLLED + " { s[t * 4] += s[t * 4 + i]; }", [16], [4]),
        ("for (int i = 0; i < n; i++) { s[t * 4] = s[t * 4] + o[i * 7]; }", [4], [4]),
    ],
)
def test_the_instructions_are_those_of_the_machine_code(body, loads, stores):
    found = [a for a in accesses_of(KERNEL.format(body=body)) if a.span.line == 7]
    widths = {
        kind: sorted(
            p.width for a in found if a.kind is kind for p in a.patterns for _ in range(p.count)
        )
        for kind in (AccessKind.LOAD, AccessKind.STORE)
    }
    assert widths == {AccessKind.LOAD: loads, AccessKind.STORE: stores}
