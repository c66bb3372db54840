"""Iterations left over of a loop that is unrolled by four at run time.

SASS of nvcc 13.0.88, -O3, sm_90, of these kernels: the bytes of each load and how many there are.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(128) k(float *g, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  for (int j = t; j < 4096; j += 128) s[j] = in[j];
  __syncthreads();
  %s
}
void f(float *g, float *in, int n) { k<<<1, 128>>>(g, in, n); }
"""


def loads(body):
    found = accesses_of(KERNEL % body)
    return [(a.width_bytes, a.instructions) for a in found if a.kind is AccessKind.LOAD]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("int i = t; i < 256; i += 128", [(4, 8), (4, 8)]),
        ("int i = t; i < 100; i += 128", [(4, 4), (4, 4)]),
        ("int i = t; i < 1024; i += 128", [(8, 32), (8, 0)]),
        ("int i = t; i < 256; i += blockDim.x", [(8, 8), (8, 0)]),
        ("int i = t; i < 384; i += blockDim.x", [(8, 12), (8, 0)]),
        ("unsigned i = t; i < 640; i += 128", [(4, 20), (4, 20)]),  # a loop that nothing unrolls
        ("unsigned i = t; i < 640; i += blockDim.x", [(8, 20), (8, 0)]),
        ("int i = t; i < 256; i += step", [(4, 8), (4, 8)]),
        ("int i = t; i < 512; i += step * 2", [(4, 8), (4, 8)]),
        ("int i = t; i < 512; i += step", [(8, 16), (8, 0)]),
    ],
)
def test_two_neighbours(head, expected):
    body = f"int step = blockDim.x; for ({head}) {{ float a = s[2 * i], b = s[2 * i + 1]; g[i] = a * b; }}"
    assert loads(body) == expected


@pytest.mark.parametrize("step", ["128", "step"])
@pytest.mark.parametrize(("end", "wavefronts"), [(640, 48), (768, 64), (896, 80), (700, 56)])
def test_the_rest_of_four_stands_in_front_of_them(end, wavefronts, step):
    """Of 700, two warps have six iterations, the others five, or some threads six."""
    loop = f"for (int i = t; i < {end}; i += {step}) g[i] = s[2 * i] * s[2 * i + 1];"
    found = accesses_of(KERNEL % f"int step = blockDim.x; {loop}")
    made = [a for a in found if a.kind is AccessKind.LOAD and a.wavefronts is not None]
    assert sum(a.instructions * a.wavefronts.mean for a in made) == wavefronts


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("int i = t; while (i < END) { BODY i += 128; }", [(256, 32), (512, 32), (640, 48)]),
        ("int i = t; do { BODY i += 128; } while (i < END);", [(256, 32), (512, 32), (640, 48)]),
        ("unsigned i = t; while (i < END) { BODY i += 128; }", [(256, 32), (640, 80)]),
    ],
)
def test_what_a_body_ends_with_is_a_step(loop, expected):
    body = loop.replace("BODY", "g[i] = s[2 * i] * s[2 * i + 1];")
    for end, wavefronts in expected:
        found = accesses_of(KERNEL % body.replace("END", str(end)))
        made = [a for a in found if a.kind is AccessKind.LOAD and a.wavefronts is not None]
        assert sum(a.instructions * a.wavefronts.mean for a in made) == wavefronts


def test_a_step_that_is_a_multiple_leaves_the_loop_as_it_is():
    loop = "for (int i = 4 * t; i < 1024; i += step) g[i] = s[i] * s[i + 1] * s[i + 2] * s[i + 3];"
    found = loads(f"int step = blockDim.x * 4; {loop}")
    assert found[0] == (16, 8)


