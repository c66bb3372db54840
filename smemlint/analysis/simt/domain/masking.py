"""Values thread by thread: equality, truth, and what the threads of a mask hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import BOOL
from smemlint.analysis.simt.domain.integer_scev import chosen_scev
from smemlint.analysis.simt.domain.lanes import Lanes
from smemlint.analysis.simt.domain.linear_forms import with_form
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.unknown_offset import one_or_other
from smemlint.analysis.simt.domain.values import (
    GIVEN,
    NOT_GIVEN,
    AffineInt,
    Aggregate,
    Cute,
    FloatValue,
    LanePredicate,
    PartialValue,
    Pointer,
    Symbol,
    Unknown,
    Value,
    hangs_on_null,
    number,
)
from smemlint.limits.budgets import MAX_UNKNOWNS_OF_LANES
from smemlint.reasons import ReasonCode


def same(a: Value | None, b: Value | None) -> bool:
    """Returns whether two values are known to be equal."""
    if a is b:
        return True
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        return a.identity() == b.identity()
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.object is b.object and same(a.offset, b.offset)
    if isinstance(a, FloatValue) and isinstance(b, FloatValue):
        return True
    if isinstance(a, Aggregate) and isinstance(b, Aggregate):
        return a.cells.keys() == b.cells.keys() and all(
            same(v, b.cells[k]) for k, v in a.cells.items()
        )
    if isinstance(a, Cute) and isinstance(b, Cute):
        from smemlint.layout.cute import Tensor

        one, other = a.payload, b.payload
        return isinstance(one, Tensor) and isinstance(other, Tensor) and one.is_same(other)
    return a == b if isinstance(a, Unknown) and isinstance(b, Unknown) else False


def truth_bounds(value: Value) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns the threads for which a truth value may hold, and those for which it is known to.

    Scalars, which broadcast, stand for all threads.
    """
    if isinstance(value, LanePredicate):
        return value.may_hold, value.holds
    if isinstance(value, AffineInt) and value.is_concrete:
        known = np.asarray(value.base) != 0
        return known, known
    return np.asarray(True), np.asarray(False)


def lane_predicate(
    why: Unknown,
    may_hold: NDArray[np.bool_],
    holds: NDArray[np.bool_],
    *,
    is_staggered: bool = False,
) -> Unknown:
    """Returns the condition with these bounds, where they say anything about single threads."""
    if not may_hold.ndim and not holds.ndim:
        return Unknown(why.reason, why.is_data, confines=why.confines)
    may_hold, holds = np.broadcast_arrays(may_hold, holds)
    return LanePredicate(
        why.reason,
        why.is_data,
        confines=why.confines,
        may_hold=may_hold,
        holds=holds,
        is_staggered=is_staggered,
    )


def is_staggered(*values: Value) -> bool:
    """Returns whether one of the truth values holds for other threads in each iteration."""
    return any(isinstance(v, LanePredicate) and v.is_staggered for v in values)


def is_truth(value: Value) -> bool:
    """Returns whether it is unknown, or 0 or 1 for each thread."""
    if isinstance(value, Unknown):
        return True
    return (
        isinstance(value, AffineInt)
        and value.is_concrete
        and bool(np.isin(value.base, (0, 1)).all())
    )


def propagated(a: Value, b: Value) -> Unknown:
    """Returns what an operation on two values gives, one of which is unknown."""
    unknown = a if isinstance(a, Unknown) else b
    assert isinstance(unknown, Unknown)
    uniform = getattr(a, "is_uniform", False) and getattr(b, "is_uniform", False)
    data = unknown.is_data or (isinstance(b, Unknown) and b.is_data)
    return Unknown(unknown.reason, data, uniform, unknown.split)


def opposite(value: AffineInt) -> AffineInt:
    """Returns the opposite of a condition that is known for all threads."""
    if hangs_on_null(value):
        return NOT_GIVEN if value is GIVEN else GIVEN
    return number(0 if value.constant else 1, BOOL)


def negated(value: Unknown) -> Unknown:
    """Returns the opposite of a truth value that is not known."""
    text = value.condition
    opposite = text.removeprefix("!") if text.startswith("!") else text and f"!{text}"
    return replace(propagated(value, value), condition=opposite, confines=value.confines)


def select(mask: NDArray[np.bool_], a: Value, b: Value) -> Value:
    """Returns thread by thread `a` where `mask`, else `b`."""
    result = _selected(mask, a, b)
    return one_or_other(a, b, result) if isinstance(result, Unknown) else result


def _selected(mask: NDArray[np.bool_], a: Value, b: Value) -> Value:
    if same(a, b):
        return a
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        coefficients: dict[Symbol, tuple[Lanes, Lanes]] = {s: (c, 0) for s, c in a.terms}
        for s, c in b.terms:
            coefficients[s] = (coefficients.get(s, (0, 0))[0], c)
        if len(coefficients) > MAX_UNKNOWNS_OF_LANES:
            text = f"threads hold different sums of more than {MAX_UNKNOWNS_OF_LANES} unknowns"
            return Unknown.because(ReasonCode.TOO_LARGE, text)
        terms = tuple((s, _where(mask, x, y)) for s, (x, y) in coefficients.items())
        return AffineInt(_where(mask, a.base, b.base), a.type, terms)
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
        offset = select(mask, a.offset, b.offset)
        if isinstance(offset, Unknown):
            return offset
        assert isinstance(offset, AffineInt)
        return Pointer(a.object, offset, a.target, a.is_volatile or b.is_volatile)
    if isinstance(a, FloatValue | Unknown) and isinstance(b, FloatValue):
        return a
    if isinstance(a, FloatValue) and isinstance(b, AffineInt | Unknown):
        return a
    if isinstance(a, Aggregate) and isinstance(b, Aggregate):
        keys = [*a.cells, *(k for k in b.cells if k not in a.cells)]
        return Aggregate(a.type, {k: _select_cell(mask, a, b, k) for k in keys})
    unknown = a if isinstance(a, Unknown) else b
    if isinstance(unknown, Unknown) and is_truth(a) and is_truth(b):
        (a_may, a_does), (b_may, b_does) = truth_bounds(a), truth_bounds(b)
        return lane_predicate(
            unknown,
            np.where(mask, a_may, b_may),
            np.where(mask, a_does, b_does),
            is_staggered=is_staggered(a, b),
        )
    if isinstance(unknown, Unknown):
        return Unknown(unknown.reason, unknown.is_data)
    return Unknown.because(
        ReasonCode.UNKNOWN_CONDITION, "different threads hold values of different kinds"
    )


