"""Values that stand with the declarations of members, which may be of other members.

They are found in the order of the declarations ([class.base.init]). Ways are strides of words.
"""

import pytest
from conftest import ways_of

CLASS = """
struct Part { int q = 3; __device__ Part() {} __device__ Part(int v) : q(v) {} };
struct S {
  __device__ S(float *s_, int twice, int x) : s(s_), n(twice), own(x * 2), part(7) {}
  __device__ S(int off) : S(nullptr, off, 1) {}
  float *s;
  int n;
  int twice = n * 2;
  int own = n + 1;
  int sum = twice + own;
  Part part;
  int of_part = part.q;
};
"""
HOST = "void run() { k<<<1, 32>>>(); }"


@pytest.mark.parametrize(
    ("made", "strides"),
    [
        ("S x(b, 2, 8);", {"twice": 4, "own": 16, "sum": 20, "of_part": 7}),
        ("S x(4);", {"twice": 8, "own": 2, "sum": 10, "of_part": 7}),
    ],
)
def test_members_are_initialized_in_the_order_of_their_declarations(made, strides):
    stores = "".join(f"b[threadIdx.x * x.{member}] = 1;\n" for member in strides)
    kernel = f"__global__ void k() {{ __shared__ float b[1024]; {made}\n{stores} }}"
    ways = [w for _, _, w in ways_of(CLASS + kernel + HOST)]
    assert ways == [stride & -stride for stride in strides.values()]


def test_a_value_of_a_member_that_the_list_sets_is_found_once():
    text = """
    struct S {
      __device__ S(float *s_, int n_) : s(s_), n(n_) {}
      float *s; int n; float first = s[n];
    };
    __global__ void k(float *o) {
      __shared__ float b[64]; b[threadIdx.x] = o[0]; __syncthreads();
      S x(b, 2 * threadIdx.x); o[threadIdx.x] = x.first;
    }
    """
    assert ways_of(text + "void run(float *o) { k<<<1, 32>>>(o); }") == [
        (4, "load", 2.0),
        (7, "store", 1.0),
    ]
