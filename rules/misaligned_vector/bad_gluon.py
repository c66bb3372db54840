"""A float behind every 64: rows of 260 bytes, and 16-byte stores."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x_ptr, y_ptr):
    stored: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 1]], [64, 64], [1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [64, 64], shared)
    tile.store(gl.full([64, 64], 1.0, gl.float32, stored))  # ~ SML301 misaligned 16-byte access
