"""What a variable holds behind a branch, and in any iteration of a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    Number,
    Opaque,
    Origin,
    Partial,
    Pointer,
    ThreadSlice,
    UnknownTensor,
)
from smemlint.analysis.python.cute_dsl.memory import StructType
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Function,
    Instance,
    Scope,
    Unknown,
    Value,
    join,
)
from smemlint.analysis.simt.cute.run_time import RunTime, from_engine, to_engine
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.lanes import settled
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.layout import cute
from smemlint.reasons import Reason, ReasonCode

Merge = Callable[[AffineInt, AffineInt], AffineInt | UnknownNumber]
"""What covers two numbers that differ."""


_USED = Cute | Function | Instance | Partial
"""Values that a branch leaves where they are needed, and None elsewhere."""
_DIFFERS = UnknownNumber(Reason(ReasonCode.UNKNOWN_CONDITION, "a number that hangs on a condition"))


def merge_branches(
    run: Execution, first: Scope, other: Scope, condition: NDArray[np.bool_] | UnknownNumber
) -> Scope:
    """Returns what variables hold behind a branch.

    Args:
        run: the execution.
        first: variables where the condition holds.
        other: variables where it does not.
        condition: by thread, or why it is not known.
    """

    def merge(a: AffineInt, b: AffineInt) -> AffineInt | UnknownNumber:
        if isinstance(condition, UnknownNumber):
            is_alike = condition.is_uniform or run.kernel is None
            return _one_of(run, a, b) if is_alike else _DIFFERS
        if a.terms or b.terms:
            return _DIFFERS
        return AffineInt(settled(np.where(condition, a.base, b.base)), I32)

    return _merged(run, first, other, merge)


def widen(run: Execution, before: Scope, after: Scope) -> Scope:
    """Returns what variables hold in front of any iteration of a loop.

    Args:
        run: the execution.
        before: variables in front of the loop.
        after: variables behind its first iteration.
    """

    def merge(a: AffineInt, b: AffineInt) -> AffineInt | UnknownNumber:
        step = run.domain.add(b, a, -1)
        if step.constant is not None and step.constant > 0:
            times = run.domain.multiply(run.fresh("iteration"), step)
            return run.domain.add(a, times) if isinstance(times, AffineInt) else _DIFFERS
        return _one_of(run, a, b)

    return _merged(run, before, after, merge)


def either(run: Execution, first: Scope, other: Scope) -> Scope:
    """Returns what covers two values, of which threads of a kernel may have different ones."""
    return merge_branches(run, first, other, _DIFFERS)


def _one_of(run: Execution, a: AffineInt, b: AffineInt) -> AffineInt | UnknownNumber:
    """Returns a number that is one of two or of their sort, as far apart for all threads.

    It is the first one and a multiple of what their difference is a multiple of.
    """
    step = run.domain.add(b, a, -1)
    if not isinstance(step.base, int) or any(not isinstance(c, int) for _, c in step.terms):
        return _DIFFERS
    granule = gcd(step.base, *(c * s.multiple for s, c in step.terms if isinstance(c, int)))
    times = run.fresh("a run-time number", nonnegative=False)
    moved = run.domain.multiply(times, AffineInt(granule, I32))
    return run.domain.add(a, moved) if isinstance(moved, AffineInt) else _DIFFERS


def _merged(run: Execution, first: Scope, other: Scope, merge: Merge) -> Scope:
    found: Scope = {}
    for name in (*first, *(n for n in other if n not in first)):
        if name in first and name in other:
            found[name] = merged_value(run, first[name], other[name], merge)
        else:
            found[name] = first[name] if name in first else other[name]
    return found


def merged_value(run: Execution, one: Value, other: Value, merge: Merge) -> Value:
    """Returns what covers two values of a variable."""
    if one is other:
        return one
    if _is_number(one) and _is_number(other):
        if isinstance(one, int) and isinstance(other, int) and one == other:
            return one
        return Number(
            _merged_number(numbers.operand_of(run, one), numbers.operand_of(run, other), merge)
        )
    for held, other_held in ((one, other), (other, one)):
        if other_held is None and isinstance(held, _USED):  # what is None is not used
            return held
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(merged_value(run, a, b, merge) for a, b in zip(one, other, strict=True))
    if isinstance(one, Cute) and isinstance(other, Cute):
        return _merged_payload(run, one, other, merge)
    if isinstance(one, StructType) and isinstance(other, StructType):
        return one.merged(other)
    if isinstance(one, Opaque) or isinstance(other, Opaque):
        return one if isinstance(one, Opaque) else other
    for value in (one, other):
        if isinstance(value, Unknown):
            return replace(value, is_uniform=False)
    return join(one, other)


def _merged_number(
    a: AffineInt | UnknownNumber, b: AffineInt | UnknownNumber, merge: Merge
) -> AffineInt | UnknownNumber:
    if isinstance(a, UnknownNumber):
        return a
    if isinstance(b, UnknownNumber):
        return b
    return a if a.identity() == b.identity() else merge(a, b)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | Number) and value is not None


def _merged_payload(run: Execution, one: Cute, other: Cute, merge: Merge) -> Value:
    a, b = one.payload, other.payload
    if isinstance(a, cute.Tensor) and isinstance(b, cute.Tensor):
        is_one = a.differs_in_place_only(b) and _object(a.origin) is _object(b.origin)
        if is_one or _are_alike(a, b):
            return Cute(replace(a, base=_merged_integer(run, a.base, b.base, merge)))
        space = a.space if a.space is b.space else None
        return Cute(UnknownTensor(space, "it is one of several tensors"))
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        alike = (a.space, a.swizzle) == (b.space, b.swizzle)
        if alike and _object(a.origin) is _object(b.origin) and a.origin.dtype == b.origin.dtype:
            return Cute(replace(a, base=_merged_integer(run, a.base, b.base, merge)))
        return Cute(
            UnknownTensor(a.space if a.space is b.space else None, "it is one of several pointers")
        )
    if isinstance(a, UnknownTensor) or isinstance(b, UnknownTensor):
        return one if isinstance(a, UnknownTensor) else other
    if isinstance(a, ThreadSlice) and isinstance(b, ThreadSlice) and a.tiled == b.tiled:
        return Cute(replace(a, thread=_merged_integer(run, a.thread, b.thread, merge)))
    try:
        return one if a == b else UNKNOWN
    except ValueError:
        return UNKNOWN


def _are_alike(a: cute.Tensor, b: cute.Tensor) -> bool:
    """Returns whether two arrays of shared memory hold an element alike but for where they begin.

    An extent does not matter to the place of an element of a layout of one mode.
    """
    mine, its = a.layout, b.layout
    if not a.is_shared or (a.space, a.bits, a.swizzle) != (b.space, b.bits, b.swizzle):
        return False
    if a.differs_in_place_only(b):
        return True
    if not isinstance(mine, cute.Layout) or not isinstance(its, cute.Layout):
        return False
    is_row = all(isinstance(part, int) for part in (mine.stride, its.stride))
    return is_row and mine.stride == its.stride


def _object(origin: object) -> object:
    return (origin.object or origin.dtype) if isinstance(origin, Origin) else origin


def _merged_integer(run: Execution, a: cute.Integer, b: cute.Integer, merge: Merge) -> cute.Integer:
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    found = _merged_number(from_engine(a), from_engine(b), merge)
    if isinstance(found, AffineInt) and found.constant is not None:
        return found.constant
    if isinstance(found, UnknownNumber):
        return cute.DynamicInt(RunTime(run.domain, found))
    return to_engine(found, run.domain)
