"""The picture of a CuTe finding: lanes by row and chunk, in the layout's coordinates."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.lint.thread_values import thread_values

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
KERNEL = (
    HEAD
    + """
__global__ void k(float *out) {
  __shared__ __align__(128) float data[4096];
  Tensor s = make_tensor(make_smem_ptr(data), LAYOUT);
  out[threadIdx.x] = s(ROW, COLUMN);
}
void launch(float *p) { k<<<1, 32>>>(p); }
"""
)


def picture(layout: str, row: str, column: str):
    text = KERNEL.replace("LAYOUT", layout).replace("ROW", row).replace("COLUMN", column)
    (access,) = accesses_of(text)
    assert access.worst is not None
    return thread_values(access, access.worst)


@pytest.mark.parametrize(
    ("layout", "banks"),
    [
        ("make_layout(make_shape(_32{}, _32{}), make_stride(_32{}, _1{}))", [5] * 32),
        ("make_layout(make_shape(_32{}, _32{}), make_stride(Int<33>{}, _1{}))",
         [(5 + r) % 32 for r in range(32)]),
        ("composition(Swizzle<5, 0, 5>{}, make_layout(make_shape(_32{}, _32{}), "
         "make_stride(_32{}, _1{})))", [5 ^ r for r in range(32)]),
        ("make_layout(make_shape(make_shape(_8{}, _4{}), _32{}), "
         "make_stride(make_stride(_32{}, Int<256>{}), _1{}))", [5] * 32),
    ],
)  # fmt: skip
def test_a_column_is_one_chunk_of_every_row(layout, banks):
    values = picture(layout, "threadIdx.x", "5")
    assert values is not None
    assert values.lanes == {(lane, 5): (lane,) for lane in range(32)}
    assert [values.banks[row, 5] for row in range(32)] == banks
    assert (values.rows, values.columns) == (list(range(32)), range(5, 6))


def test_lanes_that_share_an_element_share_a_chunk():
    layout = "make_layout(make_shape(_32{}, _32{}), make_stride(_32{}, _1{}))"
    values = picture(layout, "threadIdx.x / 8", "threadIdx.x / 4 % 2")
    assert values is not None
    assert values.lanes[3, 1] == (28, 29, 30, 31)
    assert len(values.lanes) == 8


def test_rows_of_a_column_major_layout_are_columns():
    """The contiguous mode is the row, whichever mode it is."""
    values = picture("make_layout(make_shape(_32{}, _32{}))", "3", "threadIdx.x")
    assert values is not None
    assert values.lanes == {(lane, 3): (lane,) for lane in range(32)}


def test_a_layout_of_one_mode_has_no_rows():
    text = KERNEL.replace("LAYOUT", "Layout<_1024>{}").replace("ROW, COLUMN", "threadIdx.x")
    (access,) = accesses_of(text)
    assert access.worst is not None
    values = thread_values(access, access.worst)
    assert values is None
