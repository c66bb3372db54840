"""Loops over a chunk of each thread: what SASS of nvcc 13.5.37 (sm_90, -O3) has of their accesses.

Instructions are those of the four warps of a block.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(const float *g, float *o, int n, size_t m) {
  __shared__ __align__(16) float d[128 * 32];
  %s
  __syncthreads();
  o[threadIdx.x] = d[threadIdx.x ^ 5];
}
void run(float *g, float *o) { k<<<1, 128>>>(g, o, 3, 5); }
"""
INT, UNSIGNED, SIZE = (
    "int t = threadIdx.x; ",
    "unsigned t = threadIdx.x; ",
    "size_t t = threadIdx.x; ",
)
LOOP = " for (; b < e; ++b)"


def _stored(text):
    """Returns how often and in how many wavefronts an access is made, and how sure that is."""
    store = next(a for a in accesses_of(KERNEL % f"{text} d[b] = g[b];") if a.kind == "store")
    return store.instructions, store.wavefronts.mean, store.certainty.value


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        (INT + "int b = t * 4, e = b + 4;" + LOOP, 4),
        (INT + "int b = t * 4, e = 4 + t * 4;" + LOOP, 4),
        (INT + "int b = t << 2, e = (t << 2) + 4;" + LOOP, 4),
        (INT + "int e = t * 4 + 4, b = e - 4;" + LOOP, 4),
        (INT + "for (int b = t * 4; b <= t * 4 + 3; b++)", 4),
        (INT + "for (int b = t * 4; b < (t + 1) * 4 - 1; b++)", 8),  # STS.64, STS
        (INT + "for (int b = t * 4; b != (t + 1) * 4; b++)", 4),
        (INT + "for (int b = t * 2; b < t * 2 + 2; b++)", 4),
        (INT + "for (int b = t * 3; b < t * 3 + 3; b++)", 12),
        (INT + "for (int b = t * 6; b < t * 6 + 6; b++)", 12),  # STS.64
        (INT + "for (int b = t * 4 + 1; b < (t + 1) * 4; b++)", 8),  # STS, STS.64
        (INT + "for (int b = t * 16; b < t * 16 + 16; b++)", 16),
        (INT + "int b = t * 12, e = (t + 1) * 12;\n#pragma unroll\n for (b++; b < e; ++b)", 16),
        (INT + "int w = t & 127, b = w * 4, e = (w + 1) * 4;" + LOOP, 4),
        (INT + "int w = t / 32, b = w * 4, e = (w + 1) * 4;" + LOOP, 4),
        (INT + "for (int b = (t & 63) * 4 + 4; b < (t & 63) * 4 + 8; b++)", 4),
        ("int b = threadIdx.x * 4, e = b + 4;" + LOOP, 4),
        ("int b = blockIdx.x * 512 + threadIdx.x * 4, e = b + 4;" + LOOP, 4),
        ("unsigned w = threadIdx.x % 128, b = w * 4, e = b + 4;" + LOOP, 4),
        (SIZE + "size_t b = t * 4, e = (t + 1) * 4;" + LOOP, 4),
        (SIZE + "size_t b = t * 4, e = b + 4;" + LOOP, 4),
        ("long t = threadIdx.x, b = t * 4, e = (t + 1) * 4;" + LOOP, 4),
        ("long t = threadIdx.x; for (long b = t * 4 + 3; b >= t * 4; b--)", 4),
    ],
)
def test_a_chunk_whose_end_does_not_wrap_is_fully_unrolled(text, instructions):
    count, _, certainty = _stored(text)
    assert (count, certainty) == (instructions, "assumed")


