"""GCC's statement expressions; instructions are those in the SASS of nvcc 13.0.88, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.facts import AccessKind

KERNEL = """
#define MAX_OF(a, b) ({ auto _a = (a); auto _b = (b); _a > _b ? _a : _b; })
__global__ void k(float *g) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = g[t];
  s[t + 128] = g[t + 128];
  __syncthreads();
  g[t] = %s;
}
void run(float *g) { k<<<1, 128>>>(g); }
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("MAX_OF(s[2 * t], s[2 * t + 1])", [(8, 4, 2)]),  # LDS.64
        ("({ float a = s[t]; float b = s[255 - t]; a * b; })", [(4, 4, 1), (4, 4, 1)]),
        ("({ int i = 2 * t; if (t > 300) i = 0; s[i]; })", [(4, 4, 2)]),
        ("({ struct { int i; } p = {2 * t}; s[p.i]; })", [(4, 4, 2)]),
        ("({ int i = 0; for (;;) { i += 2 * t; if (i >= 0) { break; } } s[i]; })", [(4, 4, 2)]),
        ("({ __typeof(t) i = 2 * t; s[i]; })", [(4, 4, 2)]),
    ],
)
def test_the_last_statement_is_the_value(value, expected):
    loads = [a for a in accesses_of(KERNEL % value) if a.kind is AccessKind.LOAD]
    found = [(a.width_bytes, a.instructions, a.wavefronts.mean) for a in loads if a.instructions]
    assert found == expected


@pytest.mark.parametrize(
    "value",
    [
        "({ if (t > 5) { break; } s[t]; })",
        "({ switch (t) { case 5: continue; } s[t]; })",
        "({ s[t]; return; 1; })",
    ],
)
def test_what_is_left_by_a_jump_is_not_followed(value):
    (kernel,) = facts_of(KERNEL % value).kernels
    assert kernel.not_analysed


@pytest.mark.parametrize(
    ("block", "threads"),
    [
        ("PICK(1)", 32),
        ("PICK(m)", 96),
        ("MIN(m, 256 / 2)", 64),
        ("MIN((m), 48)", 48),
    ],
)
def test_what_they_give_in_host_code(block, threads):
    text = f"""
#define PICK(n) ({{ int v; switch (n) {{ case 1: v = 32; break; default: v = 96; break; }} v; }})
#define MIN(x, y) ({{ __typeof(x) a = (x); typeof(y) b = (y); a < b ? a : b; }})
__global__ void k(float *g) {{ __shared__ float s[256]; s[threadIdx.x] = g[threadIdx.x]; }}
void run(float *g) {{ long m = 64; k<<<1, {block}>>>(g); }}
"""
    (kernel,) = facts_of(text).kernels
    assert kernel.instance.block == (threads, 1, 1)
    assert kernel.instance.origin
