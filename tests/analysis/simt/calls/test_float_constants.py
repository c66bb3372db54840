"""Conditions on floating-point constants: SASS of nvcc 13.5.37 has one of the two stores."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
template <class T> __device__ void put(float *c, const T a, const T b = 0) {{
  const T twice = b;
  if ({condition}) c[t()] = a; else c[2 * t()] = a + b * c[2 * t()];
}}
__device__ int t() {{ return threadIdx.x; }}
__global__ void k(float *g, float x) {{
  __shared__ float s[2048];
  for (int i = threadIdx.x; i < 2048; i += 32) s[i] = g[i];
  __syncthreads();
  {call};
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x ^ 1];
}}
void f(float *g) {{ k<<<1, 32>>>(g, 0); }}
"""


def ways_of(condition: str, call: str) -> set[int]:
    """The ways of the stores in the function that is called."""
    found = accesses_of(KERNEL.format(condition=condition, call=call))
    return {a.ways for a in found if a.kind == "store" and a.span.line == 4}


@pytest.mark.parametrize(
    ("condition", "call", "ways"),
    [
        ("b == 0", "put<float>(s, 1.f, 0.f)", {1}),
        ("b == 0", "put<float>(s, 1.f)", {1}),
        ("b == 0", "put<double>(s, 1., 0.5)", {2}),
        ("b != -1.f", "put<float>(s, 1.f, -1)", {2}),
        ("b > 0.25", "const float half = .5f; put<float>(s, 1.f, half)", {1}),
        ("b == 0.1", "put<float>(s, 1.f, 0.1)", {2}),
        ("b == 0.1f", "put<float>(s, 1.f, 0.1)", {1}),
        ("twice == 0", "put<float>(s, 1.f, 0.f)", {1}),
        ("b == 0", "put<float>(s, 1.f, x)", {1, 2}),
        ("b == 0", "float y = 0; y += x; put<float>(s, 1.f, y)", {1, 2}),
        ("a == 0", "put<float>(s, x > 0 ? 1.f : 0.f, 0)", {1, 2}),
    ],
)
def test_the_way_that_constants_take_is_all_there_is(
    condition: str, call: str, ways: set[int]
) -> None:
    assert ways_of(condition, call) == ways


def test_host_calls_with_other_constants_launch_other_kernels() -> None:
    found = accesses_of(
        "template <int N> __global__ void k(float *g) {\n"
        "  __shared__ float s[1024]; s[N * threadIdx.x] = g[threadIdx.x];\n}\n"
        "void run(float *g, const float b) {\n"
        "  if (b == 0) k<2><<<1, 32>>>(g); else k<4><<<1, 32>>>(g);\n}\n"
        "void f(float *g) { run(g, 0.f); run(g, 1.f); }\n"
    )
    assert sorted(a.ways for a in found) == [2, 4]
