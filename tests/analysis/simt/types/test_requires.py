"""`if constexpr (requires { s->member; })`: g++ 12 -std=c++20 takes the same branches."""

import pytest
from conftest import accesses_of

CLASSES = """
struct Base { int base; };
struct Small : Base { float x; };
struct Large : Small { int count; static constexpr int depth = 3; };
struct Fixed { static constexpr int depth = 3; };
struct Derived : Fixed { float x; };
struct Shared { static int total; float x; };
struct Unread : Elsewhere { float x; };
"""


@pytest.mark.parametrize(
    ("kind", "asked", "stride"),
    [
        ("Small", "s->count;", 2),
        ("Large", "s->count;", 4),
        ("Large", "s->base; s->x; s->depth;", 4),
        ("Large", "s->base; s->other;", 2),
        ("Derived", "s->depth;", 4),
        ("Shared", "s->total;", 4),
    ],
)
def test_members_choose_the_branch(kind, asked, stride):
    text = f"""{CLASSES}
    template <class S> __device__ void put(S *s, float *p) {{
      if constexpr (requires {{ {asked} }}) {{ p[threadIdx.x * 4] = 1; }}
      else {{ p[threadIdx.x * 2] = 1; }}
    }}
    __global__ void k({kind} *s) {{ __shared__ float p[1024]; put(s, p); }}
    void run() {{ k<<<1, 32>>>(nullptr); }}"""
    (access,) = accesses_of(text)
    assert access.ways == stride


@pytest.mark.parametrize("asked", ["s->count;", "s->x + 1;", "typename S::type;", "s->f();"])
def test_what_is_not_known_is_not_guessed(asked):
    text = f"""{CLASSES}
    template <class S> __device__ void put(S *s, float *p) {{
      if constexpr (requires {{ {asked} }}) p[threadIdx.x * 4] = 1;
    }}
    __global__ void k(Unread *s) {{ __shared__ float p[1024]; put(s, p); }}
    void run() {{ k<<<1, 32>>>(nullptr); }}"""
    assert not any(a.certainty.is_decided for a in accesses_of(text))
