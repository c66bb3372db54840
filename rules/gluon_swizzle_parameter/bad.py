"""Parameters that Triton 3.9.0 accepts silently."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def odd_groups(x_ptr, y_ptr):  # ~ SML901 `odd_groups`, 3 undecided
    row: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    rows = gl.arange(0, 64, gl.SliceLayout(1, row))[:, None]
    columns = gl.arange(0, 64, gl.SliceLayout(0, row))[None, :]
    x = gl.load(x_ptr + rows * 64 + columns)
    layout: gl.constexpr = gl.SwizzledSharedLayout(3, 1, 8, [1, 0])  # ~ SML210 `vec`
    tile = gl.allocate_shared_memory(gl.float32, [64, 64], layout)
    phases: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 3, [1, 0])  # ~ SML210 `max_phase`
    other = gl.allocate_shared_memory(gl.float32, [64, 64], phases)
    other.store(x)
    tile.store(x)
    gl.store(y_ptr + rows * 64 + columns, tile.load(row))
