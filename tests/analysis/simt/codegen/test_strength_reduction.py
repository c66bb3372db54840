"""Stores whose index is made of an earlier sum, against the SASS of nvcc 13.0.88, sm_90, -O3.

Each row is a kernel of our own with a block of (16, 16): code before, the index of four neighbouring
stores, and the width in bytes of the instructions that nvcc made of them.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(const int *in, int *out, int n, int m) {
  __shared__ %s int s[4096];
  int tx = threadIdx.x, ty = threadIdx.y, a = 0;
  unsigned ux = tx, uy = ty;
  size_t zx = tx, zy = ty;
  int lane = tx & 31, warp = tx >> 5;
  %s;
  #pragma unroll
  for (int j = 0; j < 4; ++j) s[(%s) + j] = a + j;
  __syncthreads();
  out[tx] = s[7 * tx & 2047];
}
void go(int *a, int n, int m) { k<<<1, dim3(16, 16)>>>(a, a, n, m); }
"""


def far(count: int) -> str:
    """The sum of `stores`, and so many others behind it."""
    others = (f"a += in[{100 + 17 * k} * ty + tx]" for k in range(count))
    return "; ".join(("a = in[ty * 64 + tx]", *others))


def stores(before: str, index: str, aligned: str = "") -> tuple[set[int], set[Certainty]]:
    found = accesses_of(KERNEL % (aligned, before, index))
    kept = [a for a in found if a.kind is AccessKind.STORE and "+ j" in a.expression]
    widths = {p.width for access in kept for p in access.patterns if p.count}
    return widths, {access.certainty for access in kept}


@pytest.mark.parametrize(
    ("before", "index", "width"),
    [
        ("a = in[ty * 64 + tx]", "ty * 64 + 4 * tx", 4),
        ("a = in[uy * 64 + ux]", "ty * 64 + 4 * tx", 4),
        ("a = in[zy * 64 + zx]", "ty * 64 + 4 * tx", 16),
        ("a = in[tx * 4 + ty]", "ty * 64 + 4 * tx", 4),
        ("a = in[ty * 64 + tx * 6]", "ty * 64 + 4 * tx", 8),
        ("a = in[ty * 64 + tx]; a += in[ty * 64 + 2 * tx]", "ty * 64 + 4 * tx", 4),
        ("a = in[ty * 64 + 2 * tx]", "ty * 64 + 4 * tx", 8),
        ("int i = ty * 64; i += tx; a = in[i]", "ty * 64 + 4 * tx", 4),
        ("if (ty * 64 + tx * 3 > n) return", "ty * 64 + 4 * tx", 4),
        ("if (n > m && ty * 64 + tx < m) a = in[3]", "ty * 64 + 4 * tx", 4),
        ("s[ty * 64 + tx] = in[tx]; __syncthreads()", "ty * 64 + 4 * tx", 4),
        ("for (int i = 0; i < 8; ++i) a += in[ty * 64 + tx + i * 1024]", "ty * 64 + 4 * tx", 4),
        ("for (int i = ty * 64 + tx; i < n; i += 1024) a += in[i]", "ty * 64 + 4 * tx", 4),
        ("a = in[(ty * 16 + tx) + n * 256]", "(ty * 16 + tx) * 4 + n * 256", 4),
        ("a = in[lane + (warp << 7)]", "(warp << 7) + (lane << 2)", 4),
        ("a = in[2 * lane + (warp << 7)]", "(warp << 7) + (lane << 2)", 8),
        (far(5), "ty * 64 + 4 * tx", 4),
        (far(6), "ty * 64 + 4 * tx", 16),
        (far(10), "ty * 64 + 4 * tx", 16),
        ("a = in[tx]", "ty * 64 + 4 * tx", 16),
        ("a = in[ty * 64 + tx]", "4 * (ty * 16 + tx)", 16),
        ("a = in[ty * 16 + tx]", "ty * 64 + 4 * tx", 16),
        ("a = in[ty * n + tx]", "ty * 64 + 4 * tx", 16),
        ("if (ty * 64 - tx > n) return", "ty * 64 + 4 * tx", 16),
        ("a = in[(ty << 6) | (tx & 15)]", "(ty << 6) | ((tx & 15) << 2)", 16),
        ("a = in[(ty + blockIdx.x * 8) * 64 + tx]", "ty * 64 + 4 * tx", 16),
    ],
)
def test_the_latest_sum_of_another_multiple_costs_alignment(before, index, width):
    found, certainties = stores(before, index)
    if (found, certainties) != ({4}, {Certainty.SAMPLED}):  # said to be open
        assert found == {width}


