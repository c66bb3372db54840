"""Branches beside each other load for themselves: SASS of nvcc 13.0.88, sm_90, -O3.

The counts are of the LDS that the compiler makes of the body, times the warps that come to them.
"""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(float *o, int n, int a) {{
  __shared__ float s[264]; int t = threadIdx.x; s[t] = o[t]; __syncthreads(); float x = 0, y = 0;
  {body}
  o[t + 256] = x; o[t + 512] = y;
}}
void f(float *o, int n, int a) {{ k<<<1, 128>>>(o, n, a); }}
"""
TILE = """float z[2] = {0.f};
for (int i = 0; i < 2; i++) if (a + i < n)
  for (int k = 0; k < 8; k++) z[i] += s[(t & 15) * 16 + k] * o[k * 2 + i];
x = z[0]; y = z[1];"""


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        (TILE, 2 * 2 * 4),  # two LDS.128 in each of the two copies of the loop's body
        ("if (n > 3) x = s[t ^ 1] * 2.f; if (a > 3) y = s[t ^ 1] * 3.f;", 8),
        ("if (t < 64) x = s[t ^ 1] * 2.f; if (t < 32) y = s[t ^ 1] * 3.f;", 2 + 1),
        ("if (t < 64) x = s[t ^ 1]; o[t] = 3; if (t < 64) y = s[t ^ 1] * 3.f;", 2 + 2),
        ("if (n > 3) x = s[t ^ 1] * 2.f; if (n > 3) y = s[t ^ 1] * 3.f;", 4),
        ("if (n > 3) { x = expf(s[t ^ 1]); if (a > 2) y = s[t ^ 1] * 2.f; }", 4),
        ("x = s[t ^ 1]; if (n > 5) y = s[t ^ 1];", 4),
    ],
)
def test_a_load_answers_those_that_every_path_comes_to_behind_it(body, loads):
    found = accesses_of(KERNEL.format(body=body))
    assert sum(a.instructions for a in found if a.kind is AccessKind.LOAD) == loads


@pytest.mark.parametrize(("begin", "rounds"), [("for (int j = 0; j < 2; j++)", 2 * 3), ("", 3)])
def test_copies_of_a_loop_that_stays_one_load_for_themselves(begin, rounds):
    """The compiler does not know which iterations of theirs load the same places."""
    loop = "\n#pragma unroll 1\nfor (int i = 0; i < 5; i += 2) x += s[t + i * 2] * o[t];"
    found = accesses_of(KERNEL.format(body=begin + loop))
    assert sum(a.instructions for a in found if a.kind is AccessKind.LOAD) == 4 * rounds


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("if (s[2 * t] > 0 && s[2 * t + 8] > 0) x = s[2 * t + 8] + s[2 * t];", 2),
        ("if (!(s[2 * t] <= 0 || s[2 * t + 8] <= 0)) x = s[2 * t + 8] * 3;", 2),
        ("if (o[t] > n && s[2 * t] > 0) { if (s[2 * t] < 9) x = s[2 * t]; }", 1),
        ("x = s[2 * t] > 0 && s[2 * t + 8] > 3 ? s[2 * t + 8] * o[t + 7] : o[t];", 2),
    ],
)
def test_what_a_condition_loaded_last_is_in_a_register_where_it_holds(body, loads):
    """The second operand was evaluated for it: nvcc 13.5.37, sm_90."""
    found = accesses_of(KERNEL.format(body=body))
    assert sum(a.instructions for a in found if a.kind is AccessKind.LOAD) == 4 * loads


@pytest.mark.parametrize(
    ("condition", "ways", "last"),
    [
        ("s[2 * t] > 0 && s[2 * t + 8] > 0", "{} else x = s[2 * t + 8] * 3;", [None]),
        (
            "s[2 * t] > 0 || s[2 * t + 8] > 0",
            "x = s[2 * t + 8]; else x = s[2 * t + 8] + n;",
            [None, 0],
        ),
        ("t < 64 && s[2 * t + 8] > 0", "{} else x = s[2 * t + 8] * 3;", [None]),
    ],
)
def test_those_load_on_the_other_way_that_did_not_for_the_condition(condition, ways, last):
    """Data says which; LLVM hoists some of such loads in front of the condition: nvcc 13.5.37."""
    found = accesses_of(KERNEL.format(body=f"if ({condition}) {ways}"))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    of_ways = [a for a in loads if a.span.column > len("  if (" + condition)]
    assert [None if a.certainty is Certainty.UNKNOWN else a.instructions for a in of_ways] == last
