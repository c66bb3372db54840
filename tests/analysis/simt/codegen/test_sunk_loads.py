"""Loads that only one way of a branch reads: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
struct Pair { float x, y; };
__device__ __forceinline__ void put(float *p, float v) { *p = v; }
FUNCTION
__global__ void __launch_bounds__(128) k(const float *in, float *out, int n) {
  __shared__ float s[1024], q[1024];
  int t = threadIdx.x, lane = t % 32;
  for (int i = t; i < 1024; i += 128) { s[i] = in[i]; q[i] = in[i + 7]; }
  __syncthreads();
  BODY
}
"""
LOAD = "float v = s[8 * lane]; "
FILL = "float a[4]; for (int i = 0; i < 4; i++) a[i] = s[8 * lane + i * 257]; "


def wavefronts(text, function=""):
    """Returns the wavefronts of the first load: 1 if four threads load, 8 if all do, or None."""
    found = accesses_of(KERNEL.replace("BODY", text).replace("FUNCTION", function))
    load = next(a for a in found if a.kind is AccessKind.LOAD)
    return load.wavefronts.mean if load.wavefronts else None


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "if (lane < 4) out[t] = v;",
        LOAD + "if (lane < 4) { out[t] = v; out[t + 77] = v * 3; }",
        LOAD + "if (lane < 4) for (int i = 0; i < 4; i++) out[t + i * n] = v;",
        LOAD + "if (n > 5) { if (lane < 4) out[t] = v; }",
        LOAD + "if (lane >= 4) out[t] = 1; else out[t] = v;",
        LOAD + "if (lane >= 4) return; out[t] = v;",
        LOAD + "if (n > 5) out[t + 500] = in[t + 5]; if (lane < 4) out[t] = v;",
        LOAD + "out[t + 500] = 1; if (lane < 4) out[t] = v;",
        LOAD + "q[t] = 3; if (lane < 4) out[t] = v;",
        "float v = s[8 * lane], w = s[8 * lane + 3]; if (lane < 4) out[t] = v + w;",
        "int v = (int)*(short *)&s[8 * lane]; if (lane < 4) out[t] = v;",
        LOAD + "switch (n) { case 0: if (lane < 4) out[t] = v; break; default: out[t] = 2; }",
        LOAD + "if (lane < 4) out[t] = v; else { float v = in[n]; out[t + 3] = v * 2; }",
        LOAD + "if (lane >= 4) { float v = in[n]; out[t + 3] = v * 2; } else out[t] = v;",
        LOAD + "if (lane < 4) out[t] = v; { float v = in[n]; out[t + 500] = v * 2; }",
        LOAD
        + "if (n == 1) out[t] = 1; else if (n == 2) out[t] = 5; else if (lane < 4) out[t] = v;",
        LOAD + "if (lane < 4) atomicAdd(&out[t], v);",
        LOAD + "if (lane < 4) put(out + t, v);",
        LOAD + "if (lane < 4) { float &r = out[t]; r = v; }",
        LOAD + "if (lane < 4) { Pair *p = (Pair *)out; p[t].x = v; }",
        LOAD + "if (lane < 4 && n > 3) out[t] = v;",
        LOAD + "for (int i = 0; i < 4; i++) out[t + i * 3] = in[i + t]; if (lane < 4) out[t] = v;",
        "float v; v = s[8 * lane]; if (lane < 4) out[t] = v;",
        "float v = __expf(s[8 * lane]); if (lane < 4) out[t] = v;",
        LOAD + "v = v * 2; if (lane < 4) out[t] = v; v = 3; out[t + 500] = v;",
        LOAD + "do { if (lane < 4) out[t] = v; } while (0);",
        LOAD + "{ if (lane < 4) out[t] = v; }",
        LOAD + "if (lane < 4) { v = v + 1; out[t] = v; }",
        "float v = sqrtf(s[8 * lane]) * 2.f; float w = v * v; if (lane < 4) out[t] = w;",
        FILL + "if (lane < 4) for (int i = 0; i < 4; i++) out[t + i * 77] = a[i];",
        FILL + "if (lane >= 4) return; for (int i = 0; i < 4; i++) out[t + i] = a[i];",
        FILL + "for (int i = 0; i < 4; i++) a[i] *= 2; if (lane < 4) out[t] = a[0] * a[1];",
        "float a[4]; for (int i = 0; i < 4; i++) a[i] = s[8 * lane + i]; "
        "if (lane < 4) { out[t] = a[0] + a[1]; out[t + 500] = a[2] * a[3]; }",
        "float a[2]; a[0] = s[8 * lane]; a[1] = s[8 * lane + 257]; if (lane < 4) out[t] = a[0] + a[1];",
        "float a[2] = {s[8 * lane], s[8 * lane + 257]}; if (lane < 4) out[t] = a[0] + a[1];",
        "Pair p; p.x = s[8 * lane]; p.y = s[8 * lane + 257]; if (lane < 4) out[t] = p.x + p.y;",
        LOAD + "switch (n) { case 0: { float v = in[5]; out[t] = v; break; } "
        "case 1: if (lane < 4) out[t] = v; break; default: out[t] = 2; }",
    ],
)
def test_a_load_sinks_to_the_threads_that_read_it(text):
    assert wavefronts(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "if (lane < 4) out[t] = v; else out[t] = v + 1;",
        LOAD + "float x = in[n]; if (lane < 4) x += v; out[t] = x;",
        LOAD + "if (lane < 4) out[t] = v; out[t + 500] = v;",
        LOAD + "__syncthreads(); if (lane < 4) out[t] = v;",
        LOAD + "s[t] = 3; if (lane < 4) out[t] = v;",
        LOAD + "for (int i = 0; i < n; i++) if (lane < 4) out[t * i] = v;",
        LOAD + "if (v < 4) out[t] = v;",
        LOAD + "for (int i = lane; i < n; i += 32) out[t + i] = v;",
        "volatile float *p = s; float v = p[8 * lane]; if (lane < 4) out[t] = v;",
        LOAD + "if (n > 3) { if (lane < 4) out[t] = v; } else if (lane < 4) out[t + 9] = v * 2;",
        LOAD + "if (lane < 4) { if (v > 3) out[t] = 1; }",
        LOAD + "if (lane < 4) out[t] = v; if (lane < 2) out[t + 300] = v;",
        LOAD + "if (n == 3) out[t + 3] = 1; else out[t + 7] = 1; if (lane < 4) out[t] = v;",
        LOAD + "if (n == 3) out[t + 3] = 1; if (n == 5) out[t + 7] = 1; if (lane < 4) out[t] = v;",
        LOAD + "switch (n) { case 0: out[t] = 1; } if (lane < 4) out[t] = v;",
        LOAD + "for (int i = 0; i < n; i++) out[t + i * 3] = 1; if (lane < 4) out[t] = v;",
        "float v = __shfl_down_sync(~0u, s[8 * lane], 1); if (lane < 4) out[t] = v;",
        FILL + "__syncthreads(); if (lane < 4) out[t] = a[0] * a[1];",
        FILL + "out[t + 500] = a[0] * a[1] + a[2] * a[3];",
    ],
)
def test_a_load_that_others_read_or_that_something_keeps_does_not_sink(text):
    assert wavefronts(text) == 8


