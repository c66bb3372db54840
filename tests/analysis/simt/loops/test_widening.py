"""Widening and joins of single values: what holds in every iteration and on both paths."""

from __future__ import annotations

import numpy as np
import pytest
from traces import shared

from smemlint.analysis.simt.domain.ctypes import FLOAT, I32, I64
from smemlint.analysis.simt.domain.environment import Geometry
from smemlint.analysis.simt.domain.masking import masked_update, select, under_mask
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Object,
    PartialValue,
    Pointer,
    Space,
    Symbol,
    Unknown,
)
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.interpreter.joins import join
from smemlint.analysis.simt.loops.widening import widen
from smemlint.frontend.cuda.unit import LoadOptions, load_unit
from smemlint.reasons import Reason, ReasonCode

TEXT = "__global__ void k(int n) { int i; if (n > 5) i = 1; }"
LANES = np.arange(32, dtype=np.int64)
N = AffineInt(0, terms=((Symbol("n", "n"), 1),))
OPEN = Unknown(Reason(ReasonCode.UNKNOWN_CONDITION, "open"))
UNIFORM = Unknown(Reason(ReasonCode.UNKNOWN_CONDITION, "open"), is_uniform=True)


@pytest.fixture
def ev() -> Interpreter:
    unit = load_unit("k.cu", TEXT, LoadOptions(read=lambda _: None))
    found = Interpreter(unit, Geometry.of((32, 1, 1)), Trace(10))
    found.state.frames.append(Frame("k", [{}]))
    return found


@pytest.fixture
def branch(ev):
    return ev.state.unit.functions[0].parse().tree.body.block_items[1]


@pytest.fixture
def trip(ev) -> AffineInt:
    return ev.state.domain.symbol("trip", "the iteration", I32, nonnegative=True)


LOCAL = Object("i", I32, Space.LOCAL, "i")


class TestWiden:
    """What a variable holds at the start of any iteration."""

    @pytest.mark.parametrize(("begin", "end"), [(0, 1), (5, 2), (3, 35)])
    def test_a_constant_step_is_an_induction_variable(self, ev, trip, begin, end):
        found = widen(ev, AffineInt(begin), AffineInt(end), trip, LOCAL, seen=False)
        assert found.base == begin
        assert [(s.name, c) for s, c in found.terms] == [("the iteration", end - begin)]

    def test_lanes_that_advance_together_keep_their_distance(self, ev, trip):
        begin, end = AffineInt(LANES * 4), AffineInt(LANES * 4 + 64)
        found = widen(ev, begin, end, trip, LOCAL, seen=False)
        assert found.base.tolist() == (LANES * 4).tolist()
        assert [c for _, c in found.terms] == [64]

    def test_a_form_that_holds_is_kept(self, ev, trip):
        begin = widen(ev, AffineInt(0), AffineInt(2), trip, LOCAL, seen=False)
        end = ev.state.domain.add(begin, AffineInt(2))
        assert widen(ev, begin, end, trip, LOCAL, seen=True) is None

    def test_other_changes_of_a_uniform_number_leave_a_uniform_unknown(self, ev, trip):
        found = widen(ev, AffineInt(1), N, trip, LOCAL, seen=False)
        assert (found.base, found.is_uniform, [s.name for s, _ in found.terms]) == (0, True, ["i"])

    def test_lanes_that_move_apart_are_unknown(self, ev, trip):
        begin, end = AffineInt(LANES), AffineInt(LANES, terms=((Symbol("n", "n"), LANES),))
        found = widen(ev, begin, end, trip, LOCAL, seen=False)
        assert found.reason.code is ReasonCode.LOOP

    def test_a_pointer_advances_in_its_array(self, ev, trip):
        array = shared()
        begin, end = (Pointer(array, AffineInt(at, I64), FLOAT) for at in (0, 132))
        found = widen(ev, begin, end, trip, LOCAL, seen=False)
        assert found.object is array
        assert [c for _, c in found.offset.terms] == [132]

    def test_floating_point_numbers_are_not_followed(self, ev, trip):
        value = FloatValue(FLOAT)
        assert widen(ev, value, value, trip, LOCAL, seen=False) is None


class TestJoin:
    """The value after a condition that is not known."""

    def test_what_is_the_same_on_both_paths_stays(self, ev, branch):
        assert join(ev, N, N, OPEN, branch) is N

    @pytest.mark.parametrize(("a", "b"), [(0, 32), (40, 8), (-4, 4)])
    def test_one_of_two_numbers_under_a_uniform_condition(self, ev, branch, a, b):
        found = join(ev, AffineInt(a), AffineInt(b), UNIFORM, branch)
        ((symbol, step),) = found.terms
        assert {found.base, found.base + step} == {a, b}
        assert (symbol.nonnegative, symbol.most) == (True, 1)

    def test_two_numbers_under_a_condition_of_each_thread_are_unknown(self, ev, branch):
        found = join(ev, AffineInt(0), AffineInt(32), OPEN, branch)
        assert isinstance(found, Unknown)
        assert found.reason is OPEN.reason

    def test_truth_values_keep_what_is_known_of_threads(self, ev, branch):
        a, b = AffineInt((LANES < 8).astype(np.int64)), AffineInt((LANES < 16).astype(np.int64))
        found = join(ev, a, b, OPEN, branch)
        assert found.may_hold.tolist() == (LANES < 16).tolist()
        assert found.holds.tolist() == (LANES < 8).tolist()

    def test_pointers_into_one_array(self, ev, branch):
        array = shared()
        a, b = (Pointer(array, AffineInt(at, I64), FLOAT) for at in (0, 64))
        found = join(ev, a, b, UNIFORM, branch)
        assert found.object is array
        assert [c * s.multiple for s, c in found.offset.terms] == [64]


class TestSelect:
    """Thread by thread, and variables that only some threads wrote."""

    HALF = LANES < 16

    def test_numbers_by_lane(self):
        found = select(self.HALF, AffineInt(LANES), AffineInt(7))
        assert found.base.tolist() == [lane if lane < 16 else 7 for lane in range(32)]

    def test_unknown_parts_by_lane(self):
        found = select(self.HALF, N, AffineInt(0))
        assert [c.tolist() for _, c in found.terms] == [[1] * 16 + [0] * 16]

    def test_a_variable_is_known_to_those_that_wrote_a_number(self):
        written = masked_update(self.HALF, AffineInt(LANES * 2), OPEN)
        assert isinstance(written, PartialValue)
        assert under_mask(self.HALF, written).base.tolist() == (LANES * 2).tolist()
        assert isinstance(under_mask(np.ones(32, dtype=bool), written), Unknown)
        assert not isinstance(under_mask(None, written), PartialValue)

    def test_an_unknown_number_hides_what_other_threads_hold_no_more_than_needed(self):
        written = masked_update(self.HALF, OPEN, AffineInt(LANES))
        assert under_mask(~self.HALF, written).base.tolist() == LANES.tolist()
        assert isinstance(under_mask(self.HALF, written), Unknown)
