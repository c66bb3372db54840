"""Functors whose template arguments a caller writes: `f.template operator()<32>(g)`."""

from __future__ import annotations

import pytest
from figures import facts_in

K = """
template <int N> __global__ void k(float *g) {
  __shared__ float s[2048];
  s[threadIdx.x * N] = g[0];
}
struct F { template <int N> void operator()(float *g) const { k<N><<<1, 2 * N>>>(g); } };
"""


@pytest.mark.parametrize(
    "host",
    [
        "void go(float *g) { F f; f.template operator()<32>(g); f.operator()<16>(g); }",
        "template <typename T> void each(T f, float *g) {\n"
        "  f.template operator()<32>(g); f.template operator()<16>(g);\n}\n"
        "void go(float *g) { each(F{}, g); }",
    ],
)
def test_arguments_of_an_operator_are_bound(host):
    kernels = facts_in(a_cu=K + host).kernels
    found = {k.instance.block[0]: k.accesses[0].wavefronts.mean for k in kernels}
    assert found == {64: 32, 32: 16}  # lane t stores to word N * t: N lanes in a bank