def chosen(mask: NDArray[np.bool_], a: Value, b: Value) -> Value:
    """Returns thread by thread `a` where `mask`, else `b`, which the compiler sees both."""
    return _with_form(a, b, select(mask, a, b))


def _with_form(a: Value, b: Value, result: Value) -> Value:
    x, y, both = map(number_of, (a, b, result))
    if x is not None and y is not None and both is not None and both is not x:
        both.form = chosen_scev(x, y, both)
    return result


def number_of(value: Value | None) -> AffineInt | None:
    """Returns an integer, or where a pointer points to; None of all else."""
    number = value.offset if isinstance(value, Pointer) else value
    return number if isinstance(number, AffineInt) else None


def formed(number: AffineInt, form: Scev) -> AffineInt:
    """Returns a number that the compiler computes in that way, also as its writers see it."""
    made = with_form(number, form)
    if number.written is not None:
        made.written = number.written[0], formed(number.written[1], form)
    return made


def masked_update(
    mask: NDArray[np.bool_], value: Value, old: Value, born: NDArray[np.bool_] | None = None
) -> Value:
    """Returns what a variable holds after the threads of `mask` wrote over it.

    Args:
        mask: the threads that write.
        value: what they write.
        old: what it held.
        born: the threads that have the variable; None for the writers. Of one, as on the host,
            there is no other that would see another number.
    """
    before = under_mask(None, old)
    result = _with_form(value, before, _selected(mask, value, before))
    if not isinstance(result, Unknown):
        of_all, of_writers = number_of(result), number_of(value)
        is_shared = np.count_nonzero(mask if born is None else born) > 1
        if is_shared and of_all is not None and of_writers is not None and of_all is not of_writers:
            of_all.written = (mask, of_writers)
        return result
    kept: Value | None = None
    holders = np.zeros_like(mask)
    if isinstance(old, PartialValue):
        kept, holders = old.value, old.holders
    elif isinstance(old, AffineInt | Pointer):
        kept, holders = old, np.ones_like(mask)
    if isinstance(value, AffineInt | Pointer):
        is_kept = kept is not None and np.count_nonzero(holders & ~mask)
        both = _selected(mask, value, kept) if kept is not None and is_kept else None
        follows_both = isinstance(both, AffineInt | Pointer)
        kept, holders = (both, holders | mask) if follows_both else (value, mask)
    else:
        holders = holders & ~mask
    either = one_or_other(value, before, result)
    if not isinstance(kept, AffineInt | Pointer) or not np.count_nonzero(holders):
        return either
    return PartialValue(result.reason, result.is_data, value=kept, holders=holders, of_all=either)


def under_mask(mask: NDArray[np.bool_] | None, value: Value) -> Value:
    """Returns what those threads see of it; None: all of them."""
    if value.__class__ is AffineInt:
        return value if mask is None else _as_active_see(mask, value)
    if mask is not None and isinstance(value, Pointer):
        seen = _as_active_see(mask, value.offset)
        return value if seen is value.offset else replace(value, offset=seen)
    if not isinstance(value, PartialValue):
        return value
    if mask is not None and not np.count_nonzero(mask & ~value.holders):
        return value.value
    return value.of_all


def seen_by(mask: NDArray[np.bool_] | None, cell: Value | None) -> Value | None:
    """Returns what those threads see of a cell, see `under_mask`; None of one never written."""
    return None if cell is None else under_mask(mask, cell)


def _as_active_see(mask: NDArray[np.bool_], value: AffineInt) -> AffineInt:
    """Returns what those threads wrote last, with coefficients that are one where they share them.

    What a warp group counts is not counted by the others, whose coefficients are zero.
    """
    if value.written is not None and not np.count_nonzero(mask & ~value.written[0]):
        return value.written[1]
    if not value.terms or all(isinstance(c, int) for _, c in value.terms):
        return value
    terms = tuple((s, _shared(mask, c)) for s, c in value.terms)
    return AffineInt(value.base, value.type, terms, value.form)


def _shared(mask: NDArray[np.bool_], lanes: Lanes) -> Lanes:
    if isinstance(lanes, int):
        return lanes
    active = lanes[mask]
    return int(active[0]) if active.size and (active == active[0]).all() else lanes


def _select_cell(mask: NDArray[np.bool_], a: Aggregate, b: Aggregate, key: int) -> Value:
    x, y = a.cells.get(key), b.cells.get(key)
    if x is None or y is None:
        return x if y is None and x is not None else y  # type: ignore[return-value]
    return select(mask, x, y)


def _where(mask: NDArray[np.bool_], a: Lanes, b: Lanes) -> Lanes:
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    return np.where(mask, a, b).astype(np.int64, copy=False)
