"""How wide nvcc 13.5.37 for sm_90 makes four neighbours behind an index that holds a difference."""

from __future__ import annotations

import pytest
from conftest import accesses_of


@pytest.mark.parametrize("kind", ["int", "unsigned"])
@pytest.mark.parametrize(
    ("index", "width"),
    [
        ("y * 68 + (i - y * 60)", 16),
        ("y * 72 + (i - y * 18)", 8),
        ("y * 60 + (i - y * 60)", 16),
        ("y * 18 + (i - y * 18)", 16),
        ("y * 68 + i % 60", 16),
        ("y * 72 + i % 18", 8),
        ("4 * t - t / 5 * 12 + 1024", 16),
        ("4 * t - t % 5 * 12 + 1024", 16),
        ("64 * n - 20 * (t >> 3) + 1024", 16),
        ("4 * t - 8 * (t >> 3) + 1024", 4),
        ("4 * t - 16 * (t & 7) + 1024", 4),
    ],
)
def test_a_multiple_that_is_no_shift_leaves_the_alignment(kind, index, width):
    assert _width(kind, index) == width


@pytest.mark.parametrize("kind", ["int", "unsigned"])
@pytest.mark.parametrize("column", ["4 * (t & 15) % 60", "4 * (t & 7) % 20"])
def test_a_remainder_of_less_than_two_divisors_is_compared(kind, column):
    assert _width(kind, f"64 * n + {column}") == 4


@pytest.mark.parametrize("kind", ["int", "unsigned"])
def test_a_remainder_of_less_than_the_divisor_is_the_number(kind):
    assert _width(kind, "72 * n + 4 * (t & 15) % 64") == 16


@pytest.mark.parametrize(
    "index",
    ["4 * t - 8 * n + 1024", "512 + 4 * t - 8 * n + 1024", "i / 64 * 68 + (i - i / 64 * 64)"],
)
def test_a_shift_that_is_subtracted_is_open(index):
    """The first is four STS, the second one STS.128, the last the one or the other by its place."""
    assert _width("int", index) is None


def _width(kind: str, index: str, declared: str = "") -> int | None:
    """Returns the width of all stores; None where it is open."""
    stores = " ".join(f"s[d + {j}] = v[{j}];" for j in range(4))
    source = f"""__global__ void k(const float *g, int m) {{
      __shared__ {declared}float s[8192];
      {kind} t = threadIdx.x, n = threadIdx.y, i = 4 * t, y = i / {18 if "18" in index else 60};
      float v[4];
      for (int j = 0; j < 4; ++j) v[j] = g[m * j + t];
      {kind} d = {index};
      {stores}
    }}
    void run(float *g) {{ k<<<1, dim3(32, 8)>>>(g, 3); }}
    """
    found = [a for a in accesses_of(source) if a.instructions or a.reason]
    if any(a.certainty.value == "sampled" for a in found):
        return None
    (width,) = {a.width_bytes for a in found}
    return width


@pytest.mark.parametrize(("declared", "width"), [("__align__(16) ", 16), ("", 4)])
def test_of_the_remainder_of_an_int_llvm_sees_the_alignment(declared, width):
    """Four words behind `4 * t % 64`: LLVM has to know how the array is aligned, ptxas does not."""
    for index in ("4 * t % 64", "t / 16 * 64 + t * 4 % 64", "t * 16 % 512"):
        assert _width("int", index, declared) == width
