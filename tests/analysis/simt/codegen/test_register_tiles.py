"""Products of tiles in registers: widths of the loads, by SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(256) k(const float *A, const float *B, float *C, int N, int K) {
  __shared__ float a[16 * ROWS * DEPTH], b[DEPTH * 16 * COLUMNS];
  int column = threadIdx.x % 16, row = threadIdx.x / 16;
  float sum[ROWS * COLUMNS] = {}, x[ROWS], y[COLUMNS];
  for (int at = 0; at < K; at += DEPTH) {
    for (int i = threadIdx.x; i < 16 * ROWS * DEPTH; i += 256) a[i] = A[i];
    for (int i = threadIdx.x; i < DEPTH * 16 * COLUMNS; i += 256) b[i] = B[i];
    __syncthreads();
    A += DEPTH; B += DEPTH * N;
    for (int k = 0; k < DEPTH; k++) {
      for (int i = 0; i < ROWS; i++)
        x[i] = a[(row * ROWS + i) * DEPTH + k];
      for (int j = 0; j < COLUMNS; j++)
        y[j] = b[k * 16 * COLUMNS + column * COLUMNS + j];
      for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) sum[i * COLUMNS + j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < ROWS * COLUMNS; i++) C[threadIdx.x * ROWS * COLUMNS + i] = sum[i];
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, p, n, 64); }
"""


def widths(rows, columns, depth, kernel=KERNEL):
    """Returns the widths of the loads of both tiles; None where they are a range."""
    text = kernel
    for name, value in (("ROWS", rows), ("COLUMNS", columns), ("DEPTH", depth)):
        text = text.replace(name, str(value))
    loads = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD and a.instructions]
    return [
        load.width_bytes if load.certainty is Certainty.ASSUMED else None
        for load in sorted(loads, key=lambda load: load.span.line)
    ]


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ((2, 4, 8), [16, 16]),  # fully unrolled
        ((4, 2, 8), [16, 8]),
        ((8, 8, 8), [4, 16]),  # a loop for LLVM and for ptxas
        ((8, 8, 32), [4, 16]),
    ],
)
def test_loads_of_tiles_are_as_wide_as_the_pointers_of_the_loop_let_them(tile, expected):
    assert widths(*tile) == expected


@pytest.mark.parametrize(
    ("tile", "width"),
    [((4, 4, 16), 16), ((4, 4, 32), 16), ((8, 2, 16), 4), ((8, 2, 32), 4), ((4, 2, 32), 8)],
)
def test_two_or_four_iterations_have_a_pointer_to_one_of_their_places(tile, width):
    assert widths(*tile)[1] == width


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ((4, 8, 8), [None, 16]),  # a loop for LLVM, ptxas unrolls it: LDS.128
        ((4, 8, 16), [None, 16]),  # and here it does not: LDS
        ((8, 4, 8), [None, None]),  # LDS.128 and, of a pointer to b + 8, LDS.64
    ],
)
def test_what_ptxas_unrolls_is_open(tile, expected):
    assert widths(*tile) == expected


def test_whether_two_iterations_of_what_costs_nearly_half_share_a_block_is_open():
    words = """      for (int j = 0; j < COLUMNS; j++)
        y[j] = b[k * 16 * COLUMNS + column * COLUMNS + j];
"""
    vector = "*(float4 *)y = *(float4 *)&b[k * 16 * COLUMNS + column * COLUMNS];\n"
    assert words in KERNEL
    kernel = KERNEL.replace(words, vector)
    assert widths(8, 4, 16, kernel) == [None, 16]  # LLVM leaves the loop as it is: LDS


INDEXED = """
__global__ void k(const float *A, float *C, int N) {
  __shared__ float a[DEPTH][16 * ROWS], b[DEPTH][16 * COLUMNS];
  int t = threadIdx.x, column = t % 16, row = t / 16;
  float sum[ROWS][COLUMNS] = {};
  for (int at = 0; at < N; at += DEPTH) {
    a[t / 64][t % 64] = A[t + at];
    b[t / 64][t % 64] = A[t + at + N];
    __syncthreads();
    for (int k = 0; k < DEPTH; k++)
      for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
          sum[i][j] += a[k][row * ROWS + i] * b[k][column * COLUMNS + j];
    __syncthreads();
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) C[(t * ROWS + i) * COLUMNS + j] = sum[i][j];
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, n); }
"""


@pytest.mark.parametrize("tile", [(4, 4, 8), (8, 8, 8), (8, 8, 16)])
def test_a_load_that_the_inner_loop_repeats_stands_in_front_of_it(tile):
    """SASS of nvcc 13.5.37: LDS.128 alone, so the loop over rows is unrolled, too."""
    text = INDEXED
    for name, value in zip(("ROWS", "COLUMNS", "DEPTH"), tile, strict=True):
        text = text.replace(name, str(value))
    loads = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD and a.instructions]
    assert {load.width_bytes for load in loads} == {16}


@pytest.mark.parametrize("tile", [(8, 4, 8), (4, 8, 8)])
def test_a_loop_that_llvm_may_leave_is_open(tile):
    """PTX of nvcc 13.5.37: it leaves them; ptxas makes four iterations one, with LDS.128 of rows."""
    assert widths(*tile)[0] is None