@pytest.mark.parametrize(
    "text",
    [
        INT + "int b = t * 4, e = (t + 1) * 4;" + LOOP,
        INT + "int b = t << 2, e = (t + 1) << 2;" + LOOP,
        INT + "int e = (t + 1) * 4, b = e - 4;" + LOOP,
        INT + "for (int b = t * 4; b < (t + 1) * 4; b++)",
        INT + "for (int b = t * 4; (t + 1) * 4 > b; b++)",
        INT + "int b = t * 4, e = (t + 1) * 4;\n#pragma unroll\n" + LOOP,
        UNSIGNED + "unsigned b = t * 4, e = b + 4;" + LOOP,
        UNSIGNED + "unsigned b = t << 2, e = (t + 1) << 2;" + LOOP,
        UNSIGNED + "for (unsigned b = t * 4; b < t * 4 + 4; b++)",
        "int b = threadIdx.x * 4, e = threadIdx.x * 4 + 4;" + LOOP,
        "int b = threadIdx.x * 4, e = (threadIdx.x + 1) * 4;" + LOOP,
        "size_t b = threadIdx.x * 4, e = (threadIdx.x + 1) * 4;" + LOOP,
        "unsigned b = blockIdx.x * 512 + threadIdx.x * 4, e = b + 4;" + LOOP,
        SIZE + "int b = t * 4, e = (t + 1) * 4;" + LOOP,
    ],
)
def test_of_a_chunk_whose_end_may_wrap_the_first_store_stands_alone(text):
    """STS, and behind a test STS and STS.64: rows of 16 bytes are 4-way in each."""
    assert _stored(text) == (12, 4, "assumed")


@pytest.mark.parametrize("loop", ["while (b < e) { %s b++; }", "do { %s ++b; } while (b < e);"])
def test_a_while_loop_is_as_a_for_loop(loop):
    text = INT + "int b = t * 4, e = (t + 1) * 4; " + loop % "d[b] = g[b];"
    store = next(a for a in accesses_of(KERNEL % text) if a.kind == "store")
    assert (store.instructions, store.wavefronts.mean) == (12, 4)


@pytest.mark.parametrize(
    "text",
    [
        INT + "for (int b = (t + 1) * 4 - 1; b >= t * 4; b--)",
        INT + "for (int b = t * 4 + 3; b >= t * 4; b--)",
        INT + "for (int b = t * 4 + 3; b > t * 4 - 1; b--)",
        SIZE + "for (size_t b = t * 4 + 4; b > t * 4; b--)",
    ],
)
def test_a_chunk_that_counts_down_is_stored_word_by_word(text):
    assert _stored(text)[:2] == (16, 4)


@pytest.mark.parametrize(
    "text",
    [
        INT + "int b = t * 12, e = b + 12;" + LOOP,
        INT + "int b = t * 12, e = (t + 1) * 12;" + LOOP,
        INT + "int b = t * 4, e = (t + 1) * 4;\n#pragma unroll 4\n" + LOOP,
        SIZE + "size_t b = t * 16, e = b + 16;" + LOOP,
        "int b = blockIdx.x * 512 + threadIdx.x * 16, e = b + 16;" + LOOP,
    ],
)
def test_a_longer_chunk_is_open(text):
    assert _stored(text)[2] == "sampled"


def test_a_conflict_of_any_width_stays():
    """`t * 32` is 32-way in words, 8-way in STS.128: nvcc has STS for these bounds."""
    text = KERNEL % (INT + "int b = t * 32, e = (t + 1) * 32;" + LOOP + " d[b] = g[b];")
    store = next(a for a in accesses_of(text) if a.kind == "store")
    assert (store.bounds.least, store.bounds.most) == (8, 32)


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("v += d[b];", 4, 0),  # LDS.128, whatever the trip count is
        ("v += d[b] * g[b];", 4, 0),
        ("d[b] *= 2.0f;", 12, 12),
        ("d[b + 2048] = d[b];", 12, 12),
    ],
)
def test_loads_of_a_chunk_are_parted_by_its_stores(body, loads, stores):
    loop = f"int b = t * 4, e = (t + 1) * 4; float v = 0; for (; b < e; ++b)\n {body}\n o[t] = v;"
    found = accesses_of(KERNEL % (INT + "d[t] = g[t]; __syncthreads();\n" + loop))
    line = next(
        n for n, text in enumerate((KERNEL % (INT + "\n" + loop)).split("\n"), 1) if body in text
    )
    counts = {a.kind.value: a.instructions for a in found if a.span.line == line}
    assert (counts["load"], counts.get("store", 0)) == (loads, stores)
