"""Conversions: values as other types, addresses as numbers."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.analysis.simt.domain.affine import truth
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I8,
    I64,
    U32,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    VoidType,
)
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.scev import atom, form_of, sum_of
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Callable,
    FloatValue,
    Int,
    Pointer,
    Symbol,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.interpreter.globals import FileNames
from smemlint.analysis.simt.state import Place


class Conversions(FileNames):
    """Converts values."""

    def convert(self, value: Value, kind: CType) -> Value:
        """The value as a type, as an assignment or cast converts it."""
        match kind:
            case IntType():
                if isinstance(value, Int):
                    return value if value.type == kind else self.algebra.convert(value, kind)
                if isinstance(value, FloatValue):
                    return Unknown("computed from a floating-point number", is_data=True)
                if isinstance(value, Pointer):
                    return self.address(value, kind)
                if isinstance(value, Aggregate):
                    return Unknown(
                        "a class object is converted to an integer", is_data=_holds_data(value)
                    )
            case FloatType():
                return FloatValue(kind)
            case PointerType():
                if isinstance(value, Pointer):
                    if (
                        isinstance(kind.target, OpaqueType | VoidType)
                        and kind.target.size in (0, 1)
                        and isinstance(kind.target, OpaqueType)
                    ):
                        return value
                    return Pointer(value.object, value.offset, kind.target, value.is_volatile)
                if isinstance(value, Int):
                    return self._as_pointer(value, kind)
            case RecordType():
                if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                    return value
        return value

    def _eval_Cast(self, node: c_ast.Cast) -> Value:
        kind = self.resolve(node.to_type)
        if isinstance(kind, PointerType) and kind.is_reference:
            place = self.place(node.expr)
            if isinstance(place, Unknown):
                return place
            return Place(place.object, place.offset, kind.target, place.volatile).pointer()
        value = self.evaluate(node.expr)
        volatile = "volatile" in _qualifiers(node.to_type)
        if isinstance(value, Pointer) and isinstance(kind, PointerType):
            return Pointer(value.object, value.offset, kind.target, value.is_volatile or volatile)
        return self.convert(value, kind)

    def condition(self, value: Value) -> Int | Unknown:
        """A value as a condition: 0 or 1 a thread, or unknown."""
        match value:
            case Int():
                return truth(value)
            case Unknown():
                return value
            case Pointer() | Callable():
                return number(1, BOOL)
            case _:
                return Unknown("a condition on a value that is not followed", is_data=True)

    def address(self, pointer: Pointer, kind: IntType = U32) -> Int:
        """The pointer as a number: its object's unknown base plus its offset."""
        obj = pointer.object
        key = f"base:{obj.key}"
        self.bases[key] = obj
        alignment = 1024 if obj.space is Space.SHARED else 16
        base = Symbol(key, f"&{obj.name}", alignment, nonnegative=True)
        offset = pointer.offset
        form = sum_of(form_of(offset), atom(key, alignment))
        return Int(offset.base, kind, ((base, 1), *offset.terms), form)

    def _as_pointer(self, value: Int, kind: PointerType) -> Value:
        for i, (symbol, factor) in enumerate(value.terms):
            if symbol.key in self.bases and isinstance(factor, int) and factor == 1:
                rest = value.terms[:i] + value.terms[i + 1 :]
                form = sum_of(form_of(value), atom(symbol.key, symbol.multiple), -1)
                offset = Int(value.base, I64, rest, form)
                return Pointer(self.bases[symbol.key], offset, kind.target)
        return Unknown("a pointer is made from a number")

    def shared_address(self, value: Value) -> Pointer | Unknown:
        """The pointer behind a 32-bit shared address, as inline PTX takes it."""
        if isinstance(value, Pointer):
            return value
        if isinstance(value, Int):
            found = self._as_pointer(value, PointerType(I8))
            if isinstance(found, Pointer):
                return found
        return value if isinstance(value, Unknown) else Unknown("not an address of a shared array")


def _holds_data(value: Aggregate) -> bool:
    return any(
        isinstance(v, FloatValue) or (isinstance(v, Unknown) and v.is_data)
        for v in value.cells.values()
    )


def _qualifiers(node: c_ast.Node) -> set[str]:
    found: set[str] = set()
    while node is not None:
        found |= set(getattr(node, "quals", None) or ())
        node = getattr(node, "type", None)
        if not isinstance(node, c_ast.Node):
            break
    return found
