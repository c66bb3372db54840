"""Built-in binary operators on numbers and pointers."""

from __future__ import annotations

from math import frexp

from smemlint.analysis.simt.calls.float_constants import compared_constants
from smemlint.analysis.simt.codegen.slow_paths import (
    conversion_path,
    integer_division_path,
    quotient_path,
)
from smemlint.analysis.simt.codegen.unroll import DIVISION
from smemlint.analysis.simt.domain.bitwise_scev import bits_of_sum, operated_scev
from smemlint.analysis.simt.domain.comparisons import COMPARISONS, compare, wandering_range
from smemlint.analysis.simt.domain.ctypes import I64, common
from smemlint.analysis.simt.domain.data_ranges import operated as operated_data
from smemlint.analysis.simt.domain.linear_forms import is_plain
from smemlint.analysis.simt.domain.masking import negated, opposite, propagated
from smemlint.analysis.simt.domain.unknown_offset import is_lost, why_lost
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import compared
from smemlint.analysis.simt.interpreter.pointers import TEXT, advance_or_forget, summed_scev
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode

_DIVISIONS = frozenset(("/", "%"))


def apply_binary(ev: Evaluator, op: str, a: Value, b: Value, node: ir.Node) -> Value:
    """Returns `a op b` for the built-in operators.

    Args:
        ev: the evaluator.
        op: the operator.
        a: the left operand.
        b: the right operand.
        node: the expression.
    """
    state = ev.state
    if op in _DIVISIONS and ev.policy.tracks_scev:
        state.trace.part(integer_division_path(a, b))
    if a.__class__ is AffineInt and b.__class__ is AffineInt:
        return _apply_to_integers(ev, op, a, b, node)
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _apply_to_pointers(ev, op, a, b)
    if state.loops:
        _spend(ev, op, a, b, node)
    number = a if isinstance(a, FloatValue) else b
    if ev.policy.tracks_scev:
        state.trace.part(conversion_path(a, b))
        if op == "/" and isinstance(number, FloatValue) and not _is_product(node):
            state.trace.part(quotient_path(number.type))
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return wandering_range(op, a, b) or operated_data(op, a, b) or propagated(a, b)
    if isinstance(number, FloatValue):
        if op in COMPARISONS:
            return compared_constants(ev, op, node) or Unknown.because(
                ReasonCode.DATA, "a condition on a floating-point number", is_data=True
            )
        return number
    return Unknown.because(
        ReasonCode.NOT_MODELLED, f"operator `{op}` on class objects is not followed"
    )


def _spend(ev: Evaluator, op: str, a: Value, b: Value, node: ir.Node) -> None:
    """Counts an operation against the loops around it, as the compiler's unroller does."""
    if isinstance(a, FloatValue) or isinstance(b, FloatValue):
        ev.state.spend(1 if op not in _DIVISIONS or _is_product(node) else DIVISION)
    else:
        ev.state.spend_on(node, _cost_of_integers(op, a, b))


def _cost_of_integers(op: str, a: Value, b: Value) -> int:
    return 1 if op not in _DIVISIONS or _is_shift(a, b) else DIVISION


def _is_shift(a: Value, b: Value) -> bool:
    """Returns whether a division is one of an unsigned number by a constant power of two."""
    if not isinstance(a, AffineInt) or not isinstance(b, AffineInt) or b.constant is None:
        return False
    power = b.constant
    return power > 0 and not power & (power - 1) and not common(a.type, b.type).signed


def _is_product(node: ir.Node) -> bool:
    """Returns whether a division needs none: by a literal power of two, or of two literals."""
    match node:
        case ir.BinaryOp(left=left, right=ir.Constant(value=text)):
            if isinstance(left, ir.Constant):
                return True
        case ir.Assignment(rvalue=ir.Constant(value=text)):
            pass
        case _:
            return False
    try:
        return frexp(float(text.rstrip("fFlL")))[0] == 0.5
    except ValueError:
        return False


def _apply_to_integers(ev: Evaluator, op: str, a: AffineInt, b: AffineInt, node: ir.Node) -> Value:
    state = ev.state
    if state.loops:
        state.spend_on(node, _cost_of_integers(op, a, b))
    try:
        result = state.domain.operate(op, a, b)
    except OverflowError:
        return Unknown.because(ReasonCode.TOO_LARGE, "a number does not fit into 64 bits")
    if result.__class__ is not AffineInt or (is_plain(a) and is_plain(b)):
        return result
    if result.form is None and ev.policy.tracks_scev:
        is_shared = state.sums.shares_bits(bits_of_sum(op, a, b), (op, b.identity()))
        result.form = operated_scev(op, a, b, signed=result.type.signed, is_shared=is_shared)
    elif op == "+" and result.form is not None:
        result.form = summed_scev(ev, a, b, result)
    return result


def _apply_to_pointers(ev: Evaluator, op: str, a: Value, b: Value) -> Value:
    state = ev.state
    if op == "+" and isinstance(a, Pointer):
        return advance_or_forget(ev, a, b)
    if op == "+" and isinstance(b, Pointer):
        return advance_or_forget(ev, b, a)
    if op == "-" and isinstance(a, Pointer) and not isinstance(b, Pointer):
        return advance_or_forget(ev, a, b, -1)
    for pointer in (a, b):
        if isinstance(pointer, Pointer) and is_lost(pointer.offset):
            return why_lost(pointer.object)
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
        difference = state.domain.add(a.offset, b.offset, -1)
        if op == "-":
            return state.domain.divide(difference, AffineInt(max(a.target.size, 1), I64))
        if op in COMPARISONS:
            return compare(op, difference, AffineInt(0, I64))
    is_null = isinstance(a, AffineInt) or isinstance(b, AffineInt)
    if not is_null and (_is_text(a) or _is_text(b)):
        return Unknown.because(ReasonCode.NOT_MODELLED, "texts are not compared")
    if op in ("==", "!="):
        pointers = [value for value in (a, b) if isinstance(value, Pointer)]
        differ = compared(pointers[0], pointers[1] if pointers[1:] else None)
        if op == "!=":
            return differ
        return negated(differ) if isinstance(differ, Unknown) else opposite(differ)
    return Unknown.because(
        ReasonCode.UNKNOWN_ADDRESS, "pointers into different objects are combined"
    )


def _is_text(value: Value) -> bool:
    return isinstance(value, Pointer) and value.object.type is TEXT
