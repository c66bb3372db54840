"""Of every kernel of a unit one instance is evaluated before further ones of any."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.limits.steps import step_limit
from smemlint.reasons import ReasonCode

KERNEL = """
template <int N> __global__ void {name}(float *g) {{
  __shared__ float s[1024];
  for (int i = 0; i < 100; i++) {{ s[threadIdx.x * N % 1024 + i % 2] = g[i]; }}
}}
"""
COUNT = 8
TEXT = (
    "".join(KERNEL.format(name=name) for name in "abc")
    + "void run(float *g) {\n"
    + "".join(f"  {name}<{n}><<<1, 128>>>(g);\n" for name in "abc" for n in range(1, COUNT + 1))
    + "}\n"
)


def _instances(kernels) -> list[tuple[str, str]]:
    return [(k.instance.kernel, dict(k.instance.template)["N"]) for k in kernels]


def test_instances_are_reported_kernel_by_kernel():
    expected = [(name, str(n)) for name in "abc" for n in range(1, COUNT + 1)]
    assert _instances(facts_of(TEXT).kernels) == expected


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_steps_that_do_not_suffice_cost_no_kernel_but_further_instances_of_each(share):
    with step_limit(1 << 40) as budget:
        facts_of(TEXT)
    with step_limit(int(share * budget.spent)):
        facts = facts_of(TEXT)
    evaluated = [sum(kernel == name for kernel, _ in _instances(facts.kernels)) for name in "abc"]
    assert min(evaluated) >= 1
    assert max(evaluated) - min(evaluated) <= 1
    assert sum(evaluated) < 3 * COUNT
    left = {n.kernel: n.reason.text.split()[0] for n in facts.not_analysed}
    assert left == {
        name: str(COUNT - count)
        for name, count in zip("abc", evaluated, strict=True)
        if count < COUNT
    }
    assert {n.reason.code for n in facts.not_analysed} == {ReasonCode.LEFT_OUT}
