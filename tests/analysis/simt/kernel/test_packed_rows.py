"""Copies of narrow rows of unknown pitch are free where the rows are all there is of a matrix.

Counted on an H200 (facts of `cp.async`): rows of 64 bytes, each in a line of its own, take 8
wavefronts a warp; the same bytes one behind the other take 4.
"""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

ROW = "base + (int64_t)(row + t / 4) * pitch"


def copies(source: str, rows: str = "for (int i = 0; i < n; i++)") -> list[tuple[Certainty, float]]:
    text = f"""
    __device__ void copy(void *to, const void *from) {{
      unsigned a = (unsigned)__cvta_generic_to_shared(to);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(from));
    }}
    __global__ void kernel(const int8_t *base, int pitch, int heads, int n, const int *table) {{
      __shared__ __align__(128) int8_t s[2][32][64];
      int t = threadIdx.x, column = t % 4 * 16;
      int row = blockIdx.x * 32;
      {rows} {{ {source} __syncthreads(); }}
    }}
    void run(int8_t *p, int a, int b, int *c) {{ kernel<<<1, 128>>>(p, a, b, a, c); }}"""
    found = [a for a in accesses_of(text) if a.kind is AccessKind.ASYNC_COPY]
    return sorted({(a.certainty, a.ways) for a in found})


@pytest.mark.parametrize(
    "source",
    [
        f"copy(&s[0][t / 4][column], {ROW} + column);",
        "copy(&s[0][t / 4][column], base + (int64_t)(table[i] * 32 + t / 4) * pitch + column);",
        f"copy(&s[0][t / 4][column], {ROW} + (int64_t)heads * pitch * n + column);",
    ],
)
def test_rows_that_may_be_all_there_is(source: str) -> None:
    assert copies(source) == [(Certainty.SAMPLED, 2.0)]


@pytest.mark.parametrize(
    "source",
    [
        f"copy(&s[0][t / 4][column], {ROW} + i * 64 + column);",
        f"copy(&s[0][t / 4][column], {ROW} + table[i] * 64 + column);",
        f"copy(&s[0][t / 4][column], {ROW} + blockIdx.y * 64 + column);",
        f"copy(&s[0][t / 4][column], {ROW} + column);"
        f"copy(&s[1][t / 4][column], {ROW} + 64 + column);",
        "copy(&s[0][t / 4][column], base + (int64_t)(row + t / 4) * heads * 64 + column);",
    ],
)
def test_rows_of_which_more_is_read(source: str) -> None:
    assert copies(source) == [(Certainty.ASSUMED, 2.0)]


def test_rows_of_whole_lines_cost_the_same_wherever_they_lie() -> None:
    source = (
        "copy(&s[0][t / 8 * 2][t % 8 * 16], base + (int64_t)(row + t / 8) * pitch + t % 8 * 16);"
    )
    assert copies(source) == [(Certainty.ASSUMED, 1.0)]
