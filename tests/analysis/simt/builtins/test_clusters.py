"""Distributed shared memory: another block's is said, a block's own is followed."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.reasons import ReasonCode

KERNEL = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) k(float *out) {{
    __shared__ float tile[2048];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    tile[threadIdx.x] = out[threadIdx.x];
    cluster.sync();
    float *there = cluster.map_shared_rank(tile, {rank});
    out[threadIdx.x] = there[threadIdx.x * 32];
    cluster.sync();
}}
void run(float *out) {{ k<<<2, 64>>>(out); }}
"""


@pytest.mark.parametrize("rank", ["rank ^ 1", "(rank + 1) % cluster.num_blocks()", "0"])
def test_another_blocks_memory_is_said(rank: str) -> None:
    (kernel,) = facts_of(KERNEL.format(rank=rank)).kernels
    assert [(str(a.kind), a.ways) for a in kernel.accesses] == [("store", 1.0)]
    noted = [(n.span.line, n.reason.code) for n in kernel.not_analysed]
    assert noted == [(10, ReasonCode.NOT_MODELLED)]


def test_ones_own_is_followed() -> None:
    (kernel,) = facts_of(KERNEL.format(rank="rank")).kernels
    assert [(str(a.kind), a.ways) for a in kernel.accesses] == [("store", 1.0), ("load", 32.0)]
    assert kernel.not_analysed == ()
