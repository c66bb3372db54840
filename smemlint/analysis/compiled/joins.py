"""The lattice's joins: lanes of two paths, alternatives of one warp, widening at loop heads."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.values import (
    ANY,
    PATHS,
    WORD_BITS,
    Cause,
    Lanes,
    Symbol,
    Terms,
    Value,
    both_known,
    cause_of,
    common_cause,
    is_same_terms,
    top,
)

Mask = NDArray[np.bool_]


def pick(lanes: Mask, x: Value, y: Value) -> Value:
    """Takes `x` in the lanes given, `y` in all others."""
    if x is y:
        return x
    if is_same_terms(x.terms, y.terms):
        return _picked(lanes, x, y, x.terms, min(x.bits, y.bits))
    by_warp = lanes.all(axis=1) | ~lanes.any(axis=1) if lanes.ndim else np.True_
    if by_warp.all():
        common = gcd(*(f for _, f in (*x.terms, *y.terms)))
        bits = min(v.bits for v in (x, y) if v.terms)
        return _picked(lanes, x, y, ((Symbol(), common),), bits)
    keep_x = not x.terms or (bool(y.terms) and lanes.sum() * 2 > lanes.size)
    nothing = top(PATHS)
    if keep_x:
        return _picked(lanes, x, nothing, x.terms, x.bits)
    return _picked(lanes, nothing, y, y.terms, y.bits)


def _picked(lanes: Mask, x: Value, y: Value, terms: Terms, bits: int) -> Value:
    base: Lanes = x.base
    if not (isinstance(x.base, int) and isinstance(y.base, int) and x.base == y.base):
        base = np.where(lanes, x.base, y.base)
    if x.known is True and y.known is True:
        return Value(base, terms, bits)
    known = np.where(lanes, x.known, y.known)
    if known.all():
        return Value(base, terms, bits)
    if not known.any():
        return top(common_cause(x, y))
    return Value(base, terms, bits, known, cause_of(x, y) or PATHS)


def join(
    x: Value, y: Value, in_x: Mask, in_y: Mask, *, by_lane: bool, cause: Cause = PATHS
) -> Value:
    """Joins a register of two paths that meet.

    Args:
        x: its value on the first path.
        y: its value on the second.
        in_x: the lanes that arrive on the first path.
        in_y: those on the second; lanes in both arrive on either.
        by_lane: lanes chose their path one by one; else warps chose as a whole.
        cause: why lanes that differ are unknown.
    """
    if x is y:
        return x
    both = in_x & in_y
    if not both.any():
        return pick(in_x, x, y)
    if not by_lane:
        if (in_x == in_y).all():
            return join_uniform(x, y, both)
        return pick(in_x, *_alternatives(x, y, both))
    same = np.broadcast_to(np.asarray(x.base == y.base), both.shape)
    if not is_same_terms(x.terms, y.terms):
        same = same & False
    agreed = ~both | (same & x.known & y.known)
    chosen = pick(in_x, x, y)
    known = agreed & chosen.known
    if known.all():
        return chosen
    if not known.any():
        return top(common_cause(x, y) if cause_of(x, y) else cause)
    return Value(chosen.base, chosen.terms, chosen.bits, known, cause_of(x, y) or cause)


def _alternatives(x: Value, y: Value, both: Mask) -> tuple[Value, Value]:
    """Returns both values with the unknown added that makes one of the other."""
    joined = join_uniform(x, y, both)
    if joined.is_top:
        return joined, joined
    return joined, Value(y.base, joined.terms, joined.bits, y.known, y.cause)


def join_uniform(x: Value, y: Value, lanes: Mask | None = None) -> Value:
    """Joins alternatives that each warp takes as a whole: they may differ by one number a warp."""
    if x is y:
        return x
    steps = _steps_between(x, y, lanes)
    if isinstance(steps, Cause):
        return top(steps)
    known = both_known(x.known, y.known)
    if is_same_terms(x.terms, y.terms) and not any(steps):
        return x if known is x.known else Value(x.base, x.terms, x.bits, known, cause_of(x, y))
    bits = min((v.bits for v in (x, y) if v.terms), default=WORD_BITS)
    if not is_same_terms(x.terms, y.terms):
        common = gcd(*steps, *(f for _, f in (*x.terms, *y.terms)))
        return Value(x.base, ((Symbol(), common),), bits, known, cause_of(x, y))
    mask = 1 if len(steps) == 1 else ANY
    step = steps[0] if len(steps) == 1 else gcd(*steps)
    base = x.base if step > 0 else y.base
    return Value(base, (*x.terms, (Symbol(mask=mask), abs(step))), bits, known, cause_of(x, y))


def widen(x: Value, y: Value, lanes: Mask, width: int) -> Value:
    """Joins what a register holds at a loop's head with its value after a further iteration."""
    if x is y:
        return x
    steps = _steps_between(x, y, lanes)
    if isinstance(steps, Cause):
        return top(steps)
    kept = tuple(t for t in x.terms if t in y.terms)
    others = [f for v in (x, y) for s, f in v.terms if (s, f) not in kept]
    common = gcd(*steps, *others)
    known = both_known(x.known, y.known)
    if not common:
        return x if known is x.known else Value(x.base, x.terms, x.bits, known, cause_of(x, y))
    bits = min((width, *(v.bits for v in (x, y) if v.terms)))
    step = common & -common  # an odd factor is invertible modulo a power of two
    return Value(x.base, (*kept, (Symbol(), step)), bits, known, cause_of(x, y))


def _steps_between(x: Value, y: Value, lanes: Mask | None) -> list[int] | Cause:
    if x.is_top or y.is_top or both_known(x.known, y.known) is False:
        return common_cause(x, y)
    steps = _steps(x.base, y.base, lanes)
    return (cause_of(x, y) or PATHS) if steps is None else steps


def _steps(x: Lanes, y: Lanes, lanes: Mask | None) -> list[int] | None:
    """Returns the distinct differences `y - x` of warps; None where lanes of a warp disagree."""
    if isinstance(x, int) and isinstance(y, int):
        return [y - x]
    apart = np.asarray(y - x)
    if lanes is None:
        first = apart[:, :1]
        return None if not (apart == first).all() else sorted({int(n) for n in first[:, 0]})
    rows = lanes.any(axis=1)
    apart, lanes = np.broadcast_to(apart, lanes.shape)[rows], lanes[rows]
    first = apart[np.arange(len(apart)), lanes.argmax(axis=1)]
    if ((apart != first[:, None]) & lanes).any():
        return None
    return sorted({int(n) for n in first})


def includes(wide: Value, new: Value, lanes: Mask) -> bool:
    """Returns whether every number that `new` can hold is one that `wide` stands for."""
    if wide is new or wide.is_top:
        return True
    if new.is_top or not _knows(wide, new, lanes):
        return False
    steps = _steps(wide.base, new.base, lanes)
    if steps is None:
        return False
    fresh = [(s, f) for s, f in wide.terms if not s.name and s.mask < 0]
    if is_same_terms(wide.terms, new.terms) and not any(steps):
        return True
    if not fresh:
        return False
    factor = gcd(*(f for _, f in fresh))
    fixed = {s: f for s, f in wide.terms if (s, f) not in fresh}
    rest = [(s, f - fixed.pop(s, 0)) for s, f in new.terms]
    remaining = (*steps, *(f for _, f in rest), *fixed.values())
    return new.bits >= wide.bits and not any(n % factor for n in remaining)


def _knows(wide: Value, new: Value, lanes: Mask) -> bool:
    needed = lanes & np.asarray(wide.known)
    return not (needed & ~np.asarray(new.known)).any()
