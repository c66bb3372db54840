"""Comparisons of integers: which lanes a condition holds for, whatever the unknowns are."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.ctypes import BOOL, I32, StaticIntType, common
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.integer_scev import combined, scev_of
from smemlint.analysis.simt.domain.intervals import (
    NO_BOUND,
    decided,
    decided_by_lane,
    is_bound,
    lower,
    upper,
)
from smemlint.analysis.simt.domain.lanes import (
    Lanes,
    largest,
    plain,
    settled,
    smallest,
    varies_in_a_warp,
)
from smemlint.analysis.simt.domain.linear_forms import added, is_plain
from smemlint.analysis.simt.domain.scev import CONSTANT, Scev
from smemlint.analysis.simt.domain.values import AffineInt, LanePredicate, Symbol, Unknown, Value
from smemlint.reasons import Reason, ReasonCode

_EQUALITIES = frozenset(("==", "!="))
_COMPARE: dict[str, Callable[[Lanes, Lanes], object]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
COMPARISONS = frozenset(_COMPARE)
_COMPARED = "(compared "
_COMES_OUT_ALIKE: dict[str, Callable[[int, int], bool]] = {
    **dict.fromkeys(("<", ">="), lambda low, high: high < 0 or low >= 0),
    **dict.fromkeys(("<=", ">"), lambda low, high: high <= 0 or low > 0),
    **dict.fromkeys(("==", "!="), lambda low, high: high < 0 or low > 0),
}
"""Whether a comparison comes out alike for all differences between two numbers."""


def compare(op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
    """Returns a comparison as 0 or 1; if open `Unknown`, uniform where both sides are."""
    if not a.terms and not b.terms:
        left, right = a.base, b.base
        if not (a.type.signed and b.type.signed):
            left, right = _as_compared(a, b)
        is_static = isinstance(a.type, StaticIntType) and isinstance(b.type, StaticIntType)
        type, holds = a.type if is_static else BOOL, _COMPARE[op](left, right)
        if is_plain(a) and is_plain(b):
            return AffineInt(int(holds is True), type, (), CONSTANT)
        outcome = settled(plain(holds))
        form = _compared_scev(op, a, b) if isinstance(outcome, int) else None
        return AffineInt(outcome, type, (), form)
    difference = added(a, b, -1, I32)
    if not difference.terms:
        outcome = settled(plain(_COMPARE[op](difference.base, 0)))
        form = _compared_scev(op, a, b) if isinstance(outcome, int) else None
        return AffineInt(outcome, BOOL, (), form)
    low, high = lower(difference), upper(difference)
    is_ordered = op in _EQUALITIES or not _may_wrap(a, b)
    known = decided(op, low, high) if is_ordered else None
    if known is not None:
        is_first = _hangs_on_first(op, difference.base, low, high)
        return AffineInt(int(known), BOOL, (), None if is_first else _compared_scev(op, a, b))
    wandering = wandering_range(op, a, b)
    if wandering is not None:
        return wandering
    uniform = a.is_uniform and b.is_uniform
    reason = Reason(ReasonCode.UNKNOWN_CONDITION, "the condition is not known")
    varies = not uniform and varies_in_a_warp(difference.base)
    if varies and all(s.is_iteration for s, _ in difference.terms):
        may_hold, holds = decided_by_lane(op, difference)
        return LanePredicate(reason, op == "==", may_hold=may_hold, holds=holds, is_staggered=True)
    is_data = varies and op == "=="
    confines = not agrees_by_warp(difference) and not any(map(_is_place_of_block, difference.terms))
    if is_ordered and not uniform and (is_bound(low) or is_bound(high)):
        may_hold, holds = decided_by_lane(op, difference)
        if holds.any() or not may_hold.all():
            return LanePredicate(reason, is_data, confines=confines, may_hold=may_hold, holds=holds)
    condition = _written(op, a, b) if uniform else ""
    return Unknown(reason, is_data, uniform, condition=condition, confines=confines)


def is_seen(condition: AffineInt) -> bool:
    """Returns whether the compiler sees that a comparison comes out alike for all threads."""
    return not any(key.startswith(_COMPARED) for key, _ in scev_of(condition).terms)


def _compared_scev(op: str, a: AffineInt, b: AffineInt) -> Scev | None:
    """Returns the form of a comparison that comes out alike for all threads; None if LLVM sees it.

    It knows that a thread's number lies below 1024, and what is left of it behind `%` and `/`; not
    how large the block is. `2 * t < 256` and `2 * t + 1 < 256` become one: such forms are open.
    """
    x, y = scev_of(a), scev_of(b)
    if x.terms == y.terms:
        return CONSTANT
    known, sign = (x, 1) if not y.terms else (y, -1)
    if not (x.terms and y.terms) and known.most is not None:
        apart = np.asarray(a.base) - np.asarray(b.base)
        ends = (int(apart.min()), int(apart.min()) + known.most)
        if sign < 0:
            ends = (int(apart.max()) - known.most, int(apart.max()))
        if _COMES_OUT_ALIKE[op](*ends):
            return None
    form = combined(f"{_COMPARED[1:]}{op}", a, b)
    return replace(form, is_open=min(x.alignment, y.alignment) > 1)


def _hangs_on_first(op: str, lanes: Lanes, low: int, high: int) -> bool:
    """Returns whether a difference is decided at the end where thread 0 stands.

    The compiler sees that one: it knows that numbers of threads are not negative, not their block.
    """
    first = lanes if isinstance(lanes, int) else lanes.item(0)
    low = low if smallest(lanes) == first else -NO_BOUND
    return decided(op, low, high if largest(lanes) == first else NO_BOUND) is not None


def truth(a: AffineInt) -> AffineInt | Unknown:
    """Returns the value as a condition."""
    return a if a.type.is_bool and not a.terms else compare("!=", a, AffineInt(0))


def _is_place_of_block(term: tuple[Symbol, Lanes]) -> bool:
    """Returns whether an unknown is where the block is in the grid."""
    return term[0].key.startswith("blockIdx.")


def _as_compared(a: AffineInt, b: AffineInt) -> tuple[Lanes, Lanes]:
    """Returns two numbers in the type that C++ compares them in: `-1 < 8u` does not hold."""
    type = common(a.type, b.type)
    if type.signed or min(smallest(a.base), smallest(b.base)) >= 0:
        return a.base, b.base
    return _as_unsigned(a.base, type.bits), _as_unsigned(b.base, type.bits)


def _may_wrap(a: AffineInt, b: AffineInt) -> bool:
    """Returns whether a side may be a negative number that C++ compares as a large one.

    An unknown without a bound is taken for a size: one that is not negative.
    """
    if common(a.type, b.type).signed:
        return False
    return any(low < 0 and is_bound(low) for low in (lower(a), lower(b)))


def _as_unsigned(base: Lanes, bits: int) -> Lanes:
    most = (1 << bits) - 1
    return base & most if isinstance(base, int) else base.astype(np.uint64) & np.uint64(most)  # type: ignore[return-value]


def _written(op: str, a: AffineInt, b: AffineInt) -> str:
    """Returns a text that is equal only for equal comparisons: by `<` or `==`, or `!` of these."""
    if op in (">", "<="):
        a, b = b, a
    type, name = common(a.type, b.type), "==" if op in ("==", "!=") else "<"
    text = f"({name} {type.bits} {type.signed} {a.identity()} {b.identity()})"
    return f"!{text}" if op in ("<=", ">=", "!=") else text


def wandering_range(op: str, a: Value, b: Value) -> LanePredicate | None:
    """Returns the condition that a number is in a range that wanders through a warp.

    Of `(unsigned)t < n`, where each iteration moves `t` by little and `t` may be below 0, the range
    has both ends: which lanes are inside of it is another matter in each iteration, whatever its
    length. None for all other comparisons.
    """
    number, bound = (a, b) if op in ("<", "<=") else (b, a)
    if op not in ("<", "<=", ">", ">=") or not isinstance(number, AffineInt) or number.type.signed:
        return None
    if not isinstance(bound, AffineInt | Unknown) or not _wanders(number):
        return None
    may_hold, _ = decided_by_lane(">=", number)
    reason = Reason(ReasonCode.UNKNOWN_CONDITION, "the condition is not known")
    is_data = isinstance(bound, Unknown) and bound.is_data
    return LanePredicate(
        reason, is_data, may_hold=may_hold, holds=np.zeros_like(may_hold), is_staggered=True
    )


def _wanders(number: AffineInt) -> bool:
    """Returns whether an iteration moves it by less than what the lanes of a warp are apart."""
    if isinstance(number.base, int) or not np.min(number.base) < 0:
        return False
    rows = number.base.reshape(-1, WARP)
    span = int((rows.max(axis=1) - rows.min(axis=1)).max())
    steps = [abs(int(c)) * s.multiple for s, c in number.terms if s.is_iteration]
    return bool(steps) and max(steps) <= span
