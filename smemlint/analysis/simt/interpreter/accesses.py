"""Accesses: places are read and written; what touches shared memory is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.ctypes import (
    I16,
    I64,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
)
from smemlint.analysis.simt.domain.masks import is_any
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.swizzled import declared_use, swizzled
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Cute,
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
    assumed_by,
    offset_of,
)
from smemlint.analysis.simt.interpreter.lvalues import is_lost, type_name, why_lost
from smemlint.analysis.simt.interpreter.names import Names
from smemlint.analysis.simt.state import Place
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.facts import LayoutUse, SharedArray
    from smemlint.layout.declared import DeclaredSwizzle


class Accesses(Names):
    """Reads and writes places."""

    def read(self, place: Place, node: c_ast.Node) -> Value:
        """Reads a place; an array decays to a pointer, shared memory records a load."""
        kind = place.type
        if isinstance(kind, ArrayType):
            return Pointer(place.object, place.offset, kind.element, place.volatile)
        if place.object.space is Space.SHARED:
            return self._read_shared(place, node)
        if place.object.space is Space.LOCAL:
            if is_lost(place.offset):
                return why_lost(place.object)
            if kind.__class__ is RecordType and kind.size <= 1 and not kind.members:
                return Aggregate(kind, {})
            return self.store.read(place.object, place.offset, kind, self.mask)
        return self._read_elsewhere(place, node)

    def _read_shared(self, place: Place, node: c_ast.Node) -> Value:
        if _is_unread_class(place.type) and place.object.type == place.type:
            said = f"what `{self.source(node)}` is used for: its class was not read"
            return self.not_followed(node, said)  # a reference to it loads nothing
        self.record(AccessKind.LOAD, place, node)
        return self._loaded(place, node, "shared memory")

    def _loaded(self, place: Place, node: c_ast.Node, where: str) -> Value:
        kind = place.type
        match kind:
            case FloatType():
                return FloatValue(kind)
            case IntType() if place.offset.is_uniform and not is_lost(place.offset):
                self.sequence += 1
                return self.algebra.symbol(
                    self.key(node, f"load{self.sequence}"), self.source(node), kind
                )
            case RecordType():
                cells: dict[int, Value] = {}
                for member in kind.members:
                    inner = Place(place.object, place.offset, member.type)
                    if not isinstance(member.type, ArrayType):
                        cells[member.offset] = self._loaded(inner, node, where)
                return Aggregate(kind, cells)
            case _:
                return Unknown(f"a value read from {where}", is_data=True)

    def _read_elsewhere(self, place: Place, node: c_ast.Node) -> Value:
        """A read of global, constant or parameter memory."""
        if place.object.space is Space.PARAMETER:
            at = place.offset.constant
            held = place.object.cells.get(at) if at is not None else None
            if held is not None:
                return held
            name = self.source(node) if node.coord is not None else place.object.name
            key = f"{place.object.key}+{place.offset.identity()}"
            value = self.unknown_of(place.type, key, name)
            if at is not None:
                place.object.cells[at] = value
            return value
        return self._loaded(place, node, "global memory")

    def unknown_of(self, kind: CType, key: str, name: str) -> Value:
        """What is known of an argument of a kernel: its type."""
        match kind:
            case IntType():
                return self.algebra.symbol(key, name, kind)
            case FloatType():
                return FloatValue(kind)
            case PointerType():
                obj = Object(name, kind.target, Space.GLOBAL, key)
                return Pointer(obj, offset_of(0), kind.target)
            case RecordType():
                cells = {
                    m.offset: self.unknown_of(m.type, f"{key}.{m.name}", f"{name}.{m.name}")
                    for m in kind.members
                    if not isinstance(m.type, ArrayType)
                }
                return Aggregate(kind, cells)
            case StaticType() if isinstance(kind.value, Cute | Int):
                return kind.value
            case _:
                return Unknown(f"`{name}` is known only at run time", is_uniform=True)

    def write(self, place: Place, value: Value, node: c_ast.Node) -> None:
        """Writes a place for the active threads; shared memory records a store."""
        if place.object.space is Space.SHARED:
            self.record(AccessKind.STORE, place, node, line_node=self.stored)
        elif place.object.space is Space.LOCAL:
            if is_lost(place.offset):
                self.store.forget(place.object, "was written at an index that is not known")
                return
            converted = self.convert(value, place.type)
            self.store.write(place.object, place.offset, place.type, converted, self.mask)

    def record(self, kind: AccessKind, place: Place, node: c_ast.Node, **extra: object) -> None:
        """Adds an access of a shared place to the trace: one event per machine access."""
        if not is_any(self.mask):
            return
        offset: Int | Unknown = place.offset
        width = place.type.size
        pieces = [(0, width)]
        if isinstance(place.type, RecordType):
            piece = min(16, place.type.align, width & -width)
            pieces = [(at, piece) for at in range(0, width, piece)]
        elif width == 0:
            offset = Unknown(f"the size of `{type_name(place.type)}` is not known")
        extends = kind is AccessKind.LOAD and place.type == I16  # never fused
        for at, size in pieces:
            moved = (
                offset if isinstance(offset, Unknown) else self.algebra.add(offset, Int(at, I64))
            )
            volatile = place.volatile or extends
            self.emit(kind, place.object, moved, size, node, volatile=volatile, **extra)

    def emit(
        self,
        kind: AccessKind,
        obj: Object | None,
        offset: Int | Unknown,
        width: int,
        node: c_ast.Node,
        **extra: object,
    ) -> None:
        """Adds one event to the trace."""
        if obj is not None and isinstance(offset, Int) and is_lost(offset):
            offset = why_lost(obj)
        layout = obj.layout if obj is not None else None
        obj = obj.origin or obj if obj is not None else None
        assumptions = (*self.unit.conditions(node), *self.assumptions)
        if obj is not None and obj.shared is not None:
            declared = self.declared(obj.shared)
            if declared is not None:
                layout = self._declared_layout(obj.shared, declared)
                assumptions = (*assumptions, *layout.assumptions)
                if isinstance(offset, Int):
                    offset = _in_bytes(offset, declared, obj.shared)
        if not isinstance(offset, Unknown):
            self.last_found = self.steps
        elif offset.split is not None:
            symbol, modulus = offset.split
            self.split_requests[symbol.key] = max(modulus, self.split_requests.get(symbol.key, 1))
        if isinstance(offset, Int) and offset.terms:
            assumptions = (*assumptions, *assumed_by(offset))
        self.trace.add(
            Event(
                node,
                obj,
                kind,
                width,
                offset,
                self.mask,
                assumptions=assumptions,
                values=tuple(self.loop_values),
                hangs_on_data=not self.data_conditions.isdisjoint(self.assumptions),
                call=self.opened_call(node, offset),
                **{"layout": layout, **extra},  # type: ignore[arg-type]
            )
        )

    def _declared_layout(self, array: SharedArray, declared: DeclaredSwizzle) -> LayoutUse:
        key = f"declared {array.name} {array.span}"
        if key not in self.layouts:
            self.layouts[key] = declared_use(array, declared, self.frames[0].name)
        return self.layouts[key]


def _in_bytes(offset: Int, declared: DeclaredSwizzle, array: SharedArray) -> Int | Unknown:
    """The byte offset that a declared swizzle makes of one."""
    try:
        return swizzled(offset, declared.in_bytes(array.element_bytes))
    except ValueError as error:
        return Unknown(f"{declared} of `{array.name}`: {error}")


def _is_unread_class(kind: CType) -> bool:
    """Whether it is a class of a library, as `cub::BlockScan<..>::TempStorage`, and no `T`."""
    return isinstance(kind, OpaqueType) and not kind.size and "::" in kind.spelling
