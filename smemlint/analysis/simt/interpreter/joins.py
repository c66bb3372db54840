"""Joins of values and of writes: what alternatives of an open condition leave, put together."""

from __future__ import annotations

from functools import partial

from smemlint.analysis.simt.domain.assumed_extremes import assumed_extreme
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp, one_for_a_warp, without_range
from smemlint.analysis.simt.domain.masking import (
    is_staggered,
    is_truth,
    lane_predicate,
    same,
    truth_bounds,
    under_mask,
)
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.unknown_offset import either_of, forget_offset, one_or_other
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    Cute,
    DataRange,
    FloatValue,
    LanePredicate,
    Pointer,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.limits.steps import spend
from smemlint.reasons import Assumption, Topic, outcome

_CELLS_A_STEP = 8
_ORDERS = frozenset(("<", "<=", ">", ">="))


def join_writes(
    ev: Evaluator, left: UndoLog, right: UndoLog, condition: Unknown, node: ir.Node
) -> None:
    """Writes what two alternatives wrote, put together.

    Args:
        ev: the evaluator.
        left: what one alternative wrote, with the values from before.
        right: what the other wrote.
        condition: what is known of the condition.
        node: the branch.
    """
    for obj, offset, value in merge_writes(ev, left, right, condition, node).values():
        ev.state.memory.set_cell(obj, offset, value)


