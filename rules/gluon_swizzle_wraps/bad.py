"""Rows of 32 float16 have four groups of 8, not eight."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def short_rows(x_ptr, y_ptr):
    row: gl.constexpr = gl.BlockedLayout([1, 8], [32, 1], [4, 1], [1, 0])
    rows = gl.arange(0, 128, gl.SliceLayout(1, row))[:, None]
    columns = gl.arange(0, 32, gl.SliceLayout(0, row))[None, :]
    x = gl.load(x_ptr + rows * 32 + columns)
    layout: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])  # ~ SML211 acts as 4
    tile = gl.allocate_shared_memory(gl.float16, [128, 32], layout)
    tile.store(x)  # ~ SML101 8/4
    gl.store(y_ptr + rows * 32 + columns, tile.load(row))  # ~ SML101 8/4
