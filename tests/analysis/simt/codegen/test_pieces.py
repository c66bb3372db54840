"""How LLVM cuts neighbours into vectors, and what ptxas makes of vectors beside words.

Places and sizes in bytes as in the PTX and SASS of nvcc 13.0.88, -O3, sm_90.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.analysis.simt.codegen.llvm_vectorizer import pieces
from smemlint.facts import AccessKind, Certainty

BYTES = """
#include <cstdint>
__global__ void k(const TYPE *g, const float *q, float *o) {
  __shared__ __align__(16) TYPE kv[128 * 80];
  for (int i = threadIdx.x; i < 128 * 80; i += 128) kv[i] = g[i];
  __syncthreads();
  const TYPE *row = kv + threadIdx.x * 80;
  float acc = 0;
  BODY
  o[threadIdx.x] = acc;
}
void f(float *a) { k<<<1, 128>>>((TYPE *)a, a, a); }
"""
RUN = "\n#pragma unroll\nfor (int d = %d; d < %d; d++) acc += row[d] * q[d];"

WORDS = """
struct __align__(8) H4 { short a, b, c, d; };
struct __align__(8) Q8 { int a; float b; };
__global__ void k(const float *g, float *o) {
  __shared__ float s[4096];
  for (int i = threadIdx.x; i < 4096; i += 128) s[i] = g[i];
  __syncthreads();
  float *p = s + 4 * threadIdx.x, acc = 0, a = g[0], b = g[1], c = g[2], d = g[3];
  BODY
  o[threadIdx.x] = acc;
  __syncthreads();
  o[threadIdx.x + 99] = s[o[2] > 0];
}
void f(float *a) { k<<<1, 128>>>(a, a); }
"""
LOAD = "float2 v = *(float2 *)(p + %d); acc = v.x * v.y"
STORE = "*(float2 *)(p + %d) = make_float2(%s);"


@pytest.mark.parametrize(
    ("start", "count", "aligned", "expected"),
    [
        (0, 5, 16, [(0, 8)]),
        (0, 6, 16, [(0, 4), (4, 2)]),
        (0, 14, 16, [(0, 8), (8, 4), (12, 2)]),
        (0, 15, 16, [(0, 16)]),
        (1, 6, 16, [(1, 1), (2, 2), (4, 1), (5, 1), (6, 1)]),
        (1, 7, 16, [(1, 1), (2, 2), (4, 2), (6, 2)]),
        (1, 12, 16, [(1, 1), (2, 2), (4, 4), (8, 1), (9, 1), (10, 2), (12, 1)]),
        (2, 8, 16, [(2, 2), (4, 4), (8, 2)]),
        (2, 9, 16, [(at, 1) for at in range(2, 11)]),
        (2, 16, 16, [(at, 1) for at in range(2, 18)]),
        (2, 19, 16, [(2, 2), (4, 4), (8, 2), (10, 2), (12, 2), (14, 2), (16, 8)]),
        (3, 16, 16, [(3, 1), (4, 4), (8, 8), (16, 4)]),
        (6, 7, 16, [(6, 2), (8, 8)]),
        (1, 17, 8, [(1, 1), (2, 2), (4, 2), (6, 2), (8, 8), (16, 2)]),
        (1, 17, 4, [(1, 1), (2, 2), (4, 4), (8, 4), (12, 4), (16, 2)]),
    ],
)
def test_loads_of_bytes_are_cut_as_in_ptx(start, count, aligned, expected):
    assert list(pieces(start, count, aligned, 16, is_load=True)) == expected


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        (0, 7, [(0, 4), (4, 2), (6, 1)]),
        (1, 8, [(1, 1), (2, 2), (4, 2), (6, 2), (8, 1)]),
        (2, 13, [(2, 2), (4, 4), (8, 2), (10, 2), (12, 2), (14, 1)]),
    ],
)
def test_stores_of_bytes_write_nothing_else(start, count, expected):
    assert list(pieces(start, count, 16, 16, is_load=False)) == expected


@pytest.mark.parametrize("start", range(9))
@pytest.mark.parametrize("count", range(1, 40))
@pytest.mark.parametrize("is_load", [True, False])
def test_every_element_is_in_a_piece(start, count, is_load):
    made = list(pieces(start, count, 8, 16, is_load=is_load))
    taken = [at for first, size in made for at in range(first, first + size)]
    wanted = list(range(start, start + count))
    assert set(wanted) <= set(taken) if is_load else wanted == taken


def loads(type_, body):
    """Returns (bytes of a lane, instructions of a warp) of each load behind the barrier."""
    found = accesses_of(BYTES.replace("TYPE", type_).replace("BODY", body))
    return [
        (a.width_bytes, a.instructions / 4)
        for a in found
        if a.kind is AccessKind.LOAD and a.instructions
    ]


@pytest.mark.parametrize(
    ("type_", "body", "expected"),
    [
        ("float", f"acc = row[75]; {RUN % (0, 64)}", {(4, 1), (16, 17)}),  # 16 vectors and a word
        ("float", f"acc = row[75] * row[70]; {RUN % (0, 64)}", {(4, 1), (16, 16)}),
        ("uint16_t", RUN % (0, 6), {(16, 1)}),  # v4.u16 and v2.u16
        ("uint16_t", RUN % (1, 8), {(16, 2)}),  # LDS.U16 and LDS.128
        ("uint8_t", RUN % (0, 14), {(16, 2)}),  # LDS.128 and LDS.U16
        ("uint8_t", RUN % (2, 16), {(4, 6)}),
        ("uint8_t", RUN % (1, 8), {(2, 4)}),
    ],
)
def test_what_is_loaded(type_, body, expected):
    assert set(loads(type_, body)) == expected


def accesses(body, kind):
    """Returns the bytes of a lane of each instruction of a warp, and how sure they are."""
    found = accesses_of(WORDS.replace("BODY", body))
    line = WORDS[: WORDS.index("BODY")].count("\n") + 1
    ours = [a for a in found if a.kind is kind and a.span.line == line and a.instructions]
    widths = [a.width_bytes for a in ours for _ in range(a.instructions // 4)]
    return sorted(widths), {a.certainty for a in ours}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{LOAD % 0} + p[2];", [16]),
        (f"{LOAD % 2} + p[1];", [16]),
        (f"{LOAD % 0} + p[2] * p[3];", [16]),
        ("Q8 v = *(Q8 *)p; acc = v.a * v.b + p[2];", [16]),
        ("H4 v = *(H4 *)p; acc = v.a * v.b * v.c * v.d + p[2];", [16]),
        ("float2 v = *(float2 *)p; acc = v.x + p[2];", [4, 4]),
        ("double v = *(double *)p; acc = v + p[2];", [4, 8]),
        ("double v = *(double *)p; acc = v + p[2] * p[3];", [8, 8]),
        ("double u = *(double *)p; float2 v = *(float2 *)(p + 2); acc = u + v.x * v.y;", [8, 8]),
        ("long long v = *(long long *)p; acc = v + p[2];", [4, 8]),
    ],
)
def test_vectors_and_words_are_loaded_together(body, expected):
    widths, certainties = accesses(body, AccessKind.LOAD)
    assert (widths, certainties) == (expected, {Certainty.ASSUMED})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"p[0] = a; p[1] = b; {STORE % (2, 'c, d')}", [16]),
        (f"{STORE % (2, 'c, d')} p[0] = a; p[1] = b;", [16]),
        (f"p[2] = c; {STORE % (0, 'a, b')} p[3] = d;", [16]),
        (f"{STORE % (0, 'a, b')} {STORE % (2, 'c, d')}", [16]),
        (f"{STORE % (0, 'a, b')} p[2] = c;", [4, 8]),
        (f"*(double *)p = a; {STORE % (2, 'c, d')}", [8, 8]),
    ],
)
def test_vectors_and_words_are_stored_together(body, expected):
    widths, certainties = accesses(body, AccessKind.STORE)
    assert (widths, certainties) == (expected, {Certainty.ASSUMED})


def test_a_vector_and_words_behind_it_are_open():
    """STS.64 and two STS, in this order only."""
    _, certainties = accesses(f"{STORE % (0, 'a, b')} p[2] = c; p[3] = d;", AccessKind.STORE)
    assert certainties == {Certainty.SAMPLED}
