"""CuTe's `for_each` and `transform` over tuples: the lambda runs once for each entry.

They were passed over without a word: what the lambda did to shared memory was missing, and a
transformed tuple was the number 0. Addresses are those that follow from the kernel's text.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k() {
  __shared__ alignas(16) float a[2048];
  BODY
}
int main() { k<<<1, 32>>>(); }
"""
STORE = "[&](auto i) { a[32 * threadIdx.x + 64 * i] = 1.f; }"


@pytest.mark.parametrize(
    ("sequence", "count"),
    [
        ("make_seq<3>{}", 3),
        ("make_int_sequence<2>{}", 2),
        ("make_range<1, 5>{}", 4),
        ("make_tuple(0, 2)", 2),
        ("Shape<_0, _3, _5>{}", 3),
    ],
)
def test_a_lambda_stores_once_for_each_entry(sequence, count):
    """All lanes are 32 words apart: one bank."""
    facts = facts_of(KERNEL.replace("BODY", f"cute::for_each({sequence}, {STORE});"))
    stores = {(a.span.line, a.instructions, a.ways) for k in facts.kernels for a in k.accesses}
    assert stores == {(5, count, 32.0)}


def test_copies_in_a_lambda_are_those_of_each_entry():
    body = """Tensor s = make_tensor(make_smem_ptr(a), Layout<Shape<_32, _64>>{});
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                               Layout<Shape<_8, _4>>{}, Layout<Shape<_4, _1>>{});
  auto part = tiled.get_slice(threadIdx.x).partition_D(s);
  Tensor r = make_fragment_like(part);
  for_each(make_seq<4>{}, [&](auto n) { copy(tiled, r(_, _, n), part(_, _, n)); });"""
    (access,) = accesses_of(KERNEL.replace("BODY", body))
    assert (access.width_bytes, access.instructions, access.ways) == (16, 4, 1.0)


def test_a_transformed_shape_is_a_tuple():
    """Twice (4, 16) is (8, 32): a lane's column is its thread over 8, in words 8 apart."""
    body = """auto shape = transform(Shape<_4, _16>{}, [](auto n) { return n * _2{}; });
  Tensor s = make_tensor(make_smem_ptr(a), make_layout(shape));
  s(threadIdx.x % 8, 4 * (threadIdx.x / 8)) = 1.f;"""
    (access,) = accesses_of(KERNEL.replace("BODY", body))
    assert access.ways == 4.0


def test_what_is_no_lambda_or_no_tuple_is_noted():
    for arguments in (
        f"sequence_of_elsewhere(), {STORE}",
        f"make_seq<Elsewhere::n>{{}}, {STORE}",
        "make_seq<2>{}, Functor{a}",
    ):
        facts = facts_of(KERNEL.replace("BODY", f"cute::for_each({arguments});"))
        assert [n.span.line for k in facts.kernels for n in k.not_analysed] == [5]


@pytest.mark.parametrize(
    ("operation", "ways"),
    [
        ("SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>", 2.0),
        ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", 4.0),
        ("UniversalCopy<uint128_t>", 4.0),
    ],
)
@pytest.mark.parametrize("question", ["declval<typename decltype(t)::Traits>()", "t"])
def test_copies_that_write_zeros_take_a_predicate(operation, ways, question):
    """CUTLASS 4.7, `copy_traits_sm80.hpp`: `with(bool)` is of the ZFILL copies."""
    body = f"""Copy_Atom<{operation}, float> atom;
  auto has_with = cute::is_valid([](auto t)->void_t<decltype({question}.with(true))>{{}}, atom);
  if constexpr (has_with) a[2 * threadIdx.x] = 1.f; else a[4 * threadIdx.x] = 1.f;"""
    (access,) = accesses_of(KERNEL.replace("BODY", body))
    assert access.ways == ways


def test_another_question_whether_an_expression_is_valid_is_open():
    body = """Copy_Atom<UniversalCopy<uint128_t>, float> atom;
  auto has = cute::is_valid([](auto t)->void_t<decltype(t.other())>{}, atom);
  if constexpr (has) a[2 * threadIdx.x] = 1.f; else a[4 * threadIdx.x] = 1.f;"""
    assert [a.wavefronts for a in accesses_of(KERNEL.replace("BODY", body))] == [None, None]
