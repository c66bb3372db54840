"""Operators: arithmetic and logic of numbers and pointers, increments, sizes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from smemlint.analysis.simt.calls.class_operators import (
    call_defined,
    call_operator,
    is_of_stream,
    named,
    operated,
)
from smemlint.analysis.simt.codegen.branches.branch_shapes import is_element
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.comparisons import COMPARISONS, compare, is_seen
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I8,
    I32,
    U64,
    ArrayType,
    CType,
    RecordType,
    StaticIntType,
    is_sized,
    is_unread_class,
)
from smemlint.analysis.simt.domain.environment import CTYPES, LValue, is_reference
from smemlint.analysis.simt.domain.lanes import digest
from smemlint.analysis.simt.domain.masking import (
    is_staggered,
    lane_predicate,
    negated,
    opposite,
    propagated,
    truth_bounds,
)
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    CallableValue,
    FloatValue,
    LanePredicate,
    Pointer,
    Space,
    Unknown,
    Value,
    hangs_on_null,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.conditional import (
    decided_by,
    evaluate_assuming,
    evaluate_under,
    note_condition,
)
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.elements import pointed_to
from smemlint.analysis.simt.interpreter.joins import join_writes
from smemlint.analysis.simt.interpreter.lvalues import lvalue_of_value
from smemlint.analysis.simt.interpreter.names import find_binding
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode, outcome

_SUMS = frozenset(("+", "-", "^"))
_OF_CONDITIONS = {"&": "&&", "|": "||"}
"""What operators of bits are of conditions, but that both sides are evaluated."""


@locates(ir.UnaryOp)
def locate_unary(ev: Evaluator, node: ir.UnaryOp) -> LValue | Unknown:
    """Returns what `*p` and `++x` name."""
    if node.op == "*":
        return pointed_to(ev, node)
    if node.op in ("++", "--"):
        return increment(ev, node)[0]
    return lvalue_of_value(ev, node)


@evaluates(ir.UnaryOp)
def evaluate_unary(ev: Evaluator, node: ir.UnaryOp) -> Value:
    """Returns the value of a unary operator."""
    state = ev.state
    op = node.op
    if op in ("sizeof", "alignof", "_Alignof", "__alignof__"):
        return _size_of(ev, node, op)
    if op == "&":
        return address_of(ev, node.expr)
    if op in ir.STEPS:
        return increment(ev, node)[1]
    if op == "*":
        place = pointed_to(ev, node)
        return place if isinstance(place, Unknown) else read_lvalue(ev, place, node)
    value = ev.evaluate(node.expr)
    found = call_operator(ev, op, [(node.expr, value)], node)
    if found is not None:
        return operated(ev, found, node)
    if isinstance(value, FloatValue):
        return (
            Unknown.because(ReasonCode.DATA, "a condition on a floating-point number", is_data=True)
            if op == "!"
            else value
        )
    if isinstance(value, Pointer) and op == "!":
        value = to_condition(value)
    if isinstance(value, LanePredicate) and op == "!":
        return value.negated()
    if not isinstance(value, AffineInt):
        return (
            _operated_unknown(op, value)
            if isinstance(value, Unknown)
            else Unknown.because(ReasonCode.NO_VALUE, f"operand of `{op}` is not a number")
        )
    match op:
        case "-":
            return state.domain.add(AffineInt(0, value.type), value, -1)
        case "+":
            return value
        case "~":
            return state.domain.add(
                state.domain.add(AffineInt(0, value.type), value, -1), AffineInt(-1), 1
            )
        case "!":
            if hangs_on_null(value):
                return opposite(value)
            return compare("==", value, AffineInt(0, value.type))
    return Unknown.because(ReasonCode.NOT_MODELLED, f"operator `{op}` is not evaluated")


def _operated_unknown(op: str, value: Unknown) -> Unknown:
    return negated(value) if op == "!" else propagated(value, value)


def _size_of(ev: Evaluator, node: ir.UnaryOp, op: str) -> Value:
    state = ev.state
    ctype: CType | None
    if isinstance(node.expr, ir.Typename):
        ctype = ev.types.resolve(node.expr)
    else:
        with state.trace.muted():
            place = ev.lvalue(node.expr)
            ctype = place.type if isinstance(place, LValue) else None
            if isinstance(place, Unknown):
                value = ev.evaluate(node.expr)
                payload = value.payload if isinstance(value, CallableValue) else None
                ctype = payload if isinstance(payload, CTYPES) else None
    if isinstance(node.expr, ir.Constant) and node.expr.type == "string":
        ctype = ArrayType(I8, len(node.expr.value) - 1) if "\\" not in node.expr.value else None
    if ctype is not None and is_reference(ctype):
        ctype = ctype.target  # type: ignore[union-attr]
    if ctype is not None and is_sized(ctype) and ctype.size:
        return number(ctype.size if op == "sizeof" else ctype.align, U64)
    text = state.source_text(node)
    if op == "sizeof" and ctype is not None and is_unread_class(ctype):
        return state.domain.symbol(f"{text} {node.at}", text, U64, nonnegative=True)
    return Unknown.because(ReasonCode.NOT_MODELLED, f"`{text}` is not known", is_uniform=True)


def increment(ev: Evaluator, node: ir.UnaryOp) -> tuple[LValue | Unknown, Value]:
    """Returns the place of `++x` or `x++`, and the value of the expression."""
    place = ev.lvalue(node.expr)
    if isinstance(place, Unknown):
        return place, place
    found = call_member_operator(ev, place, node.op.removeprefix("p"), node)
    if found is not None:
        return place, found
    old = read_lvalue(ev, place, node.expr)
    new = apply_binary(ev, "+" if "+" in node.op else "-", old, number(1), node)
    write_lvalue(ev, place, new, node.expr)
    return place, old if node.op.startswith("p") else new


@evaluates(ir.BinaryOp)
def evaluate_binary(ev: Evaluator, node: ir.BinaryOp) -> Value:
    """Returns the value of a binary operator."""
    if node.op in ("&&", "||"):
        return _evaluate_logical(ev, node)
    evaluate = ev.evaluate
    compares = node.op in COMPARISONS and (is_element(node.left) or is_element(node.right))
    if compares and any(ev.policy.functions(ev, f"operator{node.op}")):
        evaluate = partial(_reference_or_value, ev)
    left = evaluate(node.left)
    if node.op in ("<<", ">>") and isinstance(left, Unknown) and is_of_stream(ev, node):
        return left
    right = evaluate(node.right)
    if not (left.__class__ is AffineInt and right.__class__ is AffineInt):  # most are
        found = call_operator(ev, node.op, [(node.left, left), (node.right, right)], node)
        if found is not None:
            return operated(ev, found, node)
        if evaluate is not ev.evaluate:
            left, right = operated(ev, left, node.left), operated(ev, right, node.right)
        if node.op in _OF_CONDITIONS and _is_condition(node):
            sides = to_condition(left), to_condition(right)
            if any(isinstance(side, Unknown) for side in sides):
                return _both(_OF_CONDITIONS[node.op], *sides)
        if node.op not in COMPARISONS:
            left, right = _as_number(ev, node.left, left), _as_number(ev, node.right, right)
    if node.op in _SUMS and ev.state.trace.events:
        _note_sum(ev, node, left, right)
    return apply_binary(ev, node.op, left, right, node)


def _reference_or_value(ev: Evaluator, node: ir.Node) -> Value:
    """Returns the value of an operand; a reference to an element that is a shared class object."""
    if not is_element(node):
        return ev.evaluate(node)
    place = ev.lvalue(node)
    if isinstance(place, Unknown):
        return place
    is_object = isinstance(place.type, RecordType) and place.type.record is not None
    if is_object and place.object.space is Space.SHARED:
        return replace(place.pointer(), is_reference=True)
    return read_lvalue(ev, place, node)


def _note_sum(ev: Evaluator, node: ir.BinaryOp, left: Value, right: Value) -> None:
    """Notes that integers of two bytes are extended where they are operands of a sum."""
    values = (left, right)
    if all(isinstance(v, AffineInt | Unknown) for v in values) and not any(map(_is_zero, values)):
        ev.state.trace.extend(node.left)
        ev.state.trace.extend(node.right)


def _is_zero(value: Value) -> bool:
    return isinstance(value, AffineInt) and value.constant == 0


def _as_number(ev: Evaluator, node: ir.Node, value: Value) -> Value:
    """Returns the 0 or 1 that an open condition is to all threads: `base + (n > 5) * 6`."""
    if not isinstance(value, Unknown) or not value.is_uniform or not _is_condition(node):
        return value
    state = ev.state
    key = value.condition
    if not key:
        state.sequence += 1
        key = state.key(node, f"condition{state.sequence}")
    number = state.domain.symbol(key, state.source_text(node), I32, nonnegative=True)
    terms = tuple((replace(s, most=1) if c == 1 else s, c) for s, c in number.terms)
    return AffineInt(number.base, number.type, terms)


def _is_condition(node: ir.Node) -> bool:
    while isinstance(node, ir.Cast):
        node = node.expr
    if isinstance(node, ir.UnaryOp):
        return node.op == "!"
    if not isinstance(node, ir.BinaryOp):
        return False
    if node.op in _OF_CONDITIONS:
        return _is_condition(node.left) and _is_condition(node.right)
    return node.op in (*COMPARISONS, "&&", "||")


def _static_truth(value: Value) -> bool | None:
    """Returns what a number is as a condition whose type tells it; None of all others."""
    if not isinstance(value, AffineInt) or not isinstance(value.type, StaticIntType):
        return None
    return None if value.constant is None else bool(value.constant)


def _evaluate_logical(ev: Evaluator, node: ir.BinaryOp) -> Value:
    state = ev.state
    given = ev.evaluate(node.left)
    if isinstance(given, AffineInt) and (truth := _static_truth(given)) is not None:
        with state.trace.muted():  # it may not be evaluated; the operator is CuTe's if so is it
            second = _static_truth(ev.evaluate(node.right))
        if second is not None:
            is_true = truth and second if node.op == "&&" else truth or second
            return AffineInt(int(is_true), given.type)
    left = to_condition(given)
    short = 0 if node.op == "&&" else 1
    if (
        isinstance(left, AffineInt)
        and left.constant is not None
        and (left.constant != 0) == bool(short)
    ):
        return left if hangs_on_null(left) else number(short, BOOL)
    right = _right_operand(ev, node, left)
    if isinstance(left, AffineInt) and isinstance(right, AffineInt):
        if hangs_on_null(right) and left.constant is not None:
            return right
        if hangs_on_null(left) and right.constant is not None:
            return right if (right.constant != 0) == bool(short) else left
        op = "&" if node.op == "&&" else "|"
        both = state.domain.bitwise(op, left, right)
        if not isinstance(both, AffineInt):
            return both
        unseen = [side.form for side in (left, right) if not is_seen(side)]
        return AffineInt(
            both.base, BOOL, (), unseen[0] if unseen and both.constant is not None else None
        )
    return _both(node.op, left, right)


def _both(op: str, left: AffineInt | Unknown, right: AffineInt | Unknown) -> Value:
    """Returns `left && right` or `left || right` of conditions of which one is not known."""
    short = 0 if op == "&&" else 1
    for known, other in ((left, right), (right, left)):
        if isinstance(known, AffineInt) and known.constant is not None:
            return number(short, BOOL) if (known.constant != 0) == bool(short) else other
    unknown = left if isinstance(left, Unknown) else right
    assert isinstance(unknown, Unknown)
    if left.is_uniform and right.is_uniform:
        texts = [_condition_text(side) for side in (left, right)]
        condition = f"({op} {digest(' '.join(texts).encode())})" if all(texts) else ""
        return Unknown(unknown.reason, unknown.is_data, is_uniform=True, condition=condition)
    is_data = any(isinstance(v, Unknown) and v.is_data for v in (left, right))
    confines = any(
        isinstance(v, Unknown) and v.confines and not v.is_uniform for v in (left, right)
    )
    may_hold, holds = truth_bounds(left)
    other_may, other_does = truth_bounds(right)
    combine = np.logical_and if op == "&&" else np.logical_or
    return lane_predicate(
        Unknown(unknown.reason, is_data, confines=confines),
        combine(may_hold, other_may),
        combine(holds, other_does),
        is_staggered=is_staggered(left, right),
    )


def _condition_text(value: AffineInt | Unknown) -> str:
    return value.condition if isinstance(value, Unknown) else value.identity()


def _right_operand(
    ev: Evaluator, node: ir.BinaryOp, left: AffineInt | Unknown
) -> AffineInt | Unknown:
    """Returns the right operand as a condition, of the threads that the left one leaves open."""
    is_and = node.op == "&&"
    may_hold, holds = truth_bounds(left)
    mask = ev.state.mask & (may_hold if is_and else ~holds)
    behind = decided_by(ev, node.left, holds=is_and)
    if isinstance(left, Unknown):
        text = ev.state.source_text(node.left)
        alternatives = (outcome(text, True), outcome(text, False))
        note_condition(ev, left, alternatives, node.left, node)
        taken = alternatives[0 if is_and else 1]
        right, writes = evaluate_assuming(ev, taken, mask, node.right, behind)
        ways = (writes, {}) if is_and else ({}, writes)
        if right is not None:
            join_writes(ev, *ways, left, node)
    else:
        right = evaluate_under(ev, mask, node.right, behind)
    return to_condition(right) if right is not None else number(0 if is_and else 1, BOOL)


def address_of(ev: Evaluator, expr: ir.Node) -> Value:
    """Returns a pointer to what an expression names."""
    if isinstance(expr, ir.ID):
        binding = find_binding(ev, expr.name)
        if isinstance(binding, CallableValue):
            return binding
    place = ev.lvalue(expr)
    return place if isinstance(place, Unknown) else place.pointer()


def call_member_operator(
    ev: Evaluator, place: LValue, op: str, node: ir.UnaryOp | ir.Assignment
) -> Value | None:
    """Returns the value of an operator that is defined for the class of its left operand.

    Args:
        ev: the evaluator.
        place: the left operand.
        op: as the definition spells it: `++`, `+=`.
        node: the expression; `x++` passes a number that is not used.

    Returns:
        None where the operand is no class object, or none is defined; what lies in shared memory
        stays a reference, which nothing may read.
    """
    if not isinstance(place.type, RecordType) or place.type.record is None:
        return None
    arguments: tuple[ir.Expression, ...] = ()
    if isinstance(node, ir.Assignment):
        arguments = (node.rvalue,)
    elif node.op.startswith("p"):
        arguments = (ir.Constant("int", "0", at=node.at),)
    name, operand = f"operator{op}", node.lvalue if isinstance(node, ir.Assignment) else node.expr
    if not any(ev.policy.functions(ev, name)):
        return None
    with ev.state.frame.scoped():
        left = named(ev, operand, replace(place.pointer(), is_reference=True))
        value = call_defined(ev, name, [left, *arguments], node)
    is_local = isinstance(value, Pointer) and value.object.space is Space.LOCAL
    return operated(ev, value, node) if value is not None and is_local else value
