"""Template parameters that stand in an alias template of a function's parameter are deduced."""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
namespace ar { template <class E> struct Cx { E x, y; }; }
template <class T> using C = ar::Cx<T>;
template <class T> using P = C<T> *;
template <class T, class U> using Second = ar::Cx<U>;
template <class T> using A = B<T>;
template <class T> using B = A<T>;
FUNCTION
__global__ void k(const ar::Cx<TYPE> *in, float *out, A<float> a) {
  __shared__ ar::Cx<TYPE> s[512];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  f(CALL);
}
void g(ar::Cx<TYPE> *in, float *out, A<float> a) { k<<<1, 64>>>(in, out, a); }
"""


@pytest.mark.parametrize(("name", "width", "ways"), [("float", 8, 4.0), ("double", 16, 4.0)])
@pytest.mark.parametrize(
    ("function", "call"),
    [
        (
            "template <class T> __device__ void f(C<T> &u) { C<T> v = u; u.x = v.y; u.y = v.x; }",
            "s[4 * threadIdx.x]",
        ),
        (
            "template <class T> __device__ void f(P<T> p) { C<T> v = *p; p->x = v.y; p->y = v.x; }",
            "&s[4 * threadIdx.x]",
        ),
        (
            "template <class U> __device__ void f(Second<int, U> &u) {"
            " C<U> v = u; u.x = v.y; u.y = v.x; }",
            "s[4 * threadIdx.x]",
        ),
    ],
)
def test_it_is_what_the_class_behind_the_alias_is_given(
    function: str, call: str, name: str, width: int, ways: float
) -> None:
    """SASS of nvcc 13.5.37, sm_90: LDS.64 and STS.64, LDS.128 and STS.128 of 32 lanes."""
    text = KERNEL.replace("FUNCTION", function).replace("CALL", call).replace("TYPE", name)
    (kernel,) = facts_of(text).kernels
    found = [a for a in kernel.accesses if a.instructions]
    swapped = [a for a in found if a.wavefronts and a.ideal and a.wavefronts != a.ideal]
    assert {a.kind.value for a in swapped} == {"load", "store"}
    assert {a.width_bytes for a in swapped} == {width}
    assert {a.wavefronts.mean / a.ideal.mean for a in swapped if a.wavefronts and a.ideal} == {ways}


def test_an_alias_of_itself_ends() -> None:
    function = "template <class T> __device__ void f(A<T> u) {}"
    text = KERNEL.replace("FUNCTION", function).replace("CALL", "a").replace("TYPE", "float")
    assert len(facts_of(text).kernels) == 1
