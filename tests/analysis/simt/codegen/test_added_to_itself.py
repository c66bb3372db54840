"""Sums of multiples of one number: widths as in SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty


def loads_of(before: str, index: str, count: int) -> tuple[set[int], bool]:
    """The widths of the loads of neighbours, and whether a figure is a range."""
    elements = " * ".join(f"s[{index} + {i}]" for i in range(count))
    found = accesses_of(
        "__global__ void k(float *g, int n) {\n  __shared__ float s[4096]; int t = threadIdx.x;\n"
        "  for (int i = t; i < 4096; i += 512) s[i] = g[i];\n  __syncthreads();\n"
        f"  {before}\n  g[t] = {elements};\n}}\nvoid f(float *p) {{ k<<<3, 512>>>(p, 7); }}\n"
    )
    here = [a for a in found if a.span.line == 6]
    is_open = any(a.certainty is Certainty.SAMPLED for a in here)
    return {a.width_bytes for a in here if a.instructions}, is_open


@pytest.mark.parametrize(
    ("before", "index", "count"),
    [
        ("", "t + t", 2),
        ("int l = t; l += t;", "l", 2),
        ("int l = t; l += l; l += l;", "l", 4),
        ("int l = t + n;", "l + l", 2),
        ("int z = 3 * t; g[t + 900] = z;", "t + z", 4),
        ("int x = 6 * t, y = 2 * t;", "x + y", 4),
        ("int q = 5 * t - t;", "q", 4),
        ("unsigned q = t + t;", "q", 2),
        ("", "t + t + t + t", 4),
        ("int q = t % 24;", "q + q + q + q", 4),
    ],
)
def test_multiples_of_one_number_add_up_to_one(before: str, index: str, count: int) -> None:
    """Elements of `s[t + t]` were said to be single words, in conflict."""
    assert loads_of(before, index, count) == ({4 * count}, False)


@pytest.mark.parametrize(
    ("before", "index", "width"),
    [
        ("", "t + 2 * n + t", 8),
        ("int l = t + 2 * n; g[t + 900] = l;", "l + t", 4),
        ("int z = t + 2;", "t + z", 4),
        ("int z = t - 1;", "t + 1 + z", 8),
        ("int l = t + n, q = l + t;", "q + n", 4),
        ("int q = 5 * t + n * 8;", "q - t", 16),
    ],
)
def test_of_other_sums_it_is_open(before: str, index: str, width: int) -> None:
    """What LLVM makes of them hangs on what else is done with their parts."""
    assert loads_of(before, index, width // 4 if width > 4 else 2)[1]


def test_a_sum_of_five_times_is_aligned_to_nothing() -> None:
    assert loads_of("", "2 * t + 3 * t", 2) == ({4}, False)
