"""What nothing hangs on is no instruction: counted in SASS (nvcc 13.0.88 -O3 -arch=sm_90)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind
from smemlint.reasons import ReasonCode

KERNEL = """
__global__ void k(float *out, const float *in, int n) {{
  __shared__ float s[1024];
  int t = threadIdx.x;
  s[4 * t] = in[t];
  __syncthreads();
  {body}
}}
void run(float *o) {{ k<<<1, 128>>>(o, o, 3); }}
"""


def loads_of(body):
    return [a for a in accesses_of(KERNEL.format(body=body)) if a.kind is AccessKind.LOAD]


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("float v = s[4 * t + 1]; out[t] = v;", 1),
        ("float v = s[4 * t + 1]; out[t] = 1;", 0),
        ("float v = s[4 * t + 1]; (void)v; out[t] = 1;", 0),
        ("float v = s[4 * t + 1]; float w = v * 2.f; w += 1.f; out[t] = 1;", 0),
        ("float v = s[4 * t + 1]; float w = v * 2.f; out[t] = w;", 1),
        ("float v = 0; for (int i = 0; i < n; ++i) v += s[4 * t + 32 * i] * in[i];", 0),
        ("float v = __shfl_down_sync(~0u, s[4 * t + 1], 1); out[t] = 1;", 1),
        ("volatile float v = s[4 * t + 1]; out[t] = 1;", 1),
        ("float v = s[4 * t + 1]; if (v > 0) out[t] = 1;", 1),
        ("float v = s[4 * t + 1]; { float v = in[t]; out[t] = v; }", 1),
        ("float v = 0, w = s[4 * t + 1]; for (float v = w; v < n; v += 1) out[t] = v;", 1),
        ("float v = s[4 * t + 1]; float w = out[t] = v;", 1),
        ("float v = s[4 * t + 1]; auto f = [&] { return v; }; out[t] = f();", 1),
        # nvcc 13.5.37:
        ("float v = s[4 * t]; v = s[4 * t + 1]; out[t] = v;", 1),
        ("float v = s[4 * t]; v = v * 2 + in[t]; v = in[t + 1]; out[t] = v;", 0),
        ("float f[4]; for (int i = 0; i < 4; i++) f[i] = s[4 * t + i]; out[t] = 1;", 0),
        ("int j = s[4 * t]; float v = s[j & 255]; out[t] = 1;", 0),
        ("int c = s[4 * t]; c++; c *= 3; out[t] = 1;", 0),
        ("float v = n ? s[4 * t] : s[4 * t + 1]; out[t] = 1;", 0),
        ("float v = expf(fmaxf(s[4 * t], 2)); out[t] = 1;", 0),
    ],
)
def test_loads_for_variables_without_a_reader(body, loads):
    assert sum(a.instructions for a in loads_of(body)) == 4 * loads


@pytest.mark.parametrize(
    ("body", "is_open"),
    [
        ("float a; for (int i = 0; i < 4; ++i) a += s[4 * t + i]; out[t] = a;", True),
        ("float a; a += s[4 * t]; out[t] = make(a);", True),
        ("float a; for (int i = 0; i < 4; ++i) { a += s[4 * t + i]; set(a); } out[t] = a;", False),
        ("float a; a = a - s[4 * t]; a = s[4 * t + 1] + a; out[t] = a;", True),
        ("float a; for (int i = 0; i < 4; ++i) a = a * 2 + s[4 * t + i]; out[t] = a;", False),
        ("float a; a = 0; a += s[4 * t + 1]; out[t] = a;", False),
        ("float a; if (n > 3) a = 0; a += s[4 * t + 1]; out[t] = a;", False),
        ("float a; set(a); a += s[4 * t + 1]; out[t] = a;", False),
        ("float a; set(&a); a += s[4 * t + 1]; out[t] = a;", False),
        ("float a; float &r = a; r = 0; a += s[4 * t + 1]; out[t] = a;", False),
        ("float a, b; (n ? a : b) = 0; a += s[4 * t + 1]; out[t] = a;", False),
        ("float a; { float a = 0; a += s[4 * t + 1]; out[t] = a; }", False),
    ],
)
def test_what_is_added_to_a_variable_without_a_value_is_open(body, is_open):
    assert {a.reason.code if a.reason else None for a in loads_of(body)} == {
        ReasonCode.NO_VALUE if is_open else None
    }
