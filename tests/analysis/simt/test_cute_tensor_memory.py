"""Tensor memory in CuTe C++: which thread loads a row of an accumulator, and stores it."""

from __future__ import annotations

import pytest
from conftest import facts_of

EPILOGUE = """#include <cute/tensor.hpp>
using namespace cute;
template <class Mma, class Out, class Layout_>
__global__ void k(Mma tiled_mma, Out out, Layout_ layout) {
  __shared__ alignas(1024) half_t a[128 * 64];
  __shared__ alignas(1024) half_t b[64 * 64];
  __shared__ alignas(1024) float c[128 * 32];
  __shared__ uint64_t barrier[2];
  __shared__ uint32_t base;
  auto a_shape = partition_shape_A(tiled_mma, Shape<Int<ROWS>, _64>{});
  Tensor sA = make_tensor(make_smem_ptr(a), UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, a_shape));
  Tensor sB = make_tensor(make_smem_ptr(b), UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{},
      partition_shape_B(tiled_mma, Shape<Int<COLUMNS>, _64>{})));
  Tensor sC = make_tensor(make_smem_ptr(c), layout);
  ThrMMA mine = tiled_mma.get_slice(blockIdx.x % size(typename Mma::AtomThrID{}));
  Tensor g = mine.partition_C(out);
  Tensor acc = mine.make_fragment_C(g);
  if (elect_one_sync()) {
    initialize_barrier(barrier[0], 1);
    gemm(tiled_mma, mine.make_fragment_A(sA)(_, _, 0), mine.make_fragment_B(sB)(_, _, 0), acc);
    cutlass::arch::umma_arrive(&barrier[0]);
  }
  wait_barrier(barrier[0], 0);
  acc.data() = base;
  Tensor tiles = zipped_divide(acc, make_tile(Shape<_128, _32>{}));
  print(sC);
  TiledCopy load = make_tmem_copy(SM100_TMEM_LOAD_32dp32bCOLUMNSx{}, tiles(_, _0{}));
  auto lane = load.get_slice(threadIdx.x);
  Tensor to = lane.partition_D(sC);
  Tensor r = make_fragment_like(to);
  for (int i = 0; i < size<1>(tiles); ++i) {
    copy(load, lane.partition_S(tiles)(_, _, i), r);
    copy_aligned(r, to);
    __syncthreads();
  }
}
void go(float *p) {
  auto mma = make_tiled_mma(OP<half_t, half_t, float, ROWS, COLUMNS, UMMA::Major::K, UMMA::Major::K>{});
  Tensor out = make_tensor(make_gmem_ptr(p), make_shape(Int<ROWS>{}, Int<COLUMNS>{}), make_stride(Int<COLUMNS>{}, _1{}));
  k<<<2, 128>>>(mma, out, group<0, 2>(LAYOUT));
}
"""
SWIZZLED = "tile_to_shape(UMMA::Layout_K_SW128_Atom<float>{}, Shape<_128, _32>{})"
PLAIN = "make_layout(Shape<_128, _32>{}, make_stride(_32{}, _1{}))"


@pytest.mark.parametrize(
    ("op", "rows"), [("SM100_MMA_F16BF16_SS", 128), ("SM100_MMA_F16BF16_2x1SM_SS", 256)]
)
@pytest.mark.parametrize("columns", ["1", "4", "32"])
@pytest.mark.parametrize(("layout", "wavefronts"), [(SWIZZLED, 4), (PLAIN, 32)])
def test_rows_of_an_accumulator_stored_by_128_threads(op, rows, columns, layout, wavefronts):
    """A thread holds a row of 32 floats, 8 vectors of 16 bytes; 4 warps, and 2 tiles of 32 columns."""
    text = EPILOGUE.replace("bCOLUMNSx", f"b{columns}x").replace("COLUMNS", "64")
    text = text.replace("ROWS", str(rows)).replace("OP<", f"{op}<").replace("LAYOUT", layout)
    (kernel,) = facts_of(text).kernels
    found = [
        (str(a.kind), a.width_bytes, a.instructions, a.worst.wavefronts, a.worst.ideal)
        for a in kernel.accesses
        if a.array.name != "base"
    ]
    assert found == [("store", 16, 2 * 8 * 4, wavefronts, 4)]
    assert {n.reason.code.value for n in kernel.not_analysed} == {"no-lanes"}