@pytest.mark.parametrize(
    "text",
    [
        "float v = s[8 * lane] * 2 + s[8 * lane + 5]; if (lane < 4) out[t] = v;",  # all
        "float v = s[8 * lane] + in[t + 3]; if (lane < 4) out[t] = v;",  # all
        "float v = s[8 * lane], w = s[8 * lane + 5], x = v + w; if (lane < 4) out[t] = x;",  # 4
        "float v = 0; for (int i = 0; i < 4; i++) v += s[8 * lane + i * 37]; "
        "if (lane < 4) out[t] = v;",  # 4
        LOAD + "if (lane < 4) for (int i = 0; i < n; i++) out[t + i] = v;",  # all
        LOAD + "if (lane < 4) while (n-- > 0) out[t + n] = v;",  # all
        LOAD + "for (int i = lane; i < 4; i += 32) out[t + i] = v;",  # 4
        LOAD + "int i = lane; while (i < 4) { out[t + i] = v; i += 32; }",  # 4
        LOAD + "if (lane >= 4) return; if (n > 3) out[t] = v;",  # all
        LOAD + "float m = 0; if (lane < 4) { m = v; out[t + 4] = m; } out[t] = m;",  # all
        LOAD + "v = v + 1; if (n > 4) v = v * 3; if (lane < 4) out[t] = v;",  # 4
        LOAD + "if (lane < 4) out[t] = v; if (lane < 4) out[t + 300] = v;",  # 4
        LOAD + "float m = in[t]; if (lane < 4) m = fmaxf(m, v); out[t] = m;",  # 4
        LOAD + "switch (lane) { case 0: case 1: out[t] = v; break; default: out[t] = 2; }",  # 2
        FILL + "if (lane < 4) out[t] = a[n];",  # 4
        FILL + "if (lane < 4) out[t] = a[0] * a[1] * a[3]; out[t + 500] = a[2];",  # 4, all of a[2]
        FILL + "out[t + 500] = a[2]; if (lane < 4) out[t] = a[0] * a[1] * a[3];",  # the same
        FILL + "if (lane < 4) out[t] = a[0] + a[1] + a[2] + a[3]; else out[t] = a[0];",  # the same
        FILL + "for (int i = 0; i < 4; i++) if (lane < 4) out[t + i * n] = a[i];",  # 4
        FILL + "float x = 0; for (int i = 0; i < 4; i++) x += a[i]; if (lane < 4) out[t] = x;",  # 4
    ],
)
def test_who_loads_is_open_where_the_compiler_may_sink_more_than_a_load(text):
    assert wavefronts(text) is None


