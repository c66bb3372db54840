"""What nvcc 13.5.37 for sm_90 makes of four stores whose index is put together from a quotient."""

from __future__ import annotations

import pytest
from conftest import accesses_of

FUSED = ("store", 16, 4, 8)
APART = ("store", 4, 4, 32)


@pytest.mark.parametrize(
    "place",
    [
        "s[i % 32 + i / 32 * 32]",
        "s[i / 48 * 48 + i % 48]",
        "s[(i >> 5 << 5) + (i & 31)]",
        "s[i >> 5 << 5 | i & 31]",
        "s[i % 32 + 5 + i / 32 * 32 + 3]",
        "s[row * 32 + column]",
        "s[(i - i % 32) + i % 32]",
        "s[i - i % 48 + i % 48]",
        "s[i - (i & 31) + (i & 31)]",
        "s[(i & ~31) + (i & 31)]",
        "s[i & ~31 | i & 31]",
    ],
)
@pytest.mark.parametrize("kind", ["int", "unsigned"])
def test_a_quotient_and_its_remainder_make_the_number_that_was_divided(place, kind):
    assert _store(place, kind) == FUSED


@pytest.mark.parametrize(
    "place",
    [
        "rows[i / 32][i % 32]",
        "s[i % 32 + i / 32 * 64]",
        "s[threadIdx.y * 512 + i / 32 * 32 + i % 32]",
        "s[i / 32 * 32 + (i & 31)]",
        "s[(i >> 5 << 5) + i % 32]",
        "s[i / 32 * 32 ^ i % 32]",
        "s[i / 32 * 32 + (i % 32 ^ 4)]",
    ],
)
def test_other_sums_stay_four_stores(place):
    assert _store(place, "int") == APART


def test_twice_the_number_stays_four_stores():
    assert _store("s[2 * (i % 32) + i / 32 * 64]", "int") == ("store", 4, 8, 32)


def _store(place: str, kind: str) -> tuple[object, ...]:
    source = (
        "__global__ void k(const float *g, int n) {\n"
        "  __shared__ __align__(16) float s[4096], rows[64][32];\n"
        f"  for (int j = 0; j < 4; ++j) {{ {kind} i = threadIdx.x * 4 + j;\n"
        f"    {kind} row = i / 32, column = i % 32; {place} = g[n * j + threadIdx.x]; }}\n"
        "}\nvoid run(float *g) { k<<<1, 256>>>(g, 3); }\n"
    )
    (access,) = accesses_of(source)
    assert access.wavefronts is not None
    return access.kind.value, access.width_bytes, access.wavefronts.mean, access.instructions
