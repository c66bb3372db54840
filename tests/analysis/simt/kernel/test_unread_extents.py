"""Launches that pass extents of the grid alone: what does not read them is evaluated once."""

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


@pytest.mark.parametrize(("offset", "runs"), [("blockIdx.x", 1), ("0", 1), ("blockIdx.y", 2)])
def test_extents_that_nothing_reads_cost_no_evaluation(offset, runs, monkeypatch):
    evaluated = []
    plain = evaluate._evaluated

    def counted(*given):
        evaluated.append(given)
        return plain(*given)

    monkeypatch.setattr(evaluate, "_evaluated", counted)
    facts, crashed = analyze([Source("k.cu", given=KERNEL % offset)], Settings())
    assert not crashed
    [kernel] = facts.kernels
    means = sorted(a.wavefronts.mean for a in kernel.accesses if a.wavefronts is not None)
    assert means == [32.0]
    assert len(evaluated) == runs
