"""Which of many instances of a kernel are evaluated."""

from __future__ import annotations

from itertools import product

from conftest import facts_of

from smemlint.limits.budgets import MAX_INSTANCES

BITS = 6


def test_each_arm_that_an_argument_chooses_is_seen():
    """Of 64 instances the first 24 leave the arms of the first two arguments out."""
    names = [f"B{k}" for k in range(BITS)]
    body = "\n".join(f"if (B{k}) s[{k + 2} * threadIdx.x] = 1.f;" for k in range(BITS))
    head = ", ".join(f"bool {name}" for name in names)
    launches = "\n".join(
        f"k<{', '.join(map(str, bits))}><<<1, 32>>>();" for bits in product((0, 1), repeat=BITS)
    )
    facts = facts_of(
        f"template <{head}> __global__ void k() {{ __shared__ float s[512];\n{body}\n}}\n"
        f"void go() {{\n{launches}\n}}\n"
    )
    assert len(facts.kernels) <= MAX_INSTANCES
    strides = {a.span.line: a.wavefronts.mean for k in facts.kernels for a in k.accesses}
    assert strides == {2: 2, 3: 1, 4: 4, 5: 1, 6: 2, 7: 1}
