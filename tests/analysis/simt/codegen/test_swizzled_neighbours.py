"""Elements of a part of a swizzled tensor, one by one (CUTLASS 4.7, nvcc 13.0.88, sm_90)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
using Element = ELEMENT;
__global__ void k(int *out, float x) {
  extern __shared__ __align__(128) char bytes[];
  auto atom = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<Element *>(bytes)), tile_to_shape(atom, Shape<_64, _128>{}));
  auto tiled = make_tiled_copy(Copy_Atom<AutoVectorizingCopyWithAssumedAlignment<128>, Element>{},
                               Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, Int<16 / sizeof(Element)>>>{});
  Tensor d = tiled.get_thread_slice(threadIdx.x).partition_D(s);
  BODY
}
void go(int *o) { k<<<1, 256, 16384>>>(o, 1.f); }
"""
READ = """bool any = false;
#pragma unroll
  for (int i = 0; i < size(d); ++i) any |= d(i);
  out[threadIdx.x] = any;"""
SCALE = """#pragma unroll
  for (int i = 0; i < size(d); ++i) d(i) = static_cast<Element>(d(i) * x);"""
SLICE = """bool any = false;
  for (int i = 0; i < 8; ++i) any |= s(threadIdx.x % 32, i * 16);
  out[threadIdx.x] = any;"""


@pytest.mark.parametrize(
    ("element", "body", "certainty", "ways"),
    [
        ("uint8_t", READ, Certainty.SAMPLED, {4.0}),  # four LDS.64
        ("half_t", SCALE, Certainty.ASSUMED, {4.0}),  # 32 LDS.U16 and 32 STS.U16
        ("uint8_t", SLICE, Certainty.ASSUMED, {4.0}),  # no neighbours
    ],
)
def test_neighbours_may_become_vectors(element, body, certainty, ways):
    found = accesses_of(KERNEL.replace("ELEMENT", element).replace("BODY", body))
    assert {a.certainty for a in found} == {certainty}
    assert {a.ways for a in found} == ways
