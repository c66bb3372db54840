"""Cooperative groups, shuffles of segments and votes, as the SASS of nvcc 13.0.88 (sm_90) has them."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import figure, kernel

HEAD = "namespace cg = cooperative_groups;"
GROUPS = (
    "auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<16>(block);"
    "cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);"
)


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("tile.shfl_xor(t, 1) * 2", 2),
        ("warp.shfl(t * 4, 31 - warp.thread_rank())", 4),
        ("warp.shfl_down(t, 1) * 8", 8),
        ("tile.thread_rank() * 32 + tile.meta_group_rank()", 16),
        ("tile.size() * tile.thread_rank()", 8),
        ("cg::thread_rank(block) * 4", 4),
        ("__shfl_sync(~0u, t, t + 1, 8) * 4", 4),
        ("__shfl_xor_sync(~0u, t, 3, 16) * 4", 4),
        ("__shfl_down_sync(~0u, t, 2, 8) * 32", 24),
        ("__shfl_up_sync(~0u, t, 2, 4) * 16", 8),
        ("__shfl_xor_sync(~0u, t * 8, 1)", 8),
        ("__popc(__ballot_sync(~0u, t & 1) & ((1u << t) - 1)) * 4", 2),
        ("__popc(__activemask() & ((1u << t) - 1)) * 2", 2),
        ("__any_sync(~0u, t == 3) * t * 2", 2),
        ("__all_sync(~0u, t == 3) * t * 2", 1),
    ],
)
def test_indexes(index, wavefronts):
    body = f"{GROUPS} g[t] = s[{index}];"
    found = [figure(a) for a in accesses_of(kernel(body, before=HEAD))]
    assert [f[3] for f in found] == [wavefronts]


@pytest.mark.parametrize(
    ("condition", "wavefronts"),
    [
        ("cg::thread_rank(block) < 4", 4),
        ("block.thread_rank() < 8", 8),
        ("__any_sync(~0u, t == 3)", 32),
        ("__ballot_sync(~0u, t < 3) == 7u && t < 5", 5),
    ],
)
def test_conditions(condition, wavefronts):
    body = f"{GROUPS} if ({condition}) s[t * 32] = 1.f;"
    found = [figure(a) for a in accesses_of(kernel(body, before=HEAD))]
    assert [f[3] for f in found] == [wavefronts]


def test_active_threads_of_an_open_condition_are_not_known():
    body = "if (g[t] > 0.f) { auto a = cg::coalesced_threads(); s[a.thread_rank() * 2] = 1.f; }"
    (access,) = accesses_of(kernel(body, before=HEAD))
    assert access.wavefronts is None


def test_active_threads_of_a_known_condition():
    body = "if (t % 2) { auto a = cg::coalesced_threads(); s[a.thread_rank() * a.size()] = 1.f; }"
    assert [figure(a) for a in accesses_of(kernel(body, before=HEAD))] == [("store", 4, 1, 8, 1)]


def test_bit_fields_are_not_priced_as_if_each_had_a_word():
    before = "struct B { unsigned a : 5; unsigned b : 11; };"
    (access,) = accesses_of(kernel("s[t].a = 3;", shared="B s[64]", before=before))
    assert access.wavefronts is None


@pytest.mark.parametrize(
    ("place", "width"),
    [
        ("block.size() + 2 * tile.thread_rank()", 4),
        ("block.size() * 2 + 2 * tile.thread_rank()", 8),
        ("cg::group_size(block) * 7 + 8 * block.thread_rank()", 4),
        ("tile.meta_group_size() + 2 * tile.thread_rank()", 4),
        ("tile.meta_group_size() * 2 + 2 * tile.thread_rank()", 8),
        ("warp.meta_group_rank() + 2 * warp.thread_rank()", 4),
        ("warp.meta_group_rank() * 2 + 2 * warp.thread_rank()", 8),
        ("warp.size() + 2 * block.thread_rank()", 8),
    ],
)
def test_what_the_block_gives_is_known_at_run_time_only(place, width):
    """nvcc 13.5.37: STS.64 where two words are aligned whatever the block is, and two STS."""
    body = f"{GROUPS} float *p = s + {place}; p[0] = t; p[1] = t; __syncthreads(); g[t] = s[t];"
    found = [a for a in accesses_of(kernel(body, before=HEAD)) if a.kind.value == "store"]
    assert {a.width_bytes for a in found if a.instructions} == {width}
