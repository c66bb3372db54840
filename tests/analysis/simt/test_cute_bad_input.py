"""CuTe code that does not divide, is known at run time only, or names atoms that nobody knows."""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
KERNEL = (
    HEAD
    + """
__global__ void k(float const *in, float *out, int n) {
  __shared__ __align__(128) float data[8192];
  auto layout = LAYOUT;
  Tensor s = make_tensor(make_smem_ptr(data), layout);
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_64{}, _64{}), make_stride(n, _1{}));
  BODY
}
void launch(float *p, int n) { k<<<1, 128>>>(p, p, n); }
"""
)
ROWS = "make_layout(make_shape(_64{}, _64{}), make_stride(_64{}, _1{}))"
TILED = """
  auto tiled = make_tiled_copy(Copy_Atom<ATOM, float>{}, THREADS{}, VALUES{});
  auto mine = tiled.get_slice(threadIdx.x);
  copy(tiled, mine.partition_S(s), mine.partition_D(g));
"""


def tiled(
    atom: str = "UniversalCopy<float>",
    threads: str = "Layout<Shape<_16, _8>>",
    values: str = "Layout<Shape<_1, _1>>",
) -> str:
    return TILED.replace("ATOM", atom).replace("THREADS", threads).replace("VALUES", values)


def reasons(layout: str, body: str) -> list[tuple[int, str, ReasonCode]]:
    """The line, the outermost call and the code of every reason; all accesses are decided."""
    text = KERNEL.replace("LAYOUT", layout).replace("BODY", body)
    kernels = facts_of(text).kernels
    assert not any(k.accesses for k in kernels)
    found = []
    for note in (n for k in kernels for n in k.not_analysed):
        name = re.search(r"`([^`]+)`", note.reason.text)
        assert name is not None, note.reason.text
        found.append((note.span.line, name[1], note.reason.code))
    return found


def test_the_same_kernel_is_decided_without_a_fault():
    text = KERNEL.replace("LAYOUT", ROWS).replace("BODY", tiled())
    assert [(a.width_bytes, a.instructions) for a in accesses_of(text)] == [(4, 128)]


NOT_MODELLED, NOT_DECLARED = ReasonCode.NOT_MODELLED, ReasonCode.NOT_DECLARED
UNKNOWN_TYPE = ReasonCode.UNKNOWN_TYPE


@pytest.mark.parametrize(
    ("layout", "body", "call", "code"),
    [
        ("tile_to_shape(Layout<Shape<_8, _64>>{}, Shape<Int<100>, _64>{})", tiled(), "copy",
         NOT_MODELLED),
        ("composition(Layout<Shape<_6, _64>>{}, Layout<_4, _4>{})", tiled(), "copy", NOT_MODELLED),
        ("composition(Swizzle<3, 4, 3>{}, make_shape(n, _64{}))", tiled(), "copy", NOT_MODELLED),
        (f"composition(Swizzle<3, 3, 1>{{}}, {ROWS})", tiled(), "copy", UNKNOWN_TYPE),
        (f"composition(nowhere::Swizzled{{}}, {ROWS})", tiled(), "copy", UNKNOWN_TYPE),
        ("Layout<Shape<_0, _64>>{}", tiled(), "copy", UNKNOWN_TYPE),
        ("nowhere::layout(threadIdx.x)", tiled(), "copy", NOT_MODELLED),
        (ROWS, tiled(atom="SM999_U32x4_FANCY_N"), "copy", UNKNOWN_TYPE),
        (ROWS, tiled("SM75_U32x4_LDSM_N", "Layout<Shape<_5, _3>>"), "copy", NOT_MODELLED),
        (ROWS, "gemm(make_tiled_mma(SM999_16x8x16_TN{}), s, s, s);", "gemm", UNKNOWN_TYPE),
        (ROWS, "copy(nobody(s), g);", "copy", NOT_DECLARED),
        (ROWS, "copy(s(_, n, _, _), g);", "copy", NOT_MODELLED),
        ("make_layout(make_shape(_64{}, _64{}), make_stride(_64{}, _1{}), Swizzle<3, 2, 3>{})",
         "s(threadIdx.x, 0) = in[0];", "s(..)", NOT_MODELLED),
        ("nowhere::layout(threadIdx.x)", "Tensor t = s(_, 0); t(threadIdx.x) = in[0];", "t(..)",
         NOT_MODELLED),
        ("nowhere::layout(threadIdx.x)",
         "Tensor t = local_tile(s, Shape<_8, _8>{}, make_coord(0, 0)); out[0] = t(threadIdx.x);",
         "t(..)", NOT_MODELLED),
    ],
)  # fmt: skip
def test_what_does_not_compile_or_is_not_known_is_noted_at_its_call(layout, body, call, code):
    line = 12 if body.startswith("\n") else 9
    found = reasons(layout, body)
    assert (line, call, code) in found
    assert {at for at, _, _ in found} == {line}


@pytest.mark.parametrize(
    "body",
    [
        "auto bulk = Copy_Traits<SM90_BULK_COPY_AUTO>{}; copy(bulk.with(data), g, s);",
        "auto bulk = Copy_Atom<SM90_BULK_COPY_AUTO, Unread>{}; copy(bulk.with(data), g, s);",
        "copy(Copy_Traits<SM90_BULK_COPY_AUTO>{}, s, g);",
    ],
)
def test_a_bulk_copy_has_no_lane_addresses_whatever_it_moves(body):
    text = KERNEL.replace("LAYOUT", ROWS).replace("BODY", body)
    notes = [note for kernel in facts_of(text).kernels for note in kernel.not_analysed]
    assert [(note.span.line, note.reason.code) for note in notes] == [(9, ReasonCode.NO_LANES)]
