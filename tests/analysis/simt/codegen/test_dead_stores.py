"""Stores that the same thread overwrites, and accesses on both sides of a loop over registers.

Instructions and widths of a warp as in the SASS of nvcc 13.0.88 -O3 for sm_90.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import kernel

from smemlint.facts import AccessKind, Certainty

PARAMS = "const float *in, float *o, int n"


def issued(kind: AccessKind, body: str, shared: str = "float s[512]") -> list[tuple[int, int]]:
    """Returns (instructions, bytes of a lane) of each place of the source with accesses of a kind."""
    found = accesses_of(kernel(body, shared=shared, params=PARAMS))
    return [(a.instructions, a.width_bytes) for a in found if a.kind is kind]


@pytest.mark.parametrize(
    ("between", "instructions"),
    [
        ("float v = in[n];", 0),
        ("float v = n > 64 ? 2.f : 1.f;", 0),  # a select
        ("float v = t > n ? in[t + n] : 0.f;", 1),  # a branch around the load
        ("float v = 0; if (t > n) v = in[t + n];", 1),
        ("float v = 1; for (int j = 0; j < n; j++) v += in[j];", 1),
        ("float v = sinf(in[n]);", 1),
        ("float v = sqrtf(in[n]);", 0),
    ],
)
def test_a_store_is_dead_where_its_own_basic_block_overwrites_it(between, instructions):
    first, second = issued(
        AccessKind.STORE, f"s[t] = in[t]; {between}\ns[t] += v; o[t] = s[31 - t];"
    )
    assert (first[0], second[0]) == (instructions, 1)


@pytest.mark.parametrize(
    ("between", "instructions"),
    [
        ("s[n + 7] = 2;", 0),
        ("s[2 * t] = 2;", 0),
        ("s[n + 7] = s[t];", 0),  # which is held
        ("s[n + 7] = s[t + 5];", 0),
        ("s[n + 7] = s[2 * t];", 1),
        ("if (n > 3) s[2 * t] = 2;", 1),
        ("atomicAdd(&s[n], 1.f);", 1),
    ],
)
def test_what_is_stored_between_reads_nothing(between, instructions):
    first, *_ = issued(AccessKind.STORE, f"s[t] = in[t];\n{between}\ns[t] = 3; o[t] = s[31 - t];")
    assert first[0] == instructions


def test_stores_that_are_dead_part_no_others():
    body = "for (int i = 0; i < 4; i++) { s[4 * t + i] = in[i];\ns[256 + n] = in[i + 9]; }"
    assert issued(AccessKind.STORE, body) == [(1, 16), (1, 4)]


@pytest.mark.parametrize(
    ("trips", "figures"),
    [("n", [(1, 4), (1, 4)]), ("40", [(1, 8), (0, 8)]), ("1", [(1, 8), (0, 8)])],
)
def test_a_loop_of_run_time_length_parts_what_is_before_from_what_is_behind(trips, figures):
    body = f"float v = s[2 * t]; for (int j = 0; j < {trips}; j++) v = v * in[0] + 1;\no[t] = v + s[2 * t + 1];"
    assert issued(AccessKind.LOAD, body, shared="__align__(16) float s[512]") == figures


def test_ptxas_may_fuse_across_a_loop_of_constant_length_that_llvm_leaves():
    body = "float v = s[2 * t]; for (int j = 0; j < 1000; j++) v = v * in[0] + 1;\no[t] = v + s[2 * t + 1];"
    found = accesses_of(kernel(body, shared="__align__(16) float s[512]", params=PARAMS))
    assert {a.certainty for a in found} == {Certainty.SAMPLED}