def test_most_of_these_are_decided():
    assert stores("a = in[ty * 64 + tx]", "ty * 64 + 4 * tx") == ({4}, {Certainty.ASSUMED})
    assert stores("a = in[tx]", "ty * 64 + 4 * tx") == ({16}, {Certainty.ASSUMED})
    assert stores(far(5), "ty * 64 + 4 * tx") == ({4}, {Certainty.ASSUMED})


def test_sums_of_a_loop_that_is_run_twice_count_once():
    """Two iterations of a loop are tried before it is run; nvcc: four STS."""
    loop = (
        "for (int i = 0; i < 64; ++i) { a += in[100 * ty + 3 * tx]; a += in[117 * ty + 5 * tx]; }"
    )
    before = f"a = in[ty * 64 + tx]; {loop} a += in[134 * ty + 7 * tx]"
    assert stores(before, "ty * 64 + 4 * tx") == ({4}, {Certainty.ASSUMED})


@pytest.mark.parametrize(
    "before",
    [
        "if (n > 3) out[ty * 64 + tx] = 1",  # nvcc: 16 bytes
        "if (n > 3) out[m] = in[ty * 64 + tx]; else out[m] = in[ty * 64 + tx] + 5",  # 4
        "a = in[ty * 64 + tx + 1]",  # 16
        "const int *p = in + ty * 64; a = p[tx]",  # 16
        "a = in[m + ty * 64 + tx]",  # 4
    ],
)
def test_what_is_not_known_to_be_rewritten_is_sampled(before):
    assert stores(before, "ty * 64 + 4 * tx")[1] == {Certainty.SAMPLED}


@pytest.mark.parametrize(
    ("before", "index", "width"),
    [
        ("a = in[ty * 64 + tx]", "ty * 64 + 4 * tx", 16),
        ("a = in[ty * 16 + tx]", "ty * 16 + 4 * tx", 16),
        ("a = in[tx * 4 + ty]", "tx * 4 + ty * 64", 16),
    ],
)
def test_llvm_fuses_what_it_knows_from_the_declaration(before, index, width):
    assert stores(before, index, "__align__(16)") == ({width}, {Certainty.ASSUMED})


def test_a_sum_of_three_parts_is_open_even_so():
    before, index = "a = in[ty * 64 + tx]", "m * 256 + ty * 64 + 4 * tx"  # nvcc: 4 bytes
    assert stores(before, index, "__align__(16)")[1] == {Certainty.SAMPLED}


def test_a_sum_that_was_computed_before_the_other_stays():
    text = "for (int j = 0; j < 4; ++j) s[ty * 64 + 4 * tx + j] = a; a = in[ty * 64 + tx]"
    assert stores(text, "ty * 64 + 4 * tx")[0] == {16}


def test_what_both_sums_let_fuse_is_decided():
    """nvcc 13.0.88: STS.128, and 8 wavefronts for each ideal one where zmddft was counted."""
    (pair,) = {
        (access.width_bytes, access.certainty)
        for access in accesses_of(
            "__global__ void k(const double *in, double *out, int m) {\n"
            "  __shared__ double s[4096];\n"
            "  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;\n"
            "  double a = in[m * 8192 + ty * 512 + 2 * tx];\n"
            "  int at = ty * 512 + 32 * tx; s[at] = a; s[at + 1] = 2 * a;\n"
            "  __syncthreads();\n  out[threadIdx.x] = s[threadIdx.x];\n}\n"
            "void go(double *a, int m) { k<<<1, 64>>>(a, a, m); }\n"
        )
        if access.kind is AccessKind.STORE
    }
    assert pair == (16, Certainty.ASSUMED)


