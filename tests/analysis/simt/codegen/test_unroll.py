"""How many iterations share a basic block; factors as in the SASS of nvcc 13.0.88 -O3, sm_90."""

from __future__ import annotations

import pytest

from smemlint.analysis.simt.codegen.unroll import unrolled


@pytest.mark.parametrize(
    ("trips", "cost", "pragma", "is_constant", "factor"),
    [
        (8, 80, "", True, 8),  # 8 * 11 + 2 are at most 405
        (31, 372, "", True, 31),  # 31 * 13 + 2 = 405
        (32, 384, "", True, 8),  # 32 * 13 + 2 are more; 8 * 13 are at most 200, 16 * 13 are not
        (1000, 10_000, "", True, 8),  # 1000 is no multiple of 16
        (999, 9990, "", True, 1),
        (100, 1000, "", False, 4),  # 4 * 11 are at most 200
        (100, 6000, "", False, 1),
        (8, 80, "nounroll", True, 1),
        (100, 10_000, "unroll 4", False, 4),
        (100, 10_000, "unroll(5)", True, 5),
        (16, 160, "unroll 0", True, 16),
        (64, 6400, "unroll", True, 64),  # 64 * 101 are at most 16384
        (256, 25_600, "unroll", True, 128),
        (8, 80, "unroll N", False, 4),
        (0, 0, "", True, 1),
        (7, 70, "unroll 1000000000000", True, 7),
    ],
)
def test_the_factor(trips, cost, pragma, is_constant, factor):
    assert unrolled(trips, cost, pragma, is_constant=is_constant) == factor


def test_what_cannot_be_counted_in_front_of_the_loop_stays_rolled():
    assert unrolled(100, 1000, "", is_constant=False, is_countable=False) == 1
