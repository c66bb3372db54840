"""Copies of single elements of a swizzled tensor by one thread or by all."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of

from smemlint.analysis.simt.cute import partial_merging
from smemlint.analysis.simt.cute.partial_merging import merged_partly
from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.layout.cute import Instruction, Layout, Tensor

_THREADS = 128
_TENSOR = Tensor(Layout((64, 64), (64, 1)), 16, np.int64(0))


@pytest.fixture
def prices(monkeypatch):
    """Counts what is priced."""
    counted: list[int] = []
    real = partial_merging.wavefronts

    def wavefronts(addresses, **given):
        counted.append(given["width"])
        return real(addresses, **given)

    monkeypatch.setattr(partial_merging, "wavefronts", wavefronts)
    return counted


def _halves(starts: list[int | np.ndarray]) -> list[tuple[Instruction, AffineInt]]:
    """Eight neighbouring halves from each start on."""
    halves = [start + 2 * k for start in starts for k in range(8)]
    return [(Instruction("load", 2, 0, _TENSOR), AffineInt(at, I64)) for at in halves]


def test_vectors_of_one_thread_are_priced_once_a_bank(prices):
    mask = np.arange(_THREADS) == 0
    found = merged_partly(_halves([16 * k for k in range(512)]), lambda tensor: True, mask)
    assert [(i.width, offset.base) for i, offset, _ in found] == [(16, 16 * k) for k in range(512)]
    assert not any(parts for _, _, parts in found)
    assert len(prices) == 128 // 16 * (8 + 4 + 2 + 1)  # banks, times the places of each width


def test_lanes_that_are_apart_otherwise_are_priced_anew(prices):
    """128 bytes apart all lanes share a bank at each width; 16 bytes apart it hangs on the width.

    Single halves of lanes 16 bytes apart are 4-way: 32 lanes in 8 of 32 banks. A vector is free.
    """
    mask = np.ones(_THREADS, dtype=bool)
    lanes = np.arange(_THREADS)
    in_rows, in_columns = 16 * lanes, 128 * lanes
    found = merged_partly(_halves([in_columns, in_rows]), lambda tensor: True, mask)
    assert len(prices) == 2 * (8 + 4 + 2 + 1)
    assert [i.width for i, _, _ in found] == [16, 16]
    assert [[i.width for i, _ in parts] for _, _, parts in found] == [[2] * 8, [2] * 8]


def test_elements_of_a_chunk_that_several_calls_copy_are_no_narrow_accesses():
    """LDS.128 of 8 wavefronts, ideal 4 (nvcc 13.5, sm_90a), not LDS of 2: rows of 64 bytes."""
    text = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float *o) {
  __shared__ __align__(128) float bytes[64 * 16];
  using Rows = Layout<Shape<_64, _16>, Stride<_16, _1>>;
  Tensor s = make_tensor(make_smem_ptr(bytes), composition(Swizzle<2, 2, 2>{}, Rows{}));
  auto mma = make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8>>{});
  auto tiled = make_tiled_copy_A(Copy_Atom<UniversalCopy<float>, float>{}, mma);
  auto mine = tiled.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(s);
  Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  Tensor to = mine.retile_D(r);
  CUTE_UNROLL
  for (int i = 0; i < size<2>(from); ++i) copy(tiled, from(_, _, i), to(_, _, i));
  o[threadIdx.x] = r(threadIdx.y);
}
void go(float *o) { k<<<1, 64>>>(o); }
"""
    (access,) = accesses_of(text)
    assert (access.width_bytes, access.wavefronts.mean, access.ideal.mean) == (16, 8, 4)
    assert not access.certainty.is_decided
