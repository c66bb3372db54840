"""Variables of a program that hold one value, unless another of its files writes them."""

from __future__ import annotations

import pytest
from figures import facts_in

MAIN = """
%s
__global__ void k(float *g) { __shared__ float s[1024]; s[2 * threadIdx.x] = g[0]; }
int main() { k<<<1, threads>>>(nullptr); }
"""
DEFINED = "int threads = 96;"


@pytest.mark.parametrize(
    ("declared", "other", "is_known"),
    [
        (DEFINED, "", True),
        (DEFINED, "extern int threads; void set(int n) { threads = n; }", False),
        (DEFINED, "extern int threads; int get() { return threads; }", True),
        (f"extern int threads;\n{DEFINED}", "void set(int n) { threads = n; }", False),
        (f"static {DEFINED}", "extern int threads; void set(int n) { threads = n; }", True),
        (DEFINED, "int threads = 32; int main() { return threads; }", True),
        (DEFINED, "int set(int threads) { threads = 3; return threads; }", True),
    ],
)
def test_what_another_file_may_write_is_open(declared, other, is_known):
    facts = facts_in(main_cu=MAIN % declared, other_cu=other)
    found = [k.instance.block for k in facts.kernels if k.instance.place is not None]
    assert found == ([(96, 1, 1)] if is_known else [])