def test_two_that_move_on_by_two_may_fuse_with_the_next():
    """nvcc: LDS.128 for two iterations of four, LDS for those that are left over."""
    loop = "for (int i = 0; i < n; i++) g[t] += s[8 * t + 2 * i] * s[8 * t + 2 * i + 1];"
    found = accesses_of(KERNEL.replace("(g, in, n)", "(g, in, x)") % loop)
    assert {a.certainty for a in found if a.kind is AccessKind.LOAD} == {Certainty.SAMPLED}


def test_the_body_may_have_branches():
    body = "float a = s[2 * i], b = s[2 * i + 1]; if (a < b) continue; g[i] = a * b;"
    assert loads(f"for (int i = t; i < 256; i += 128) {{ {body} }}") == [(4, 8), (4, 8)]


def test_a_vector_stays_one():
    body = "float2 v = ((float2 *)s)[i]; g[i] = v.x * v.y;"
    assert loads(f"for (int i = t; i < 256; i += 128) {{ {body} }}") == [(8, 8)]


@pytest.mark.parametrize(
    ("trips", "stores"),
    [("128", (4, 8)), ("300", (4, 20)), ("1024", (8, 32))],
)
@pytest.mark.parametrize("body", ["r[i] = ((P *)in)[i];", "P p; p.a = in[i]; p.b = i; r[i] = p;"])
def test_stores_of_two_members_are_as_loads(trips, stores, body):
    text = "struct P { float a; int b; };" + KERNEL.replace(
        "float s[", "P r[2048]; __shared__ float s["
    )
    loop = f"for (int i = t; i < {trips}; i += 128) {{ {body} }} __syncthreads(); g[t] = r[t].a;"
    found = [a for a in accesses_of(text % loop) if a.kind is AccessKind.STORE][1:]
    issued = [(a.width_bytes, a.instructions) for a in found if a.instructions]
    assert issued == [stores]


@pytest.mark.parametrize(
    ("head", "certainty"),
    [
        ("int j = 1; j < w * 4; ++j", Certainty.SAMPLED),  # 34 instructions, 25 of rows
        ("int j = 0; j < w * 4; ++j", Certainty.ASSUMED),
        ("int j = w; j < 30; ++j", Certainty.ASSUMED),
        ("int j = w + 1; j < 30; ++j", Certainty.SAMPLED),  # LDS, that of w + 2 LDS.64
        ("\n#pragma unroll 2\nint j = 0; j < 6; ++j", Certainty.SAMPLED),  # LDS, of rows LDS.64
        ("\n#pragma unroll 3\nint j = 0; j < 10; ++j", Certainty.SAMPLED),  # the last is LDS.64
        ("\n#pragma unroll 4\nint j = 0; j < 8; ++j", Certainty.ASSUMED),
    ],
)
def test_what_fills_no_block_leaves_neighbours_open(head, certainty):
    pragma, _, head = head.rpartition("\n")
    loop = f"{pragma}\nfor ({head}) a += s[64 * j + l * 2] - s[64 * j + l * 2 + 1];"
    found = accesses_of(KERNEL % f"int l = t % 32, w = t / 32; float a = 0; {loop} g[t] = a;")
    assert {a.certainty for a in found if a.kind is AccessKind.LOAD} == {certainty}


@pytest.mark.parametrize(("begin", "certainty"), [("t", "assumed"), ("0", "sampled")])
def test_an_integer_that_begins_at_a_constant_puts_what_is_left_over_behind(begin, certainty):
    """With s[j][2 * l] the SASS has 32 and 26 instructions (nvcc 13.5.37, sm_90)."""
    body = "a += s[64 * j + l * 2] - s[64 * j + l * 2 + 1]; c ^= __float_as_int(a);"
    loop = f"int c = {begin}; float a = 0; for (int j = w; j < 8; ++j) {{ {body} }} g[t] = a + c;"
    found = accesses_of(KERNEL % f"int l = t % 32, w = t / 32; {loop}")
    loads = {a.certainty for a in found if a.kind is AccessKind.LOAD}
    assert loads == {Certainty(certainty)}
