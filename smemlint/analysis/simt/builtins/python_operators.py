"""What Python's operators do that C's do not: rounding down, and indices from the end."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.comparisons import compare
from smemlint.analysis.simt.domain.ctypes import I64, common
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.lanes import Lanes, settled
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    LanePredicate,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.reasons import Assumption, ReasonCode, Topic

_MAYBE_NEGATIVE = Assumption(Topic.NUMBER, "an index that is not known does not count from the end")

_COST_OF_STRIDE = 4
"""What an index into an argument adds to an iteration: it is tested, and multiplied by a stride."""
_COST_OF_PITCH = 2
"""What an index into a row adds that no power of two elements has.

`m += s[t, k] * b[k, t]` is fully unrolled in range(32) where rows of s have 32 or 64 floats, not
33, 34, 36, 40 or 48; in range(28) with all of them (numba-cuda 0.30.4, NVVM 13.5.37, sm_90).
"""


@evaluates(ir.FloorDivision)
def floor_divide(ev: Evaluator, node: ir.FloorDivision) -> Value:
    """Evaluates `a // b`."""
    return _rounded_down(ev, node, operator.floordiv, _quotient)


@evaluates(ir.FloorModulo)
def floor_modulo(ev: Evaluator, node: ir.FloorModulo) -> Value:
    """Evaluates `a % b`, with the sign of `b`."""
    return _rounded_down(ev, node, operator.mod, _remainder)


def _rounded_down(
    ev: Evaluator,
    node: ir.FloorDivision | ir.FloorModulo,
    of_numbers: Callable[[Lanes, Lanes], Lanes],
    of_unknowns: Callable[[AffineDomain, AffineInt, AffineInt], AffineInt | Unknown],
) -> Value:
    """Returns a quotient that is rounded down, or its remainder."""
    a, b = ev.evaluate(node.left), ev.evaluate(node.right)
    if not (isinstance(a, AffineInt) and isinstance(b, AffineInt)):
        return _other(a, b)
    if not (a.is_concrete and b.is_concrete):
        return of_unknowns(ev.state.domain, a, b)
    if np.any(np.equal(b.base, 0) & ev.state.mask):
        return Unknown.because(ReasonCode.NO_VALUE, "division by zero")
    divisor = (b.base or 1) if isinstance(b.base, int) else np.where(b.base == 0, 1, b.base)
    return AffineInt(settled(of_numbers(a.base, divisor)), common(a.type, b.type))


def _quotient(domain: AffineDomain, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
    shift = _power_of_two(b)  # a shift rounds down whatever the sign
    return domain.divide(a, b) if shift is None else domain.shift_right(a, AffineInt(shift))


def _remainder(domain: AffineDomain, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
    if _power_of_two(b) is None:
        return domain.modulo(a, b)
    return domain.bitwise("&", a, domain.add(b, AffineInt(1), -1))


@evaluates(ir.Extent)
def extent(ev: Evaluator, node: ir.Extent) -> Value:
    """Returns an unknown number that all threads share."""
    return ev.state.domain.symbol(ev.state.key(node, node.text), node.text, I64)


@evaluates(ir.WrappedIndex)
def from_end(ev: Evaluator, node: ir.WrappedIndex) -> Value:
    """Returns an index into an array of known extent: negative ones count from the end."""
    state = ev.state
    index = ev.evaluate(node.index)
    if node.extent is None:
        state.spend_on(node, _COST_OF_STRIDE)
        return index
    extent = ev.evaluate(node.extent)
    if not isinstance(index, AffineInt) or not isinstance(extent, AffineInt):
        return _as_number(index)
    if node.is_counted and extent.constant is not None and extent.constant & extent.constant - 1:
        state.spend_on(node, _COST_OF_PITCH)
    tested = _tested(index, extent, is_counted=node.is_counted)
    if index.is_concrete and np.any(np.less(index.base, 0)):
        if extent.constant is None:
            return Unknown.because(ReasonCode.UNKNOWN_VALUE, "an index that counts from the end")
        wrapped = np.where(np.less(index.base, 0), index.base + extent.constant, index.base)
        return AffineInt(settled(wrapped), index.type)
    is_open = not isinstance(compare(">=", index, AffineInt(0)), AffineInt)
    if is_open and _MAYBE_NEGATIVE not in state.assumptions:
        state.assumptions.append(_MAYBE_NEGATIVE)
    return tested


def _tested(index: AffineInt, extent: AffineInt, *, is_counted: bool) -> AffineInt:
    """Returns an index that is not negative, which the compiler tests if it does not know that.

    What is added to a negative one hides what divides the index from ptxas: where the extent is a
    power of two, `(t & 1 << 31) >> 21`, odd, or the size of dynamic memory. `s[2 * t]` and
    `s[2 * t + 1]` are two LDS, in 1000 elements they may be one LDS.64; so may they, whatever the
    extent, where a loop counts or Python divides: `8 * t + k`, `t // 4 * 8 + 1`. All elements of a
    row have one test of its number (numba-cuda 0.30.4, NVVM and ptxas 13.5.37, sm_90).
    """
    form = scev_of(index)
    is_masked = form.most is not None and all(key.startswith("(&") for key, _ in form.terms)
    if not form.terms or not index.type.signed or is_masked:
        return index
    size = extent.constant
    is_plain = all(key.startswith("threadIdx") for key, _ in form.terms) and not is_counted
    if size is None or size % 2 or (is_plain and not size & (size - 1)):
        form = replace(form, alignment=1, ptxas_alignment=1)
    elif int(np.min(index.base)) & form.alignment - 1:
        form = replace(form, ptxas_alignment=1, is_open=True)
    return AffineInt(index.base, index.type, index.terms, form)


def _other(a: Value, b: Value) -> Value:
    for value in (a, b):
        if isinstance(value, Unknown):
            return _as_number(value)
    for value in (a, b):
        if isinstance(value, FloatValue):
            return value
    return Unknown.because(ReasonCode.NO_VALUE, "an operand is not a number")


def _as_number(value: Value) -> Value:
    """Returns an unknown condition as the unknown number that it is in arithmetic."""
    return Unknown(value.reason, value.is_data) if isinstance(value, LanePredicate) else value


def _power_of_two(b: AffineInt) -> int | None:
    n = b.constant
    return n.bit_length() - 1 if n is not None and n > 0 and n & (n - 1) == 0 else None