POINTER_KERNEL = """\
__global__ void k(float *g, int n, int m) {
  __shared__ float s[2048], other[2048], r[32][64];
  int w = threadIdx.x / 32, t = threadIdx.x & 31;
  float *p = %s;
  %s;
  __syncthreads();
  g[threadIdx.x] = p[2 * t] * p[2 * t + 1];
}
void go(float *g) { k<<<1, 128>>>(g, 1, 2); }
"""


@pytest.mark.parametrize(
    ("start", "before", "width"),
    [
        ("s + 64 * w", "p[t] = g[t]", 4),
        ("s + 64 * w", "*(p + t) = g[t]", 4),
        ("s + 64 * w", "p[t] = g[t]; p[t + 32] = g[t + 32]", 4),
        ("s + 64 * w", "p[3 * t] = g[7]; p[t] = g[t]", 4),
        ("s + 64 * w + 128", "p[t] = g[t]", 4),
        ("&s[64 * w + 4 * m]", "p[t] = g[t]", 4),
        ("s + 64 * (n & 7)", "p[t] = g[t]", 4),
        ("s + 64 * w", "t = t + 32 * m; p[t] = g[t]", 4),
        ("s + 64 * w", "p[31 - t] = g[t]", 8),
        ("s + 64 * w", "p[31 - t] = g[t]; p[31 - t + 2 * t + 1] = g[t + 1]", 8),
        ("s + 64 * w", "p[63 - t] = g[t]", 8),
        ("s + 64 * w", "p[5] = g[3]", 8),
        ("r[w]", "p[t] = g[t]", 8),
    ],
)
def test_indexed_pointers_are_sums_of_their_own(start, before, width):
    found = accesses_of(POINTER_KERNEL % (start, before))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert {(a.width_bytes, a.certainty) for a in loads} == {(width, Certainty.ASSUMED)}


@pytest.mark.parametrize(
    "before",
    [
        "p[t + 32] = g[t]",  # nvcc: 8 bytes
        "if (n > 3) p[t] = g[t]",  # 8
        "float *q = other + 64 * w; q[t] = g[t]",  # 8
        "float *q = s + 128 + 64 * w; q[t] = g[t]",  # 8
        "p[8 * m + t] = g[t]; t = t + 4 * m",  # 8
        "s[64 * w + t] = g[t]",  # 4
    ],
)
def test_pointers_whose_sums_may_be_rewritten_are_open(before):
    found = accesses_of(POINTER_KERNEL % ("s + 64 * w", before))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert {a.certainty for a in loads} == {Certainty.SAMPLED}


CLASSES = """\
struct Word { float v; };
struct Pair { float a, b; };
__global__ void k(TYPE *o, const TYPE *p, int n) {
  __shared__ TYPE s[2048];
  int t = threadIdx.x, l = t & 31;
  unsigned u = t;
  long z = t;
  BEFORE;
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 4; ++i) o[i * 128 + t] = s[(INDEX) + i];
}
void go(TYPE *a, int n) { k<<<1, 16>>>(a, a, n); }
"""


