"""Comparisons of lanes with bounded unknowns, against all values that these may have."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.intervals import decided_by_lane
from smemlint.analysis.simt.domain.values import AffineInt, Symbol

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
LANES = np.arange(-8, 24)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("factor", [1, -1, 3, LANES % 3 - 1])
@pytest.mark.parametrize(("most", "values"), [(5, range(6)), (None, range(200))])
def test_no_value_says_otherwise(op, factor, most, values):
    number = AffineInt(LANES, I32, ((Symbol("s", "s", 1, True, most), factor),))
    may_hold, holds = decided_by_lane(op, number)
    seen = np.array([OPERATORS[op](LANES + factor * v, 0) for v in values])
    assert not (seen & ~may_hold).any()
    assert not (~seen & holds).any()
    if op not in ("==", "!="):  # ends of an interval are values
        np.testing.assert_array_equal(np.broadcast_to(may_hold, LANES.shape), seen.any(axis=0))
        np.testing.assert_array_equal(np.broadcast_to(holds, LANES.shape), seen.all(axis=0))


def test_nothing_is_known_of_what_may_be_negative():
    may_hold, holds = decided_by_lane("<", AffineInt(LANES, I32, ((Symbol("s", "s"), 1),)))
    assert may_hold.all()
    assert not holds.any()
