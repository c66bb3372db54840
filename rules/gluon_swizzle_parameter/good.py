"""The same with powers of two."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def even_groups(x_ptr, y_ptr):
    row: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    rows = gl.arange(0, 64, gl.SliceLayout(1, row))[:, None]
    columns = gl.arange(0, 64, gl.SliceLayout(0, row))[None, :]
    x = gl.load(x_ptr + rows * 64 + columns)
    layout: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [64, 64], layout)
    tile.store(x)
    gl.store(y_ptr + rows * 64 + columns, tile.load(row))
