"""Columns of rows that no swizzle parts."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x_ptr, y_ptr):
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    row: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [32, 32], shared)
    tile.store(gl.full([32, 32], 1.0, gl.float32, row))
    gl.barrier()
    total = gl.sum(tile.load(column), 1)  # ~ SML101 32/1
    gl.store(y_ptr + gl.arange(0, 32, gl.SliceLayout(1, column)), total)
