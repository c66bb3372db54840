"""Launches whose numbers a kernel does not read: it is evaluated once."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.simt.kernel import evaluate
from smemlint.config.settings import Settings
from smemlint.sources.source import Source

KERNEL = """
__global__ void scatters(int *to, int n) {
    __shared__ int s[32 * 33];
    to += gridDim.x;
    int row = n / 3 * threadIdx.x;
    s[row + %s] = to[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = s[threadIdx.x * 32];
}
void start(int *to, int n) { scatters<<<n, 32>>>(to, n); }
"""


PASSED = """
struct Sizes { int first, second; };
__device__ int more(int m, int *to) { to[0] = 1; return m; }
template <int WAY> __global__ void scatters(int *to, const int *bias, int n, int m, Sizes sizes) {
    __shared__ int s[32 * 33];
    int row = n / 3 * threadIdx.x;
    if (bias) row += bias[0];
    if constexpr (WAY == 1) row += m;
    if constexpr (WAY == 2) { auto more = [&] { return m; }; row += more(); }
    if constexpr (WAY == 3) row += sizes.second;
    if constexpr (WAY == 4) { int m = n; row += m; }
    for (int i = 0; i < n; ++i) if constexpr (WAY == 5) row += more(m, to);
    s[row] = to[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = s[threadIdx.x * 32];
}
void start(int *to, int n) {
    Sizes sizes;
    sizes.second = 5;
    scatters<%d><<<1, 32>>>(to, nullptr, n, 5, sizes);
}
"""


@pytest.fixture
def evaluated(calls_of):
    """The evaluations that were made."""
    return calls_of(evaluate, "_evaluated")


def _means(text):
    facts, crashed = analyze([Source("k.cu", given=text)], Settings())
    assert not crashed
    [kernel] = facts.kernels
    return sorted(a.wavefronts.mean for a in kernel.accesses if a.wavefronts is not None)


@pytest.mark.parametrize(("offset", "runs"), [("blockIdx.x", 1), ("0", 1), ("blockIdx.y", 2)])
def test_extents_that_nothing_reads_cost_no_evaluation(offset, runs, evaluated):
    assert _means(KERNEL % offset) == [32.0]
    assert len(evaluated) == runs


@pytest.mark.parametrize(("way", "runs"), [(0, 1), (1, 2), (2, 2), (3, 2), (4, 1), (5, 2)])
def test_arguments_that_nothing_reads_cost_no_evaluation(way, runs, evaluated):
    assert _means(PASSED % way) == [32.0]
    assert len(evaluated) == runs
