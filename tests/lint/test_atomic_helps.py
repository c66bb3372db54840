"""What SML102 offers fits the operation: a reduction of its kind, none for a counter that wraps."""

from __future__ import annotations

import re

import pytest

TEXT = """
__global__ void k(unsigned *o) {{
  __shared__ unsigned n;
  unsigned t = threadIdx.x;
  o[t] = {};
}}
void f(unsigned *o) {{ k<<<1, 64>>>(o); }}
"""


@pytest.mark.parametrize(
    ("atomic", "reductions"),
    [
        ("atomicMax(&n, t)", ["max"]),
        ("atomicMin(&n, t)", ["min"]),
        ("atomicOr(&n, t)", ["or"]),
        ("atomicInc(&n, 100u)", []),
        ("atomicDec(&n, 100u)", []),
    ],
)
def test_the_reduction_offered_is_of_the_operation(smemlint, tmp_path, atomic, reductions):
    (tmp_path / "k.cu").write_text(TEXT.format(atomic))
    _, out, _ = smemlint("check", "k.cu", "--show-notes", "--select", "SML102")
    assert "SML102" in out
    assert re.findall(r"__reduce_(\w+)_sync", out) == reductions
