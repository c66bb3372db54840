"""A template parameter that nothing gives hides every class and alias of its name."""

from __future__ import annotations

import pytest
from conftest import accesses_of

OTHERS = {
    "an alias in a class": "struct W { typedef long long T; };",
    "an alias of a template": "template <class A> struct W { using T = long long; };",
    "an alias": "namespace w { using T = long long; }",
    "a class": "namespace w { struct T { double x, y; }; }",
}
KERNEL = """
template <class T> __global__ void k(const T *g, float *o) {
  __shared__ T rows[96];
  rows[2 * threadIdx.x] = g[0];
}
"""
LAUNCHES = {
    "by name": "template <class T> void run(T *g, float *o) { k<T><<<1, 32>>>(g, o); }",
    "deduced": "template <class T> void run(T *g, float *o) { k<<<1, 32>>>(g, o); }",
    "in a class": """template <class T> struct Runner {
  void run(T *g, float *o) { k<T><<<1, 32>>>(g, o); }
};""",
    "none": "",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_an_open_parameter_is_no_type_of_another_scope(other, launch):
    (store,) = accesses_of(other + KERNEL + launch)
    assert store.wavefronts is None


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_type_that_a_caller_gives_is_followed(other):
    caller = "void run_all(short *g, float *o) { run<short>(g, o); }"
    (store,) = accesses_of(other + KERNEL + LAUNCHES["by name"] + caller)
    assert store.wavefronts.mean == 1  # 32 times 2 bytes, 4 apart


MEMBERS = """
struct W {
  typedef double real;
  enum { N = 8 };
  static constexpr int M = 4;
  struct Q { float a[3]; };
  template <int K> static __device__ void f(float *s) { s[N * M * K * threadIdx.x / 8] = 0; }
};
"""


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("real s[256]", "s[2 * t]"),
        ("float s[1024]", "s[N * t]"),
        ("float s[1024]", "s[M * t]"),
        ("Q s[64]", "s[t]"),
    ],
)
def test_members_of_a_class_are_not_seen_outside_of_it(declared, written):
    text = f"__global__ void k(float *g) {{ __shared__ {declared}; int t = threadIdx.x; {written} = g[0]; }}"
    launch = "void run(float *g) { k<<<1, 32>>>(g); }"
    (store,) = accesses_of(MEMBERS + text + launch)
    assert store.wavefronts is None


def test_members_of_a_class_are_seen_in_it_and_behind_its_name():
    text = """__global__ void k(float *g) {
  __shared__ W::real s[512];
  __shared__ float r[1024];
  s[W::N * threadIdx.x] = g[0];
  W::f<1>(r);
}
void run(float *g) { k<<<1, 32>>>(g); }
"""
    assert [a.wavefronts.mean for a in accesses_of(MEMBERS + text)] == [4, 16]
