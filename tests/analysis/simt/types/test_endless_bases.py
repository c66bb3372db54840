"""Classes whose bases name the class again: `std::` names none of theirs, and none takes forever."""

from __future__ import annotations

import pytest
from conftest import facts_of

STANDARD = """
namespace lib {
template <class T, unsigned A> class aligned : public std::allocator<T> {
  typedef std::allocator<T> base;
 public:
  typedef typename base::pointer pointer;
};
template <class T, unsigned A = 128> class vector : public std::vector<T, aligned<T, A> > {
  typedef std::vector<T, aligned<T, A> > base;
  typedef typename base::size_type size_type;
 public:
  vector(size_type size = 0) : base(size) {}
};
}
USE
"""
OWN = """
template <class T, int n> struct Pad {};
template <class T, int n = 1> struct Grow : public Grow<T, Pad<T, n> > {
  typedef Grow<T, Pad<T, n> > base;
  typedef typename base::size_type size_type;
};
USE
"""
KERNEL = """
__global__ void k(float *o) {
  __shared__ float s[1024];
  TYPE v;
  s[threadIdx.x * 2] = o[threadIdx.x];
}
void f(float *o) { TYPE v; k<<<1, 128>>>(o); }
"""


@pytest.mark.parametrize(
    ("classes", "name"), [(STANDARD, "lib::vector<float>"), (OWN, "Grow<float>")]
)
def test_kernels_beside_them_are_evaluated(classes: str, name: str) -> None:
    (kernel,) = facts_of(classes.replace("USE", KERNEL.replace("TYPE", name))).kernels
    (access,) = kernel.accesses
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 2.0
    assert kernel.instance.block == (128, 1, 1)


def test_a_namespace_std_that_was_read_has_its_own() -> None:
    text = """
    namespace std { template <class T> struct vector { T a, b; }; }
    __global__ void k() {
      __shared__ std::vector<float> s[128];
      s[threadIdx.x].a = 1;
    }
    void f() { k<<<1, 128>>>(); }
    """
    (access,) = facts_of(text).kernels[0].accesses
    assert access.wavefronts is not None
    assert access.wavefronts.mean == 2.0
