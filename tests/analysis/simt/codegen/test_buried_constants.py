"""Runs of an aligned array that are stored in turns: PTX and SASS of nvcc 13.5.37, sm_90.

Where a constant is added before something else is, LLVM does not see how far the runs lie apart.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

TEXT = """
__global__ void k(const float *p, const float *q, int n, int m) {{
  __shared__ __align__(16) float {array};
  int t = threadIdx.x, ty = threadIdx.y;
  {body}
}}
void f(float *a) {{ k<<<1, dim3(64, 4)>>>(a, a, 9, 9); }}
"""
TURNS = "for (int j = 0; j < 4; ++j) {{ {a} = p[j]; {b} = q[j]; }}"
ROLLED = "for (int x = 0; x < 64; ++x) {{ {a} = p[x]; {b} = q[x]; }}"
FLAT, ROWS = "s[12288]", "s[96][128]"


def certainties(body: str, array: str) -> set[Certainty]:
    found = accesses_of(TEXT.format(body=body, array=array))
    return {a.certainty for a in found if a.kind is AccessKind.STORE}


@pytest.mark.parametrize(
    ("turns", "a", "b"),
    [
        (TURNS, "s[ty * 256 + t * 4 + j]", "s[(ty + 8) * 256 + t * 4 + j]"),
        (TURNS, "s[(ty + 8) * 256 + t * 4 + j]", "s[ty * 256 + t * 4 + j]"),
        (TURNS, "s[m * 256 + t * 4 + j]", "s[4096 + m * 256 + t * 4 + j]"),
        (ROLLED, "s[t * 64 + x]", "s[4096 + t * 64 + x]"),
        (ROLLED, "s[t * 68 + x]", "s[4352 + t * 68 + x]"),
        (ROLLED, "s[t * 128 + x]", "s[t * 128 + 64 + x]"),
    ],
)
def test_runs_part_that_differ_in_a_constant_beneath_a_sum(turns: str, a: str, b: str) -> None:
    assert certainties(turns.format(a=a, b=b), FLAT) == {Certainty.SAMPLED}


@pytest.mark.parametrize(
    ("turns", "array", "a", "b"),
    [
        (TURNS, FLAT, "s[ty * 256 + t * 4 + j]", "s[ty * 256 + t * 4 + 64 + j]"),
        (TURNS, FLAT, "s[m * 256 + t * 4 + j]", "s[m * 256 + t * 4 + 4096 + j]"),
        (TURNS, FLAT, "s[t * 4 + j]", "s[4096 + t * 4 + j]"),
        (TURNS, FLAT, "(s + 64)[m * 256 + t * 4 + j]", "(s + 4096)[m * 256 + t * 4 + j]"),
        (ROLLED, ROWS, "s[t % 32][x]", "s[64 + t % 32][x]"),
        (ROLLED, ROWS, "s[t][x]", "s[t][64 + x]"),
    ],
)
def test_runs_fuse_that_differ_in_what_is_added_last(
    turns: str, array: str, a: str, b: str
) -> None:
    assert certainties(turns.format(a=a, b=b), array) == {Certainty.ASSUMED}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("s + ty * 256", "s + 4096 + ty * 256"),
        ("s + ty * 256", "s + (ty + 16) * 256"),
        ("s + ty * 256", "a + 4096"),
        ("s + m * 256", "s + 4096 + m * 256"),
    ],
)
def test_pointers_bury_constants_as_sums_do(a: str, b: str) -> None:
    """Both stores are two STS.64 where the index differs by thread, else each is an STS.128."""
    pointers = f"float *a = {a}, *b = {b}; "
    turns = TURNS.format(a="a[t * 4 + j]", b="b[t * 4 + j]")
    assert certainties(pointers + turns, FLAT) == {Certainty.SAMPLED}
    turns = TURNS.format(a="a[j]", b="b[j]")
    assert certainties(pointers + turns, FLAT) == {Certainty.ASSUMED}


def test_a_run_that_takes_no_turns_fuses() -> None:
    body = "for (int i = 0; i < 2; ++i) for (int j = 0; j < 4; ++j) s[(ty + 8 * i) * 256 + t * 4 + j] = p[i * 4 + j];"
    assert certainties(body, FLAT) == {Certainty.ASSUMED}
