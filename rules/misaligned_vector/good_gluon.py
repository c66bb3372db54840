"""Four floats: rows of 272 bytes."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x_ptr, y_ptr):
    stored: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 4]], [64, 64], [1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [64, 64], shared)
    tile.store(gl.full([64, 64], 1.0, gl.float32, stored))
