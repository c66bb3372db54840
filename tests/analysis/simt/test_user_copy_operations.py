"""Copy operations of a user's own: `Copy_Traits` that states layouts, `copy` in inline PTX."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
struct MyOp {
  using SRegisters = %(source)s;
  using DRegisters = %(destination)s;
  template <class S, class D> __device__ static void copy(S const &src, D &dst) {
    uint32_t at = cast_smem_ptr_to_uint(&%(memory)s);
    asm volatile("%(asm)s" : "=r"(dst) : "r"(at), "l"(&src), "n"(16));
  }
};
namespace cute {
template <> struct Copy_Traits<MyOp> {
  using ThrID = Layout<%(threads)s>;
  using SrcLayout = %(src)s;
  using DstLayout = %(dst)s;
  using RefLayout = %(ref)s;
};
}
__global__ void k(half_t const *in, float *o) {
  extern __shared__ __align__(128) half_t buffer[];
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(buffer), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4, _1, _1>>{});
  %(copy)s
}
void go(half_t *in, float *o) { k<<<1, 128, 65536>>>(in, o); }
"""
OPERAND = """auto load = make_tiled_copy_A(Copy_Atom<MyOp, half_t>{}, mma);
  auto mine = load.get_slice(threadIdx.x);
  Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(load, mine.partition_S(s), mine.retile_D(r));"""
TILE = """auto tile = make_tiled_copy(Copy_Atom<MyOp, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                              Layout<Shape<_1, _8>>{});
  auto mine = tile.get_slice(threadIdx.x);
  copy(tile, mine.partition_S(g), mine.partition_D(s));"""
WORDS = """auto tile = make_tiled_copy(Copy_Atom<MyOp, half_t>{}, Layout<Shape<_64, _2>>{},
                              Layout<Shape<_1, _2>>{});
  auto mine = tile.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(s);
  Tensor r = make_fragment_like(from);
  copy(tile, from, r);"""
PER_THREAD = "Layout<Shape<_1, Int<%d>>>"
LDMATRIX = {
    "source": "uint128_t[1]",
    "destination": "uint32_t[4]",
    "memory": "src",
    "threads": "_32",
    "src": "Layout<Shape<_32, _128>, Stride<_128, _1>>",
    "dst": "Layout<Shape<_32, Shape<_32, _4>>, Stride<_32, Stride<_1, _1024>>>",
    "ref": "DstLayout",
    "asm": "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %0, %0, %0}, [%1];",
    "copy": OPERAND,
}
CP_ASYNC = {
    "source": "uint128_t[1]",
    "destination": "uint128_t[1]",
    "memory": "dst",
    "threads": "_1",
    "src": PER_THREAD % 128,
    "dst": PER_THREAD % 128,
    "ref": "SrcLayout",
    "asm": "cp.async.cg.shared.global.L2::128B [%1], [%2], %3;",
    "copy": TILE,
}
LOAD = {
    **CP_ASYNC,
    "source": "uint32_t[1]",
    "destination": "uint32_t[1]",
    "memory": "src",
    "src": PER_THREAD % 32,
    "dst": PER_THREAD % 32,
    "asm": "ld.shared.b32 %0, [%1];",
    "copy": WORDS,
}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # Rows of 64 halves: all 8 rows of a matrix begin in one bank. 16 a warp, 4 warps.
        (LDMATRIX, ("ldmatrix", 16, 16, 8.0)),
        # 8 threads write one row of 128 bytes.
        (CP_ASYNC, ("async_copy", 16, 16, 1.0)),
        # 32 lanes read a column.
        (LOAD, ("load", 4, 64, 32.0)),
    ],
)
def test_instruction_is_that_of_the_users_assembly(parts, expected):
    (a,) = accesses_of(KERNEL % parts)
    assert (str(a.kind), a.width_bytes, a.instructions, a.ways) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"asm": "ld.shared.v2.b32 {%0, %0}, [%1];"},  # 8 bytes into registers of 4
        {"asm": "ld.shared.b32 %0, [%1]; ld.shared.b32 %0, [%1+4];"},
        {"asm": "prefetch.global.L2 [%1];"},
        {"source": "Unread"},
        {"src": "Unread"},
    ],
)
def test_operation_is_left_out_with_a_note_where_it_is_not_known(change):
    facts = facts_of(KERNEL % {**LOAD, **change})
    assert not [a for kernel in facts.kernels for a in kernel.accesses]
    assert ReasonCode.UNKNOWN_TYPE in {n.reason.code for k in facts.kernels for n in k.not_analysed}
