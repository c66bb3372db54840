"""Accesses by pointers to volatile data stay as they are written: SASS of nvcc 13.0.88, -O3, sm_90.

The numbers are those of LDS and STS behind the barrier, where one warp is left.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
typedef volatile %(type)s *Tail;
struct View { volatile %(type)s *p; };
__device__ void sum(volatile %(type)s *p, int t) { %(sum)s }
template <class T> __device__ void sum_any(volatile T *p, int t) { %(sum)s }
__device__ void sum_plain(%(type)s *p, int t) { %(sum)s }
__global__ void k(%(type)s *g) {
  __shared__ %(type)s s[256];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  if (t < 32) { %(tail)s }
}
void f(%(type)s *g) { k<<<1, 256>>>(g); }
"""
SUM = "p[t]%s += p[t + 32]%s; p[t]%s += p[t + 16]%s;"


def counts(tail, type_="float", members=("",)):
    """Returns how many loads and stores the first warp makes."""
    added = " ".join(SUM % ((member,) * 4) for member in members)
    found = accesses_of(KERNEL % {"type": type_, "sum": added, "tail": tail.replace("SUM", added)})
    own = [a for a in found if a.instructions < 8]
    kinds = (AccessKind.LOAD, AccessKind.STORE)
    return tuple(sum(a.instructions for a in own if a.kind is kind) for kind in kinds)


@pytest.mark.parametrize(
    "tail",
    [
        "sum(s, t);",
        "sum_any(s, t);",
        "volatile float *p = s; SUM",
        "volatile float *p; p = s; SUM",
        "Tail p = s; SUM",
        "View view; view.p = s; volatile float *p = view.p; SUM",
        "volatile float (&p)[256] = s; SUM",
    ],
)
def test_volatile_sums_are_loaded_and_stored_each_time(tail):
    assert counts(tail) == (4, 2)


def test_others_are_kept_in_registers():
    assert counts("sum_plain(s, t);") == (3, 1)


def test_members_of_volatile_objects_stay_apart():
    assert counts("volatile float2 *p = s; SUM", "float2", (".x", ".y")) == (8, 4)
