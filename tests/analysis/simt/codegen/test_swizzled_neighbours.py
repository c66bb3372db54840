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


GUARDED = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(const ELEMENT *g, ELEMENT *o, int most, int columns, int stride) {
  __shared__ alignas(128) ELEMENT smem[64 * 64];
  auto atom = LAYOUT;
  Tensor s = make_tensor(make_smem_ptr(smem), tile_to_shape(atom, Shape<_64, _64>{}));
  Tensor global = make_tensor(make_gmem_ptr(g), Shape<_64, _64>{}, make_stride(stride, _1{}));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, ELEMENT>{},
                               Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, Int<16 / sizeof(ELEMENT)>>>{});
  auto part = tiled.get_thread_slice(threadIdx.x);
  Tensor I = part.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  Tensor S = part.partition_S(global);
  Tensor D = part.partition_D(s);
  Tensor R = make_tensor_like(S);
  Tensor P = make_tensor<bool>(Shape<Int<size<2>(S)>>{});
  for (int i = 0; i < size(P); ++i) P(i) = get<1>(I(0, 0, i)) < columns;
  for (int i = 0; i < size(R); ++i) R(i) = ELEMENT(0);
#pragma unroll
  for (int i = 0; i < size<2>(S); ++i) {
#pragma unroll
    for (int m = 0; m < size<1>(S); ++m) {
      const bool ok = get<0>(I(0, m, 0)) < most;
#pragma unroll
      for (int n = 0; n < size<0>(S); ++n) {
        BODY
      }
    }
  }
  for (int i = 0; i < size(R); ++i) part.partition_D(make_tensor(make_gmem_ptr(o), Shape<_64, _64>{}, make_stride(stride, _1{})))(i) = R(i);
}
void go(const ELEMENT *g, ELEMENT *o, int n) { k<<<1, 128>>>(g, o, n, n, n); }
"""
ROWS = "Layout<Shape<_8, _64>, Stride<_64, _1>>{}"
LAYOUTS = [ROWS, f"composition(Swizzle<3, 3, 3>{{}}, {ROWS})"]


def guarded(element: str, layout: str, body: str) -> set[tuple[int, float | None, bool]]:
    """Widths of the accesses in a loop, their ways at most, and whether a figure is a range."""
    text = GUARDED.replace("ELEMENT", element).replace("LAYOUT", layout).replace("BODY", body)
    line = text[: text.index(body)].count("\n") + 1
    found = [a for a in accesses_of(text) if a.span.line == line]
    return {(a.width_bytes, a.ways, a.certainty is Certainty.SAMPLED) for a in found}


@pytest.mark.parametrize("element", ["half_t", "float"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "body",
    [
        "if (P(i) && ok) D(n, m, i) = S(n, m, i);",
        "if (P(i)) { if (ok) { D(n, m, i) = S(n, m, i); } }",
        "if (get<0>(I(n, m, i)) < most) D(n, m, i) = S(n, m, i);",
        "if (elem_less(I(n, m, i), make_coord(most, 64))) D(n, m, i) = S(n, m, i);",
        "if (P(i) && ok) R(n, m, i) = D(n, m, i);",
    ],
)
def test_elements_on_a_condition_may_be_vectors(element: str, layout: str, body: str) -> None:
    """Each is an STS.128 or LDS.128 for 16 bytes (CUTLASS 4.7, nvcc 13.5, sm_90)."""
    assert {is_range for _, _, is_range in guarded(element, layout, body)} == {True}


@pytest.mark.parametrize("element", ["half_t", "float"])
def test_elements_on_a_condition_of_their_row_are_one_vector(element: str) -> None:
    for body in ("if (ok) D(n, m, i) = S(n, m, i);", "if (ok) R(n, m, i) = D(n, m, i);"):
        assert guarded(element, ROWS, body) == {(16, 1.0, False)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_that_another_way_clears_stay_single(layout: str) -> None:
    """Two STS.U16 for each half (CUTLASS 4.7, nvcc 13.5, sm_90)."""
    body = "if (P(i) && ok) D(n, m, i) = S(n, m, i); else D(n, m, i) = half_t(0);"
    assert guarded("half_t", layout, body) == {(2, 4.0, False)}
