"""Stores whose place is not known end what registers hold, from kernels that nvcc 13.0 compiled."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(const int *ix, float *out, int n) {
  __shared__ float s[4096], q[4096];
  int t = threadIdx.x;
  %s
}
void f(int *ix, float *out, int n) { k<<<1, 32>>>(ix, out, n); }
"""


def issued_loads(body: str, array: str) -> float:
    """Returns how many instructions load an array."""
    loads = [a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.LOAD]
    return sum(a.instructions for a in loads if a.array is not None and a.array.name == array)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("s[2 * t] = 0; s[ix[t]] = 1; out[t] = s[2 * t];", 1),
        ("s[2 * t] = 0; q[ix[t]] = 1; out[t] = s[2 * t];", 0),
        ("float v = s[4 * t]; s[ix[t]] = 1; out[t] = s[4 * t] + v;", 2),
        ("s[2 * t] = 0; if (n > 7) s[ix[t]] = 4; s[2 * t] += 1; out[t] = s[2 * t];", 1),
        ("float *p = n > 3 ? s : q; s[2 * t] = 0; p[t] = 1; out[t] = s[2 * t];", 1),
        ("float *p = n > 3 ? q : s; s[2 * t] = 0; p[t] = 1; out[t] = s[2 * t];", 1),
    ],
)
def test_a_store_at_a_place_that_is_not_known_may_be_over_it(body, count):
    assert issued_loads(body, "s") == count


def test_a_store_through_a_pointer_into_one_of_two_arrays_ends_a_sum_in_a_register():
    body = """float *p = n > 3 ? s : q; s[2 * t] = 0;
    for (int j = 0; j < n; j++) { s[2 * t] += ix[j]; p[j] = 4; }
    out[t] = s[2 * t];"""
    assert issued_loads(body, "s") == 2


def test_a_store_whose_place_is_not_known_keeps_the_one_before():
    """It may be read in between."""
    body = "s[2 * t] = 0; if (n > 7) s[ix[t]] = 4; s[2 * t] += 1; out[t] = s[2 * t];"
    first = next(a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.STORE)
    assert first.instructions == 1


def test_branches_beside_each_other_do_not_share_what_one_stored():
    body = """if (n > 3) s[2 * t] = ix[t + 1];
    if (n > 5) s[2 * t] = ix[t];
    if (n > 3) out[t] = s[2 * t];"""
    assert issued_loads(body, "s") == 1


@pytest.mark.parametrize(
    ("call", "loads"),
    [
        ("", 0),
        ("x += __shfl_xor_sync(~0u, j + t, 1);", 1),
        ("x += twice(j + t);", 1),
        ("x += __any_sync(~0u, ix[j + t] > 0);", 1),
        ("x += __activemask();", 1),
        ("x += clock();", 1),
        ("__nanosleep(100);", 1),
        ('asm volatile("" ::: "memory");', 1),
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));', 1),
        ('asm("add.u32 %0, %1, 1;" : "=r"(x) : "r"(x));', 0),
        ("out[j] = 3;", 0),
        ("atomicAdd((int *)&q[ix[j] & 63], 1);", 0),
        ("atomicAdd((int *)&s[ix[j] & 63], 1);", 1),
    ],
)
def test_a_sum_is_loaded_in_a_loop_that_calls_what_no_store_is_moved_across(call, loads):
    """So it is behind the loop."""
    function = """__device__ float twice(float x) { return 2 * __shfl_xor_sync(~0u, x, 1); }
"""
    body = f"""int x = 0; s[2 * t] = 0;
    for (int j = 0; j < n; j++) {{ s[2 * t] += ix[j]; {call} }}
    out[t] = s[2 * t] + x;"""
    found = accesses_of(function + KERNEL.replace("%s", body))
    counts = [a.instructions for a in found if a.kind is AccessKind.LOAD]
    assert sum(counts[:1]) == loads
    assert sum(counts[1:]) == loads
