"""Notes on shared memory that no kernel comes to."""

import pytest
from conftest import facts_of

KERNEL = "template <class F> __global__ void k(F f) { f(threadIdx.x); }"
SHARED = "__shared__ float s[64]; s[2 * t] = 1;"
LAMBDA = f"k<<<1, 32>>>([=] __device__ (int t) {{ {SHARED} }});"
LOCAL = f"struct Local {{ __device__ void operator()(int t) {{ {SHARED} }} }};"


@pytest.mark.parametrize(
    ("text", "lines", "places"),
    [
        (f"{KERNEL}\nvoid run() {{ {LAMBDA} }}", [2], 0),
        (f"{KERNEL}\nvoid run() {{ {LAMBDA} }}\nvoid main() {{ run(); }}", [2], 0),
        (f"{KERNEL}\nvoid run() {{ {LOCAL} k<<<1, 32>>>(Local()); }}", [], 1),
        (f"__device__ void b(int t) {{ {SHARED} }}\n__device__ void a() {{ b(1); }}", [1], 0),
        (
            f"__device__ void b(int t) {{ {SHARED} }}\n"
            "__device__ void a() { b(threadIdx.x); }\n__global__ void g() { a(); }",
            [],
            1,
        ),
        ("extern __shared__ float s[];\n__device__ void b(int t) { s[2 * t] = 1; }", [2], 0),
        ("extern __shared__ float s[];\n__device__ void b(float *s) { s[2] = 1; }", [], 0),
        ("extern __shared__ float s[];\n__global__ void g() { s[threadIdx.x] = 1; }", [], 1),
    ],
)
def test_what_no_kernel_comes_to_is_said(text, lines, places):
    facts = facts_of(text)
    assert [n.span.line for n in facts.not_analysed] == lines
    assert len({a.span for k in facts.kernels for a in k.accesses}) == places


METHODS = f"""
struct Packer {{
  __device__ void by(int t) const {{ {SHARED} }}
  __device__ void pack(int t) const {{ by(t); }}
  __device__ int size() const {{ return 1; }}
}};
template <class P> __global__ void k(P p) {{ p.%s; }}
"""


@pytest.mark.parametrize(
    ("call", "launch", "notes", "places"),
    [
        ("pack(threadIdx.x)", "template <class V> void f(V v) { k<<<1, 32>>>(v.get()); }", 1, 0),
        ("by(threadIdx.x)", "", 1, 0),
        ("size()", "template <class V> void f(V v) { k<<<1, 32>>>(v.get()); }", 0, 0),
        ("pack(threadIdx.x)", "void f() { k<<<1, 32>>>(Packer()); }", 0, 1),
    ],
)
def test_a_method_of_an_open_class_that_may_touch_shared_memory_is_said(
    call, launch, notes, places
):
    facts = facts_of(METHODS % call + launch)
    assert len([n for k in facts.kernels for n in k.not_analysed]) == notes
    assert len({a.span for k in facts.kernels for a in k.accesses}) == places