def merge_writes(
    ev: Evaluator, left: UndoLog, right: UndoLog, condition: Unknown, node: ir.Node
) -> UndoLog:
    """Returns what two alternatives wrote, put together as what one did.

    A cell that an alternative left alone is as it is now.

    Args:
        ev: the evaluator.
        left: what one alternative wrote, with the values from before.
        right: what the other wrote.
        condition: what is known of the condition.
        node: the branch.
    """
    merged: UndoLog = {}
    keys = {**left, **right}
    spend(len(keys) // _CELLS_A_STEP)
    for key in keys:
        obj, offset, _ = left.get(key) or right[key]
        now = obj.cells.get(offset)
        a = left[key][2] if key in left else now
        b = right[key][2] if key in right else now
        if a is None or b is None:
            value = a if b is None else b
        else:
            value = join(ev, a, b, condition, node)
        merged[key] = obj, offset, value
    return merged


def join(ev: Evaluator, a: Value, b: Value, condition: Unknown, node: ir.Node) -> Value:
    """Returns the value after an unknown condition chose between two.

    Args:
        ev: the evaluator.
        a: the value where the condition holds.
        b: the value where it does not.
        condition: what is known of it.
        node: the branch.
    """
    preferred = ev.policy.prefer(ev, a, b, node)
    if preferred is not None:
        return preferred
    if same(a, b):
        return a
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        if condition.is_uniform or not ev.policy.tracks_scev:  # one thread runs host code
            either = _either(ev, a, b, condition, node)
            if either is not None:
                return either
        if is_truth(a) and is_truth(b):
            return _truth_after(condition, a, b)
        inside = _within_bounds(ev, a, b, node)
        return inside or _one_of(a, b, condition, Unknown(condition.reason, condition.is_data))
    if isinstance(a, FloatValue) or isinstance(b, FloatValue):
        return a if isinstance(a, FloatValue) else b
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
        return _join_pointers(ev, a, b, condition, node)
    if isinstance(a, Aggregate) and isinstance(b, Aggregate):
        cells = {k: join(ev, v, b.cells.get(k, v), condition, node) for k, v in a.cells.items()}
        return Aggregate(a.type, cells)
    joined = _join_cute(ev, a, b, condition, node)
    if joined is not None:
        return joined
    for value, other in ((a, b), (b, a)):
        if isinstance(value, LanePredicate) and is_truth(other):
            return _truth_after(condition, a, b)
        if isinstance(value, Unknown):
            known = under_mask(None, value)
            if isinstance(known, DataRange):
                return _one_of(a, b, condition, known)
            return one_or_other(a, b, known) if isinstance(known, Unknown) else known
    return _one_buffer(ev, a, b, condition, node) or one_or_other(
        a, b, Unknown(condition.reason, condition.is_data)
    )


def _one_buffer(
    ev: Evaluator, a: Value, b: Value, condition: Unknown, node: ir.Node
) -> Pointer | None:
    """Returns a pointer into either of two buffers, which all threads choose alike."""
    if not condition.is_uniform or not (isinstance(a, Pointer) and isinstance(b, Pointer)):
        return None
    return either_of(a, b, ev.state.key(node, f"{a.object.key} else {b.object.key}"))


def _key_of_choice(
    ev: Evaluator, a: AffineInt, b: AffineInt, condition: Unknown, node: ir.Node
) -> str:
    """Returns what names one of two numbers: what two calls choose is equal where conditions are.

    On the host one choice of a launch's shape stands for all at its place.
    """
    key = ev.state.domain.key_of_choice(a, b, node.at)
    if not ev.policy.tracks_scev:
        return key
    if condition.condition:
        return f"{key} if {condition.condition}"
    ev.state.sequence += 1
    return ev.state.key(node, f"{key} at {ev.state.sequence}")


def _one_of(a: Value, b: Value, condition: Unknown, why: Unknown) -> Unknown:
    """Returns what a choice leaves of two values: data, one for a warp where all three are."""
    is_data = isinstance(condition, DataRange) or isinstance(why, DataRange)
    is_one = is_data and all(map(agrees_by_warp, (a, b, condition)))
    return one_for_a_warp(why) if is_one else without_range(why)


def _join_cute(
    ev: Evaluator, a: Value, b: Value, condition: Unknown, node: ir.Node
) -> Value | None:
    """Returns the join of two tuples, or of two tensors that differ in place; None for others."""
    if not isinstance(a, Cute) or not isinstance(b, Cute):
        return None
    from smemlint.analysis.simt.cute.alternatives import elements_of, places_of, tensor_at

    pairs = elements_of(a, b)
    if pairs is not None:
        return Cute(tuple(join(ev, x, y, condition, node) for x, y in pairs))
    places = places_of(a, b)
    if places is not None:
        return tensor_at(a, join(ev, *places, condition, node), ev.state.domain)
    return None


def _join_pointers(
    ev: Evaluator, a: Pointer, b: Pointer, condition: Unknown, node: ir.Node
) -> Value:
    """Returns the join of pointers into one object."""
    offset = join(ev, a.offset, b.offset, condition, node)
    if isinstance(offset, AffineInt):
        return Pointer(a.object, offset, a.target, a.is_volatile)
    return forget_offset(a, offset) if isinstance(offset, Unknown) else offset


def _within_bounds(ev: Evaluator, a: AffineInt, b: AffineInt, node: ir.Node) -> AffineInt | None:
    """Returns the one of two that varies by thread, where the other is its bound.

    `x < low ? low : x` and `if (x > high) x = high;` leave most threads as they are: the figure
    is that of blocks that the bound touches as little as its range allows, and says so.
    """
    state = ev.state
    cond = getattr(node, "cond", None)
    sides = _compared(ev, cond)
    if sides is None or not isinstance(cond, ir.BinaryOp):
        return None
    for inside, bound, holds in ((a, b, True), (b, a, False)):
        is_left = same(sides[0], inside) and same(sides[1], bound)
        is_right = same(sides[1], inside) and same(sides[0], bound)
        if (is_left or is_right) and bound.is_uniform and not inside.is_uniform:
            limit = state.source_text(cond.right if is_left else cond.left)
            is_largest = ((cond.op in ("<", "<=")) == is_left) != holds
            notes = partial(_limited, outcome(state.source_text(cond), holds), limit)
            result = assumed_extreme(state.domain, is_largest, inside, bound, notes)
            return result if isinstance(result, AffineInt) else None
    return None


def _either(
    ev: Evaluator, a: AffineInt, b: AffineInt, condition: Unknown, node: ir.Node
) -> AffineInt | None:
    """Returns the number that a condition chooses for all threads of two; None if that is open."""
    limited = _extreme_of(ev, a, b, node)
    if limited is not None:
        return limited
    key = _key_of_choice(ev, a, b, condition, node)
    text = ev.state.source_text(getattr(node, "cond", node))
    return ev.state.domain.either(a, b, key, text)


def _extreme_of(ev: Evaluator, a: AffineInt, b: AffineInt, node: ir.Node) -> AffineInt | None:
    """Returns `min` or `max` where a choice is one: `n < 4 ? n : 4`, `k + 4 > n ? n - k : 4`."""
    cond = getattr(node, "cond", None)
    sides = _compared(ev, cond)
    if sides is None or not isinstance(cond, ir.BinaryOp):
        return None
    left, right = sides
    if not (isinstance(left, AffineInt) and isinstance(right, AffineInt)):
        return None
    if not left.type == right.type == a.type == b.type:
        return None
    domain = ev.state.domain
    is_less = cond.op in ("<", "<=")
    compared, chosen = domain.add(left, right, -1), domain.add(a, b, -1)
    if domain.add(compared, chosen).constant == 0:
        is_less = not is_less
    elif domain.add(compared, chosen, -1).constant != 0:
        return None
    found = domain.extreme(not is_less, a, b)
    return found if isinstance(found, AffineInt) else None


def _compared(ev: Evaluator, cond: object) -> tuple[Value, Value] | None:
    """Returns the numbers that a condition orders, computed anew; None where that is no number."""
    if not (isinstance(cond, ir.BinaryOp) and cond.op in _ORDERS and _is_pure(cond)):
        return None
    with ev.state.trace.muted():
        return ev.evaluate(cond.left), ev.evaluate(cond.right)


def _limited(assumption: Assumption, bound: str, is_first: bool, limit: int | None) -> Assumption:
    """Returns the note, or that a bound is the one that its range allows beside all others."""
    if limit is None or bound == str(limit):
        return assumption
    return Assumption(Topic.NUMBER, f"`{bound}` is `{limit}`", bound)


def _is_pure(node: ir.Node) -> bool:
    """Returns whether an expression only computes with variables and constants."""
    if isinstance(node, ir.UnaryOp):
        return node.op in ("-", "+", "~") and _is_pure(node.expr)
    if isinstance(node, ir.BinaryOp):
        return _is_pure(node.left) and _is_pure(node.right)
    return isinstance(node, ir.ID | ir.Constant)


def _truth_after(condition: Unknown, a: Value, b: Value) -> Unknown:
    """Returns the truth value that is `a` where an open condition holds and `b` elsewhere."""
    may_hold, holds = truth_bounds(condition)
    (a_may, a_does), (b_may, b_does) = truth_bounds(a), truth_bounds(b)
    why = next((v for v in (a, b) if isinstance(v, Unknown)), condition)
    return lane_predicate(
        why,
        (may_hold & a_may) | (~holds & b_may),
        (~may_hold | a_does) & (holds | b_does),
        is_staggered=is_staggered(condition, a, b),
    )
