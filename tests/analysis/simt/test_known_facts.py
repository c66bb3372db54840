"""Nothing is priced on made-up facts: types, sizes and instances are those of the program."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.facts import Certainty

VEC = """
template <int N> struct BytesToType {};
template <> struct BytesToType<8> { using Type = unsigned long long; };
template <> struct BytesToType<4> { using Type = unsigned; };
template <typename E, unsigned N> struct Vec {
  enum { BYTES = N * sizeof(E) };
  using Whole = typename BytesToType<BYTES>::Type;
  using Both = union { Whole vec; E elt[N]; };
  Both data;
};
"""
TILE = """
template <int BYTES, typename T> __global__ void k(T *g) {
  using V = Vec<T, BYTES / sizeof(T)>;
  __shared__ V s[32][33];
  V v;
  s[threadIdx.x][threadIdx.y] = v;
}
"""


def stores(text):
    return [
        (a.width_bytes, a.wavefronts and a.wavefronts.mean, a.ideal and a.ideal.mean)
        for a in accesses_of(text)
    ]


@pytest.mark.parametrize(
    ("instance", "figures"),
    [
        ("k<4, float>", (4, 1.0, 1.0)),  # 33 words a row
        ("k<4, __half>", (4, 1.0, 1.0)),
        ("k<8, __half>", (8, 2.0, 2.0)),  # 66 words a row: each half-warp in all banks once
    ],
)
def test_a_union_sized_by_a_trait(instance, figures):
    host = f"void go() {{ {instance}<<<1, dim3(32, 4)>>>(nullptr); }}"
    assert stores(VEC + TILE + host) == [figures]


@pytest.mark.parametrize(
    "members", ["Hidden a;", "Hidden a; float b;", "float b; Hidden a;", "float b; Hidden a[2];"]
)
def test_a_class_with_a_member_that_was_not_read_has_no_size(members):
    text = f"""
    struct Own {{ {members} }};
    __global__ void k(Own *g) {{
      __shared__ Own s[64];
      s[threadIdx.x] = g[0];
    }}
    void go() {{ k<<<1, 32>>>(nullptr); }}
    """
    (access,) = accesses_of(text)
    assert (access.certainty, access.array.bytes) == (Certainty.UNKNOWN, None)


def test_a_member_behind_one_without_size_is_decided_where_any_place_costs_the_same():
    text = """
    struct Own { float before[64]; Hidden a; float behind[64]; };
    __global__ void k() {
      __shared__ Own s;
      s.before[2 * threadIdx.x] = 1;
      s.behind[2 * threadIdx.x] = 1;
    }
    void go() { k<<<1, 32>>>(); }
    """
    before, behind = accesses_of(text)
    assert before.wavefronts.mean == 2  # lanes 0 and 16 in one bank
    assert (behind.certainty, behind.wavefronts.mean) == (Certainty.ASSUMED, 2)


def test_a_type_that_no_launch_gives_is_no_float():
    text = """
    template <typename T> __global__ void k() {
      __shared__ T s[64];
      __shared__ float f[64];
      s[2 * threadIdx.x] = T();
      f[2 * threadIdx.x] = 1;
    }
    """
    of_t, of_float = accesses_of(text)
    assert of_t.certainty is Certainty.UNKNOWN
    assert of_float.wavefronts.mean == 2


SWITCH = """
#define FAIL(...) do { throw ::std::runtime_error(concat(__FILE__ ":", __LINE__, __VA_ARGS__)); } while (false)
#define TYPE_SWITCH(dtype, type, ...)                       \\
  switch (dtype) {                                          \\
    using namespace lib;                                    \\
    case DType::kHalf: { using type = __half; { __VA_ARGS__ } } break;   \\
    case DType::kDouble: { using type = double; { __VA_ARGS__ } } break; \\
    default: FAIL("no such type: ", dtype);                 \\
  }
template <typename T> __global__ void k(T *g) {
  __shared__ T s[64];
  s[2 * threadIdx.x] = T();
}
void go(int dtype, void *g) {
  TYPE_SWITCH(dtype, T, constexpr int n = sizeof(T) * 16; k<T><<<1, n>>>(static_cast<T *>(g)););
}
"""


def test_the_instances_of_a_type_switch():
    facts = facts_of(SWITCH)
    assert [(k.instance.template, k.instance.block) for k in facts.kernels] == [
        ((("T", "half"),), (32, 1, 1)),
        ((("T", "double"),), (128, 1, 1)),
    ]
