"""Fragments of every element type come out as the accesses that the machine code makes."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """#include <mma.h>
using namespace nvcuda;
__global__ void k({type} *out) {{
  __shared__ __align__(128) {type} tile[32 * 80];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  wmma::fragment<wmma::{fragment}> f;
  {call};
}}
void run({type} *out) {{ k<<<1, 32>>>(out); }}
"""


@pytest.mark.parametrize(
    ("type_", "fragment", "call", "expected"),
    [
        ("signed char", "matrix_a, 16, 16, 16, signed char, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 80)", ("ldmatrix", 16, 1, 2, 2)),
        ("unsigned char", "matrix_a, 16, 16, 16, unsigned char, wmma::col_major",
         "wmma::load_matrix_sync(f, tile, 80)", ("load", 1, 8, 16, 8)),
        ("float", "matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 64)", ("load", 4, 4, 32, 4)),
        ("double", "accumulator, 8, 8, 4, double",
         "wmma::load_matrix_sync(f, tile, 80, wmma::mem_row_major)", ("load", 16, 1, 8, 4)),
        ("__nv_bfloat16", "matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 64)", ("load", 4, 4, 32, 4)),
        ("int", "accumulator, 8, 32, 16, int",
         "wmma::store_matrix_sync(tile, f, 80, wmma::mem_col_major)", ("store", 8, 4, 16, 8)),
        # Less than a byte (nvcc 13.5, sm_90: LDSM.16.M88 and two STS): the pitch counts elements.
        ("int", "matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 16 * 32)", ("ldmatrix", 16, 1, 4, 1)),
        ("int", "matrix_b, 8, 8, 32, wmma::experimental::precision::u4, wmma::col_major",
         "wmma::load_matrix_sync(f, tile, 20 * 8)", ("ldmatrix", 16, 1, 1, 1)),
        ("int", "matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 10)", ("ldmatrix", 16, 1, 1, 1)),  # all rows are one
        ("int", "matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major",
         "wmma::load_matrix_sync(f, tile, 20 * 8 + 4)", ("ldmatrix", 16, 1, 1, 1)),
        ("int", "accumulator, 8, 8, 128, int",
         "wmma::store_matrix_sync(tile, f, 80, wmma::mem_col_major)", ("store", 4, 2, 8, 2)),
    ],
)  # fmt: skip
def test_fragments_of_every_type(
    type_: str, fragment: str, call: str, expected: tuple[str, int, int, int, int]
) -> None:
    found = accesses_of(KERNEL.format(type=type_, fragment=fragment, call=call))
    (access,) = (a for a in found if "matrix_sync" in a.expression)
    assert access.wavefronts is not None
    assert access.ideal is not None
    total = access.wavefronts.mean * access.instructions, access.ideal.mean * access.instructions
    assert (access.kind, access.width_bytes, access.instructions, *total) == expected


LINES = """\
#include <mma.h>
__global__ void k(int *c, half *h) {
    __shared__ int bins[256];
    __shared__ half tile[4096];
    atomicAdd(
        &bins[
            threadIdx.x
        ],
        c[0]);
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
    nvcuda::wmma::load_matrix_sync(
        a,
        &tile[
            8],
        16);
}
void run() { k<<<1, 32>>>(nullptr, nullptr); }
"""


def test_a_call_over_several_lines_counts_on_the_line_of_its_name() -> None:
    """nvdisasm 13.0 -gi: ATOMS.ADD inlined at line 5, LDSM at line 11."""
    found = {(a.line, str(a.kind)) for a in accesses_of(LINES)}
    assert found == {(5, "atomic"), (11, "ldmatrix")}
