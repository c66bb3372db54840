"""Two rows to a phase: all 32 banks take part."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def paired_rows(x_ptr, y_ptr):
    row: gl.constexpr = gl.BlockedLayout([1, 8], [32, 1], [4, 1], [1, 0])
    rows = gl.arange(0, 128, gl.SliceLayout(1, row))[:, None]
    columns = gl.arange(0, 32, gl.SliceLayout(0, row))[None, :]
    x = gl.load(x_ptr + rows * 32 + columns)
    layout: gl.constexpr = gl.SwizzledSharedLayout(8, 2, 4, [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [128, 32], layout)
    tile.store(x)
    gl.store(y_ptr + rows * 32 + columns, tile.load(row))
