"""Accesses that conflict whichever neighbours the compiler makes one instruction of.

Of two loads behind a branch that computes a sum nvcc 13.0.88 (sm_90, -O3) makes one LDS.64; whether
it does is not modelled. Ways are those of the bank model for both.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.config.settings import Settings
from smemlint.facts import AccessKind, Certainty
from smemlint.finding import Finding
from smemlint.lint.check import run_rules

KERNEL = """\
__global__ void k(float *g, int n) {
  __shared__ float s[36 * 128];
  for (int i = threadIdx.x; i < 36 * 128; i += 128) s[i] = g[i];
  __syncthreads();
  int t = threadIdx.x;
  float *p = s + 4 * (n & 3);
  if (n > 3) g[5] = p[35 * t];
  g[t] = p[%s * t] * p[%s * t + 1];
}
void f(float *g) { k<<<1, 128>>>(g, 1); }
"""


def conflicts_of(text: str) -> list[Finding]:
    settings = Settings()
    found = run_rules(facts_of(text), lambda _: settings)
    return [finding for finding in found if finding.code == "SML101"]


@pytest.mark.parametrize(("stride", "least", "most"), [(36, 2, 4), (40, 4, 8), (44, 2, 4)])
def test_a_conflict_that_stands_either_way_is_reported(stride, least, most):
    text = KERNEL % (stride, stride)
    loads = [a for a in accesses_of(text) if f"{stride}" in a.expression and a.ways > 1]
    assert [(a.certainty, a.width_bytes) for a in loads] == [(Certainty.SAMPLED, 4)] * 2
    bounds = [a.bounds for a in loads if a.bounds is not None]
    assert {(b.least, b.most, b.certainty) for b in bounds} == {(least, most, Certainty.ASSUMED)}
    # an LDS.64 for two of these loads: 4 warps, 2 * least wavefronts instead of 2, half each
    assert {(b.wavefronts, b.ideal) for b in bounds} == {(4 * least, 4)}
    assert [finding.certainty for finding in conflicts_of(text)] == [Certainty.ASSUMED] * 2


def test_a_conflict_that_an_instruction_may_free_is_not():
    text = KERNEL % (34, 34)
    loads = [a for a in accesses_of(text) if "34" in a.expression and a.kind is AccessKind.LOAD]
    assert {(a.certainty, a.ways, a.bounds) for a in loads} == {(Certainty.SAMPLED, 2, None)}
    assert not conflicts_of(text)
