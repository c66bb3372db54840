"""A function of the user's is not what a name of `std` means."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import kernel

from smemlint.facts import AccessKind

MINE = """
namespace mine {
constexpr __host__ __device__ int gcd(int a, int b) { while (b) { int c = a % b; a = b; b = c; } return a; }
__host__ __device__ int max(int, int) { return 9; }
__host__ __device__ int abs(int) { return 11; }
}
"""


@pytest.mark.parametrize(
    ("stride", "wavefronts"),
    [
        ("std::max(2, 1)", 2),
        ("cuda::std::max(2, 1)", 2),
        ("::std::abs(-4)", 4),
        ("::max(8, 1)", 8),
        ("mine::max(2, 1)", 1),
        ("mine::abs(2)", 1),
    ],
)
def test_the_function_of_the_namespace_is_meant(stride, wavefronts):
    (store,) = accesses_of(MINE + kernel(f"s[t * {stride}] = g[t];"))
    assert store.wavefronts.mean == wavefronts


def test_a_dispatch_over_a_common_divisor_launches_divisors():
    launches = "".join(f"case {n}: k<{n}><<<1, 32>>>(g); break;" for n in (8, 4, 2, 1))
    text = f"""template <int N> __global__ void k(float *g) {{
  __shared__ float s[1024];
  s[threadIdx.x * N] = g[0];
}}
void run(float *g, int n) {{ switch (std::gcd(4, n)) {{ {launches} }} }}
"""
    found = {a.instance.template: a.wavefronts.mean for a in accesses_of(MINE + text)}
    assert sorted(found.values()) == [1, 2, 4]


VECTORS = """
__device__ float3 fmaxf({q}float3 {r}a, {q}float3 {r}b) {{
  return make_float3(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z));
}}
__device__ int3 max({q}int3 {r}a, {q}int3 {r}b) {{
  return make_int3(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z));
}}
"""


@pytest.mark.parametrize("how", [("", ""), ("const ", "&")], ids=["values", "references"])
@pytest.mark.parametrize("value", ["fmaxf(m, s[t + 32])", "max(s[t], s[t + 32])"])
def test_overloads_for_vectors_take_no_numbers(how, value):
    """The last lanes read a float each, not the three of a float3, which leave the array."""
    before = VECTORS.format(q=how[0], r=how[1])
    body = f"float m = s[t]; __syncthreads(); s[t] = {value};"
    found = accesses_of(kernel(body, shared="float s[64]", before=before))
    assert {a.width_bytes for a in found} == {4}
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert max(p.addresses.max() for a in loads for p in a.patterns) == 4 * 63