@pytest.mark.parametrize(
    ("offset", "figures"),
    [
        (0, [(4, 4, 8.0), (4, 0, 8.0)]),
        (1, [(8, 4, 8.0), (8, 0, 8.0)]),
        (2, [(4, 4, 8.0), (4, 4, 8.0)]),
        (3, [(4, 4, 8.0), (4, 4, 8.0)]),
        (5, [(4, 4, 1.0), (4, 4, 8.0)]),
    ],
)
def test_a_load_stays_with_the_one_that_it_is_one_instruction_with(offset, figures):
    text = f"{LOAD} float w = s[8 * lane + {offset}]; if (lane < 4) out[t] = v; out[t + 500] = w;"
    found = accesses_of(KERNEL.replace("BODY", text))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert [(a.width_bytes, a.instructions, a.wavefronts.mean) for a in loads] == figures


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        ("if (i < 3) out[t + i * 128] = v;", 3 * 4),
        ("if (i < 3 && lane < 4) out[t + i * 128] = v;", 3 * 4),
        ("if (i >= 3) out[t] = 1; else out[t + i * 128] = v;", 3 * 4),
        ("if (i < 3) x += v * in[t + i];", 3 * 4),
        ("if (i < 3) x += v; out[t + i] = v;", 8 * 4),
        ("x += i < 3 ? v : 2;", 3 * 4),
        ("if (i == 3) break; x += v;", 3 * 4),
    ],
)
def test_what_only_a_way_reads_that_no_thread_takes_is_not_loaded(text, instructions):
    """Of `if (k < 8 && i < 8)` in HeCBench's adv, in a loop of 16 iterations."""
    loop = f"for (int i = 0; i < 8; i++) {{ float v = s[8 * lane + i * 257]; {text} }}"
    found = accesses_of(KERNEL.replace("BODY", f"float x = 0; {loop} out[t + 999] = x;"))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert sum(a.instructions for a in loads) == instructions


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        (LOAD + "if (lane < 4) x += v * q[t];", 1),
        (LOAD + "if (lane < 4) x += v * in[t + 999];", 1),
        (LOAD + "if (lane < 4) x += v * q[t] + q[t + 1] * q[t + 77];", 1),
        (LOAD + "if (n > 4 && lane < 4) x += v * q[t];", 1),
        (LOAD + "if (lane < 4) x = x / v;", 1),
        (LOAD + "if (lane < 4) { x += v * q[t]; x *= q[t + 1]; x = x / v; }", 1),
        (LOAD + "float r[4] = {0, 1, 2, 3}; if (lane < 4) r[2] = v; x = r[0] * r[2] + r[3];", 1),
        (
            LOAD + "float r[2] = {0, 1}; if (lane < 4) r[1] = v * v * 3; else r[1] = 0; x *= r[1];",
            8,
        ),
        (LOAD + "if (lane < 4) x += v * 3;", 8),
        (LOAD + "if (lane < 4) { x += v; x *= 2; x += 1; x *= v; }", 8),
        (LOAD + "if (lane < 4) x = v > x ? v : x;", 8),
        (LOAD + "if (lane < 4) x = v * v * v + v * 3 - x * v * 2 + x * x * 7 + 5 * v;", 1),
        (LOAD + "if (lane < 4) x += v; else x -= q[t];", 1),
        (LOAD + "if (n > 5) { if (lane < 4) x += v * q[t]; }", 1),
        (LOAD + "x = lane < 4 ? v * q[t] : x;", 1),
        (LOAD + "x = lane < 4 ? v * 2 : x;", 8),
        (LOAD + "if (lane < 4) x = v;", None),  # 4, and all where the others get 0
        (LOAD + "int k = v; if (lane < 4) x += k / 7;", None),  # 4
    ],
)
def test_a_branch_that_loads_or_divides_keeps_what_it_reads(text, figure):
    assert wavefronts(f"float x = in[t]; {text} out[t] = x;") == figure


@pytest.mark.parametrize("head", ["int i = 0; i < n; i++", "int i = 0; i < 4; i++"])
def test_who_goes_on_to_the_next_iteration_does_not_load(head):
    body = "float v = s[8 * lane + i * 256]; if (lane >= 4) continue; out[t + i * 32] = v;"
    assert wavefronts(f"for ({head}) {{ {body} }}") == 1


