"""The row's stride may be annotated: that it is a multiple of 16 is known all the same."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    sa,
    sak,
    sbk: tl.int64,
    sbn,
    sc,
    M: tl.constexpr,
    N: tl.constexpr,
    BK: tl.constexpr,
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    depth = tl.arange(0, BK)
    a_tile = a_ptr + rows[:, None] * sa + depth[None, :] * sak
    b_tile = b_ptr + depth[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total += tl.dot(a, b)
        a_tile += BK * sak
        b_tile += BK * sbk
    tl.store(c_ptr + rows[:, None] * sc + columns[None, :], total)


def run(m, n, k):
    a = torch.empty((m, k), device="cuda", dtype=torch.float16)
    b = torch.empty((k, n), device="cuda", dtype=torch.float16)
    c = torch.empty((m, n), device="cuda", dtype=torch.float32)
    strides = a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0)
    product[(1,)](a, b, c, k, *strides, M=128, N=128, BK=64, num_stages=3)
