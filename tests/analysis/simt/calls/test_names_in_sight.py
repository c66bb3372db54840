"""What an unqualified name means: what C++'s lookup finds, and nothing that no scope in sight has."""

from __future__ import annotations

import pytest
from conftest import accesses_of

SOURCE = """
namespace mine {
__device__ int max(int a, int b) { return 4; }
__device__ int only(int a) { return 8 * a; }
struct V { int x; };
__device__ int twice(V v) { return v.x * 2; }
template <class T> __device__ int thrice(T v) { return v.x * 4; }
__device__ int ceil_div(int a, int b) { return 16; }
template <int N> __device__ void cp_async_wait() {}
}
struct Other {
  static __device__ int min(int a, int b) { return 16; }
  static __device__ int reduce(int a) { return 8 * a; }
};
%s
__global__ void k() { __shared__ int s[4096]; int t = threadIdx.x; %s = 1; }
%s
void f() { %sk<<<1, 32>>>(); }
"""


@pytest.mark.parametrize(("body", "ways", "certainty"), [
    ("s[t * max(2, 1)]", 2, "assumed"),
    ("s[t * ::max(2, 1)]", 2, "assumed"),
    ("s[t * mine::max(2, 1)]", 4, "assumed"),
    ("s[t * min(2, 3)]", 2, "assumed"),
    ("s[t * Other::min(2, 3)]", 16, "assumed"),
    ("s[Other::reduce(t)]", 8, "assumed"),  # not that of cooperative groups
    ("s[mine::only(t)]", 8, "assumed"),
    ("s[only(t)]", 8, "sampled"),  # does not compile but for what was not read
    ("s[t * cute::ceil_div(3, 2)]", 2, "assumed"),
    ("cute::cp_async_wait<0>(); s[t * 2]", 2, "assumed"),
    ("cutlass::arch::cp_async_wait<0>(); s[t * 2]", 2, "assumed"),
    ("s[twice(mine::V{t})]", 2, "assumed"),  # found by its argument
    ("s[thrice(mine::V{t})]", 4, "assumed"),
])  # fmt: skip
def test_outside_of_a_namespace(body, ways, certainty) -> None:
    (found,) = accesses_of(SOURCE % ("", body, "", ""))
    assert (found.wavefronts.mean, found.certainty) == (ways, certainty)


@pytest.mark.parametrize(("head", "tail", "prefix"), [
    ("namespace mine {", "}", "mine::"),
    ("using namespace mine;", "", ""),
    ("using mine::only;", "", ""),
    ("namespace mine { namespace in {", "} }", "mine::in::"),
])  # fmt: skip
def test_where_it_is_in_sight(head, tail, prefix) -> None:
    (found,) = accesses_of(SOURCE % (head, "s[only(t)]", tail, prefix))
    assert (found.wavefronts.mean, found.certainty) == (8, "assumed")


def test_the_innermost_definition_hides_the_built_in_one() -> None:
    (found,) = accesses_of(SOURCE % ("namespace mine {", "s[t * max(2, 1)]", "}", "mine::"))
    assert found.wavefronts.mean == 4