@pytest.mark.parametrize(
    "between",
    [
        "float y = in[t]; y += __shfl_xor_sync(~0u, y, 1); out[t + 300] = y;",
        "int y = __ballot_sync(~0u, n > t); out[t + 300] = y;",
    ],
)
@pytest.mark.parametrize("read", ["out[t] = v;", "out[t] = v * in[t + 1];"])
def test_who_loads_in_front_of_a_shuffle_is_open(between, read):
    """Of eight such kernels nvcc 13.5.37 makes all threads load in seven, the four in one."""
    assert wavefronts(f"{LOAD} {between} if (lane < 4) {{ {read} }}") is None


PASSED = "__device__ void give(float v, int lane, float *out) { %s }"
RETURNED = "__device__ float pick(float v, float u, int lane, float *out) { %s }"


@pytest.mark.parametrize(
    ("body", "call", "loaded"),
    [
        ("if (lane < 4) out[lane] = v;", "give(s[8 * lane], lane, out);", 1),
        ("if (lane < 4) out[lane] = v;", "give(s[8 * lane] * 3, lane, out);", 1),
        ("if (lane < 4) out[lane] = v;", LOAD + "give(v, lane, out);", 1),
        ("if (lane < 4) out[lane] = v;", LOAD + "give(v, lane, out); out[t] = v;", 8),
        ("if (lane < 4) out[lane] = v;", "give(s[8 * lane], lane, out); out[t] = s[8 * lane];", 8),
        ("if (lane >= 4) return; out[lane] = v;", "give(s[8 * lane], lane, out);", 1),
        ("out[lane + 64] = 1; if (lane < 4) out[lane] = v;", "give(s[8 * lane], lane, out);", 1),
        ("float w = v * v; if (lane < 4) out[lane] = w;", "give(s[8 * lane], lane, out);", 1),
        ("if (lane < 4) out[lane] = v; out[lane + 32] = v;", "give(s[8 * lane], lane, out);", 8),
        ("", "auto f = [&](float v) { if (lane < 4) out[t] = v; }; f(s[8 * lane]);", 1),
        (
            "",
            "float x = in[t]; auto f = [&](float v) { if (lane < 4) x += v; }; f(s[8 * lane]);"
            " out[t] = x;",
            1,
        ),
        ("", "volatile float v = s[8 * lane]; if (lane < 4) out[t] = v;", 8),
        ("", LOAD + "out[t] = lane < 4 ? sqrtf(v) : 0;", 1),
        ("", LOAD + "out[t] = lane < 4 ? fmaxf(v, 3) : 0;", 1),
        ("", LOAD + 'asm volatile("" ::: "memory"); if (lane < 4) out[t] = v;', None),
    ],
)
def test_what_a_function_is_given_sinks_into_its_branch(body, call, loaded):
    assert wavefronts(call, PASSED % body) == loaded


@pytest.mark.parametrize(
    ("sort", "body", "loaded"),
    [
        ("float &x, float", "if (lane < 4) x += v;", 1),
        ("float &x, float", "if (lane < 4) x = v;", None),
        ("float &x, float", "x = lane < 4 ? x + v : x;", 8),
        ("float &x, volatile float", "if (lane < 4) x += v;", 8),
    ],
)
def test_what_a_function_computes_of_others_variables_stays_in_its_branch(sort, body, loaded):
    """A function is simplified before it is inlined; in the caller such a branch is a select."""
    call = "float x = in[t]; give(x, s[8 * lane], lane); out[t] = x;"
    assert wavefronts(call, f"__device__ void give({sort} v, int lane) {{ {body} }}") == loaded


@pytest.mark.parametrize(
    ("body", "loaded"),
    [("if (lane < 4) x += v;", 1), ("if (lane < 4) this->x = v;", None)],
)
def test_members_are_variables_of_others(body, loaded):
    record = f"struct Sum {{ float x; __device__ void add(float v, int lane) {{ {body} }} }};"
    call = "Sum a; a.x = in[t]; a.add(s[8 * lane], lane); out[t] = a.x;"
    assert wavefronts(call, record) == loaded


@pytest.mark.parametrize(
    ("body", "loaded"),
    [
        ("if (lane < 4) return v; return 1.f;", 8),
        ("if (lane >= 4) return 1.f; return v * 2;", 8),
        ("return lane < 4 ? v : 0.f;", 8),
        ("if (lane < 4) return v; return u;", None),
        ("if (lane < 4) { out[lane] = v; return v; } return u;", None),
        ("if (lane < 4) return sqrtf(v); return 0;", None),
    ],
)
def test_a_returned_value_is_picked_by_a_select_or_who_loads_is_open(body, loaded):
    call = "out[t] = pick(s[8 * lane], in[t], lane, out);"
    assert wavefronts(call, RETURNED % body) == loaded
