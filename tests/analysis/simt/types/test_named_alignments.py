"""`alignas` of a number that has a name: a static member of a class looks like a type."""

from __future__ import annotations

import pytest
from conftest import accesses_of

HEAD = """
template <class T> struct Is { static constexpr int v = 4; };
template <> struct Is<short> { static constexpr int v = 16; };
"""


@pytest.mark.parametrize(
    ("row", "ways"),
    [
        ("Row { alignas(Is<T>::v) T x[6]; }", 4.0),
        ("alignas(Is<T>::v) Row { T x[6]; }", 4.0),
        ("alignas(Is<char>::v) Row { T x[6]; }", 1.0),
        ("alignas(Is<char>::v * 4) Row { T x[6]; }", 4.0),
        ("alignas(int4) Row { T x[6]; }", 4.0),
        ("alignas(T) Row { T x[6]; }", 1.0),
    ],
)
def test_the_stride_of_aligned_rows(row, ways):
    """32 lanes store 2 bytes each, 12 or 16 bytes apart."""
    text = f"""{HEAD}template <class T> struct {row};
template <class T> __global__ void k(const T *g) {{
  __shared__ Row<T> tile[64];
  tile[threadIdx.x].x[0] = g[0];
}}
void run(short *g) {{ k<short><<<1, 32>>>(g); }}
"""
    (store,) = accesses_of(text)
    assert store.wavefronts.mean == ways


@pytest.mark.parametrize(
    "row",
    [
        "alignas(Unread) Row { T x[6]; }",
        "alignas(UNREAD) Row { T x[6]; }",
        "alignas(Unread) Row {}",  # was an internal error that lost the kernel
        "Row { char c; alignas(UNREAD) T x[6]; }",
    ],
)
def test_an_alignment_that_is_not_known_leaves_the_stride_open(row):
    """Rows of 12 bytes, if no alignment were asked for."""
    text = f"""template <class T> struct {row};
template <class T> __global__ void k(const T *g) {{
  __shared__ Row<T> tile[64];
  __shared__ T after[64];
  tile[threadIdx.x] = Row<T>();
  after[threadIdx.x] = g[0];
}}
void run(short *g) {{ k<short><<<1, 32>>>(g); }}
"""
    figures = {a.array.name: a.wavefronts for a in accesses_of(text) if a.array is not None}
    assert figures["tile"] is None
    assert figures["after"] is not None
