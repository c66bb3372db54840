"""Loops in loops: the compiler knows how often an inner one runs only where the outer is unrolled.

SASS of nvcc 13.0.88, -O3, sm_90: `for (j = i + 1; j < 32; j++) s[t][j] -= s[t][i] * s[i][j];` in a
loop over i has three loads for each store: a store to `s[t][j]` may be one to `s[t][i]`.
"""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of, facts_of

from smemlint.config.settings import Settings
from smemlint.facts import AccessKind
from smemlint.lint.check import run_rules

LU = """
__global__ void lu(float *g, const float *in) {
  __shared__ float s[32][32];
  int t = threadIdx.x;
  for (int i = 0; i < 32; i++) s[i][t] = in[i * 32 + t];
  __syncthreads();
  for (int i = 0; i < 31; i++) {
    if (t > i)
      for (int j = i + 1; j < 32; j++) s[t][j] -= s[t][i] * s[i][j];
    __syncthreads();
  }
  g[t] = s[t][0];
}
void f(float *g, float *in) { lu<<<1, 32>>>(g, in); }
"""


def test_what_a_store_may_change_is_loaded_again_in_each_iteration():
    """Of k = 31 - i lanes, column k-way: 1 to 31 iterations of as many ways."""
    at = [a for a in accesses_of(LU) if a.line == 9]
    stores = sum(a.instructions for a in at if a.kind is AccessKind.STORE)
    assert stores == sum(range(32))
    element, factor, row = (a for a in at if a.kind is AccessKind.LOAD)
    assert (element.instructions, row.instructions) == (stores, stores)
    assert factor.instructions >= 0.95 * stores
    mean = sum(k * k for k in range(32)) / stores
    assert element.wavefronts.mean == mean == 21
    assert abs(factor.wavefronts.mean / mean - 1) < 0.02


def test_the_mean_of_a_finding_counts_all_iterations():
    """Only the 64 costliest patterns are kept, whose mean is higher."""
    settings = Settings()
    findings = run_rules(facts_of(LU), lambda _: settings)
    notes = [note for f in findings if f.span.line == 9 for note in f.notes]
    means = [float(found[1]) for note in notes if (found := re.search(r"; ([\d.]+) times", note))]
    assert means and all(mean == pytest.approx(21, rel=0.02) for mean in means)
