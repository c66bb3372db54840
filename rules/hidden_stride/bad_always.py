"""No launch tells the strides, and neither of `b` can ever be known to be 1."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["sbk"])
def product(
    a_ptr, b_ptr, c_ptr, K, sa, sbk, sbn: int, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    depth = tl.arange(0, BK)
    a_tile = a_ptr + rows[:, None] * sa + depth[None, :]
    b_tile = b_ptr + depth[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total += tl.dot(a, b)  # ~ SML503 in `do_not_specialize` and `sbn` is annotated `int`
        a_tile += BK
        b_tile += BK * sbk
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


def run(a, b, c):
    strides = a.stride(0), b.stride(0), b.stride(1)
    product[(1,)](a, b, c, a.shape[1], *strides, M=128, N=128, BK=64)