@pytest.mark.parametrize(
    ("type_", "before", "index", "width", "is_open"),
    [
        ("half", "s[t] = p[t]", "128 * t", 2, True),
        ("half", "s[t] = p[t]", "4 * t", 2, False),
        ("half", "s[10 * t] = p[t]", "128 * t", 4, True),
        ("half", "s[t] = p[t]; s[8 * t] = p[t + 9]", "128 * t", 2, True),
        ("half", "s[t + 1] = p[t]; s[t] = p[t]", "128 * t", 2, True),
        ("half", "s[threadIdx.x] = p[t]", "128 * t", 2, True),
        ("half", "s[l] = p[t]", "64 * l", 2, True),
        ("half", "half *q = s + t; *q = p[t]", "128 * t", 2, True),
        ("__nv_bfloat16", "s[t] = p[t]", "128 * t", 2, True),
        ("Word", "s[t] = p[t]", "128 * t", 4, True),
        ("Word", "s[10 * t] = p[t]", "128 * t", 8, True),
        ("Pair", "s[t].a = 1", "4 * t", 8, True),
        ("half", "s[1] = p[t]", "128 * t", 8, False),
        ("half", "s[t + 1] = p[t]", "128 * t", 8, False),
        ("half", "s[t] = p[t]", "128 * t + 32", 8, False),
        ("half", "s[t] = p[t]", "4 * l", 8, False),
        ("half", "if (n) s[t] = p[t]", "128 * t", 8, False),
        ("half", "s[u] = p[t]", "128 * u", 8, False),
        ("half", "s[z] = p[t]", "128 * z", 8, False),
        ("unsigned short", "s[t] = p[t]", "128 * t", 8, False),
        ("float", "s[t] = p[t]", "128 * t", 16, False),
        ("float2", "s[t] = p[t]", "2 * t", 16, False),
        ("short4", "s[t] = p[t]", "2 * t", 16, False),
        ("int2", "s[t] = p[t]", "2 * t", 8, True),
        ("int2", "int v = t + 16 * threadIdx.y; s[v] = p[t]", "2 * v", 8, True),
        ("double1", "s[t] = p[t]", "2 * t", 8, True),
        ("float1", "s[t] = p[t]", "4 * t", 4, True),
        ("float3", "s[t] = p[t]", "4 * t", 4, True),
    ],
)
def test_indexes_of_arrays_of_classes_are_made_of_earlier_ones(
    type_: str, before: str, index: str, width: int, is_open: bool
) -> None:
    text = CLASSES.replace("BEFORE", before).replace("INDEX", index).replace("TYPE", type_)
    found = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD]
    assert {p.width for a in found for p in a.patterns if p.count} == {width}
    assert {a.certainty is Certainty.SAMPLED for a in found} == {is_open}


VECTORS = """\
__global__ void k(float *o, const float *p) {
  __shared__ float2 s[2048];
  int t = threadIdx.x;
  BEFORE;
  __syncthreads();
  int a = INDEX;
  AFTER;
}
void go(float *a) { k<<<1, 128>>>(a, a); }
"""
WORDS = "o[t] = s[a].x * s[a].y * s[a + 1].x * s[a + 1].y"


@pytest.mark.parametrize(
    ("before", "index", "after", "width", "is_open"),
    [
        ("s[t] = make_float2(p[t], 0)", "2 * t", WORDS, 8, True),
        ("s[t].x = p[t]", "2 * t", WORDS, 8, True),
        ("s[t].x = p[t]", "4 * t", WORDS, 8, True),
        ("s[t].x = p[t]", "2 * t", "s[a].x += s[a + 1].x; s[a].y += s[a + 1].y", 8, True),
        ("s[t + 32].x = p[t]", "2 * t", WORDS, 16, False),
        ("s[3].x = p[t]", "2 * t", WORDS, 16, False),
    ],
)
def test_vectors_of_which_members_are_accessed_are_classes(before, index, after, width, is_open):
    """SASS of nvcc 13.5.37, sm_90: two LDS.64, or one LDS.128."""
    text = VECTORS.replace("BEFORE", before).replace("INDEX", index).replace("AFTER", after)
    found = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD]
    assert {p.width for a in found for p in a.patterns if p.count} == {width}
    assert any(a.certainty is Certainty.SAMPLED for a in found) == is_open


@pytest.mark.parametrize(
    ("before", "index", "width"),
    [
        ("a = in[ty * 64 + tx]", "ty * 64 + 64 * tx", 16),
        ("a = in[m + tx]", "m * 4 + 4 * tx", 16),
        ("a = in[m + 4 * tx]", "m * 4 + 4 * tx + 64 * n", 16),
        ("a = in[m + 12 * tx]", "m * 12 + 12 * tx", 16),
        ("a = in[m + 4 * tx]", "m * 8 + 4 * tx", 4),
        ("a = in[m + 4 * tx] + in[4 * m + 4 * tx]", "m * 8 + 4 * tx", 4),
    ],
)
def test_a_factor_of_both_parts_is_applied_to_their_sum(before, index, width):
    assert stores(before, index) == ({width}, {Certainty.ASSUMED})
