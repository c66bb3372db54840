"""Calls that only compute floating-point numbers are not run; all others are."""

from __future__ import annotations

import pytest
from conftest import facts_of
from figures import kernel

LONG = "".join(f"y = y * {k}.5f + x;" for k in range(40))


def run(helper, body, before=""):
    text = kernel(body, before=f"{before} __device__ {helper}".replace("\n", " "))
    (found,) = facts_of(text).kernels
    figures = [(a.kind, a.width_bytes, a.instructions, a.wavefronts.mean) for a in found.accesses]
    return found.steps, figures


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        (f"float f(float x, int i) {{ float y = i; {LONG} return y; }}", "float v = f(g[i], i);"),
        (f"void f(float x, float &r) {{ float y = 1; {LONG} r = y; }}", "float v; f(g[i], v);"),
        (f"float f(const float *p, float x) {{ float y = *p; {LONG} return y; }}", "float v = f(g, 1);"),
        (f"float2 f(float x) {{ float y = 1; {LONG} return make_float2(x, y); }}", "float v = f(1).x;"),
        (f"float f(float x) {{ float y = 1; {LONG} asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x)); return y; }}", "float v = f(1);"),
    ],
)  # fmt: skip
def test_what_only_computes_is_not_run(helper, call):
    steps, figures = run(helper, f"for (int i = 0; i < 9; i++) {{ {call} s[t + 32 * i] = v; }}")
    assert figures == [("store", 4, 9, 1)]
    assert steps < 9 * 12  # of 9 * 40 in the calls


@pytest.mark.parametrize(
    ("helper", "call", "figures"),
    [
        ("float f(float *p) { return p[threadIdx.x]; }", "g[t] = f(s);", [("load", 4, 1, 1)]),
        ("float f(float x) { __shared__ float u[64]; return u[threadIdx.x * 2]; }", "g[t] = f(1);", [("load", 4, 1, 2)]),
        ("float f(unsigned p) { float v; asm(\"ld.shared.f32 %0, [%1];\" : \"=f\"(v) : \"r\"(p)); return v; }", "g[t] = f(__cvta_generic_to_shared(s + t * 2));", [("load", 4, 1, 2)]),
        ("void f(float x, int &r) { r = 4; }", "int k; f(1, k); s[t * k] = 1;", [("store", 4, 1, 4)]),
        ("struct A { float *p; }; __device__ float f(A a) { return a.p[threadIdx.x * 2]; }", "A a; a.p = s; g[t] = f(a);", [("load", 4, 1, 2)]),
        ("float h(float *p) { return p[threadIdx.x * 4]; } __device__ float f(float *p) { return h(p); }", "g[t] = f(s);", [("load", 4, 1, 4)]),
    ],
)  # fmt: skip
def test_what_reaches_shared_memory_or_gives_an_index_is_run(helper, call, figures):
    assert run(helper, call)[1] == figures


def test_a_barrier_in_a_helper_still_parts_loads():
    both = "g[t] = s[t * 2]; float v = f(1); g[t + 32] = v + s[t * 2];"
    assert run("float f(float x) { return x + 1; }", both)[1] == [
        ("load", 4, 1, 2),
        ("load", 4, 0, 2),
    ]
    assert run("float f(float x) { __syncthreads(); return x + 1; }", both)[1] == [
        ("load", 4, 1, 2),
        ("load", 4, 1, 2),
    ]
