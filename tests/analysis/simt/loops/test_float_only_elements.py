"""Loops over elements of tensors in registers: one iteration is run for the cost of all."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.analysis.simt.state import State

TEXT = """#include <cute/tensor.hpp>
using namespace cute;
template <class T0, class T1> __device__ void apply(T0& t, T1 const& m, float scale) {
  for (int i = 0; i < size<0>(t); ++i) {
    const float most = m(i) == -INFINITY ? 0.f : m(i) * scale;
    for (int j = 0; j < size<1>(t); ++j) { t(i, j) = exp2f(t(i, j) * scale - most); }
  }
}
__global__ void k() {
  __shared__ float s[1024];
  auto t = TENSOR;
  Tensor m = make_tensor<float>(Shape<_64>{});
  for (int n = 0; n < 4; ++n) { apply(t, m, 2.f); }
  s[threadIdx.x * 2] = m(0);
}
int main() { k<<<1, 32>>>(); }
"""
REGISTERS = "make_tensor<float>(Shape<_64, _64>{})"
SHARED = "make_tensor(make_smem_ptr(s), Layout<Shape<_4, _8>>{})"


def test_elements_of_registers_are_not_run_one_by_one(monkeypatch: pytest.MonkeyPatch):
    statements = 0
    step = State.step

    def counting(state: State) -> None:
        nonlocal statements
        statements += 1
        step(state)

    monkeypatch.setattr(State, "step", counting)
    (kernel,) = facts_of(TEXT.replace("TENSOR", REGISTERS)).kernels
    assert [(str(a.kind), a.ways) for a in kernel.accesses] == [("store", 2.0)]
    assert statements < 1000  # of 64 * 64 * 4 and more


def test_elements_of_shared_memory_are():
    text = TEXT.replace("TENSOR", SHARED).replace("n < 4", "n < 1")
    (kernel,) = facts_of(text).kernels
    found = {(str(a.kind), a.instructions) for a in kernel.accesses if a.span.line == 6}
    assert {kind for kind, _ in found} == {"load", "store"}
