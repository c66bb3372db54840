"""Calls of host functions that launch: one with the same values as before launches nothing new.

A loop that measures calls the same launcher a hundred times; each of them would be executed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from smemlint.analysis.simt.domain.environment import CTYPES, Binding, Lazy, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.types.overloads import parameters_of, target_qualifiers
from smemlint.frontend import ir
from smemlint.frontend.program import Function


def key_of_call(
    function: Function,
    frame: Frame,
    made_of: Mapping[str, tuple[str, AffineInt, AffineInt]],
    number_of: Callable[[Value], int | None],
) -> Hashable | None:
    """Returns what two calls share that launch the same; None for one that may have effects.

    Such a call is given a place of its caller that it may write, or something that holds one. The
    object of a method holds no number that is known, before as after: nothing known is lost. Its
    class tells what the class's own names mean.

    Args:
        function: that is called.
        frame: with its parameters bound.
        made_of: key of a symbol -> operator and operands.
        number_of: the number that a value is inside of the cases around the call.
    """
    keys = _Keys(made_of, number_of)
    this: Hashable | None = ()
    if frame.this is not None:
        this = keys.of_object_without_numbers(frame.this)
    if this is None:
        return None
    own = frame.scopes[1:] if frame.record is not None else frame.scopes
    bindings = {name: bound for scope in own for name, bound in scope.items()}
    read = _read_only(function)
    found = tuple((n, keys.of_binding(b, is_read=n in read)) for n, b in bindings.items())
    is_none = any(key is None for _, key in found)
    return None if is_none else (id(function), this, frame.record, found)


def _read_only(function: Function) -> frozenset[str]:
    """Returns the parameters that are references to constants."""
    tree = function.parse_head().tree
    return frozenset(
        p.name
        for p in (parameters_of(tree) if tree is not None else ())
        if isinstance(p.type, ir.PtrDecl)
        and "&" in (p.type.quals or ())
        and "const" in target_qualifiers(p.type)
    )


def renew_numbers(ev: Evaluator, of: Object, unknown: Unknown) -> None:
    """Makes the numbers that an object holds others: none is known, and a call may set them."""
    for at, value in list(of.cells.items()):
        if isinstance(value, AffineInt):
            ev.state.memory.set_cell(of, at, ev.policy.convert_unknown(ev, unknown, value.type))
        elif _holds_number(value):
            ev.state.memory.set_cell(of, at, unknown)


class _Keys:
    """Keys of values, in which symbols are numbered by their first appearance.

    Unknowns of two calls need not be the same ones.
    """

    def __init__(
        self,
        made_of: Mapping[str, tuple[str, AffineInt, AffineInt]],
        number_of: Callable[[Value], int | None],
    ) -> None:
        self._made_of = made_of
        self._number_of = number_of
        self._numbers: dict[object, int] = {}

    def of_binding(self, bound: Binding, *, is_read: bool) -> Hashable | None:
        """Returns the key of what a name is bound to; None where a caller may own it."""
        if isinstance(bound, CTYPES):
            return bound
        if isinstance(bound, Variable):
            place = bound.object.cells.get(0)
            if is_read and isinstance(place, Pointer) and place.object.space is Space.LOCAL:
                cells = self._of_cells(place.object.cells)
                offset = self._of_integer(place.offset)
                return None if cells is None else (bound.type, place.object.type, offset, cells)
            cells = self._of_cells(bound.object.cells)
            return None if cells is None else (bound.type, bound.number, cells)
        return None if isinstance(bound, Lazy) else self._of(bound)

    def of_object_without_numbers(self, place: Pointer) -> Hashable | None:
        """Returns the key of an object; None of one that holds a known number or lies elsewhere."""
        values = place.object.cells.values()
        if place.object.space is not Space.LOCAL or any(map(_is_known, values)):
            return None
        cells = self._of_cells(place.object.cells)
        number = self._numbers.setdefault(place.object, len(self._numbers))
        key = place.object, number, self._of_integer(place.offset), place.target, cells
        return None if cells is None else key

    def _of(self, value: Value) -> Hashable | None:
        match value:
            case AffineInt():
                return value.type, self._of_integer(value)
            case CallableValue(payload=None) | CallableValue(payload=tuple()):
                return value.name, value.payload
            case FloatValue():
                return value.type
            case Pointer() if value.object.space is not Space.LOCAL:
                place = self._numbers.setdefault(value.object, len(self._numbers))
                return place, self._of_integer(value.offset), value.target
            case Aggregate():
                cells = self._of_cells(value.cells)
                return None if cells is None else (value.type, cells)
            case Unknown():
                return ()
        return None

    def _of_cells(self, cells: Mapping[int, Value]) -> Hashable | None:
        found = tuple((at, self._of(cells[at])) for at in sorted(cells))
        return None if any(key is None for _, key in found) else found

    def _of_integer(self, value: AffineInt) -> Hashable:
        terms = tuple((self._of_symbol(s.key), repr(factor)) for s, factor in value.terms)
        return repr(value.base), self._number_of(value), terms

    def _of_symbol(self, key: str) -> Hashable:
        if key in self._numbers:
            return self._numbers[key]
        self._numbers[key] = len(self._numbers)
        if key not in self._made_of:
            return self._numbers[key], ""
        op, a, b = self._made_of[key]
        return self._numbers[key], op, self._of_integer(a), self._of_integer(b)


def _is_known(value: Value) -> bool:
    """Returns whether a value is a known number or a function, or holds one."""
    if isinstance(value, Aggregate):
        return any(map(_is_known, value.cells.values()))
    is_number = isinstance(value, AffineInt) and value.constant is not None
    return is_number or isinstance(value, CallableValue)


def _holds_number(value: Value) -> bool:
    """Returns whether a value is a number, known or not, or holds one."""
    if isinstance(value, Aggregate):
        return any(map(_holds_number, value.cells.values()))
    return isinstance(value, AffineInt)
