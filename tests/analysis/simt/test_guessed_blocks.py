"""Kernels whose block nobody knows, and that end early with some blocks."""

from __future__ import annotations

import pytest
from figures import facts_in

KERNEL = """
__global__ void sums(float *g) {{
  if (blockDim.x <= {least}) return;
  __shared__ float partial[32][33];
  partial[threadIdx.x][threadIdx.y] = 1;
}}
void run(float *g, int x, int y) {{ dim3 block({block}); sums<<<1, block>>>(g); }}
"""


@pytest.mark.parametrize(("block", "least", "decided", "noted"), [
    ("x, y", 16, 0, []),
    ("x, y", 32, 0, ["unknown-block"]),
    ("32, 8", 16, 1, []),
    ("32, 8", 32, 0, []),
])  # fmt: skip
def test_a_kernel_that_reaches_nothing_with_any_guess_is_noted(block, least, decided, noted):
    facts = facts_in(a_cu=KERNEL.format(block=block, least=least))
    (kernel,) = facts.kernels
    assert sum(a.certainty.is_decided for a in kernel.accesses) == decided
    assert [n.reason.code for n in facts.not_analysed] == noted


def test_a_guess_that_reaches_something_stands_for_those_that_do_not():
    text = KERNEL.format(block="x, y", least=16)
    (kernel,) = facts_in(a_cu=text).kernels
    (access,) = kernel.accesses
    assert (kernel.instance.block, access.certainty, access.instructions) == (
        (32, 8, 1),
        "sampled",
        8,
    )
