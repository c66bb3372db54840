"""Places: the lvalues of expressions."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.analysis.simt.domain.affine import is_plain
from smemlint.analysis.simt.domain.ctypes import (
    I64,
    U32,
    ArrayType,
    CType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.scev import atom, form_of
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Callable,
    Int,
    Pointer,
    Symbol,
    Unknown,
    Value,
    offset_of,
    propagated,
)
from smemlint.analysis.simt.interpreter.conversions import Conversions
from smemlint.analysis.simt.state import Place, Variable, is_reference
from smemlint.analysis.simt.types.resolve import type_of

_COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim", "clusterDim"))
_LOST = Symbol("lost", "an index that is not known")


class Places(Conversions):
    """Finds what an expression names in memory."""

    def place(self, node: c_ast.Node) -> Place | Unknown:
        """The lvalue of an expression; `Unknown` when it has none that is followed."""
        match node:
            case c_ast.ID():
                binding = self.binding(node.name, node)
                if isinstance(binding, Variable):
                    return self._variable_place(binding)
                if isinstance(binding, Pointer):
                    return Unknown(f"`{node.name}` is not an lvalue")
                return (
                    binding
                    if isinstance(binding, Unknown)
                    else Unknown(f"`{node.name}` is no variable")
                )
            case c_ast.ArrayRef():
                return self._element_place(node)
            case c_ast.StructRef():
                return self._struct_place(node)
            case c_ast.UnaryOp() if node.op == "*":
                return self.target_of(self.evaluate(node.expr), node)
            case c_ast.UnaryOp() if node.op in ("++", "--"):
                return self.incremented(node)[0]
            case c_ast.Assignment():
                self.evaluate(node)
                return self.place(node.lvalue)
            case c_ast.ExprList():
                for expr in node.exprs[:-1]:
                    self.evaluate(expr)
                return self.place(node.exprs[-1])
            case c_ast.Cast():
                place = self.place(node.expr)
                if isinstance(place, Place):
                    kind = self.resolve(node.to_type)
                    kind = kind.target if is_reference(kind) else kind  # type: ignore[union-attr]
                    return Place(place.object, place.offset, kind, place.volatile)
                return place
        value = self.evaluate(node)
        if isinstance(value, Pointer):
            return Place(value.object, value.offset, value.target, value.is_volatile)
        if isinstance(value, Unknown):
            return value
        return Place(
            self.local("temporary", type_of(value), self.key(node), value),
            offset_of(0),
            type_of(value),
        )

    def target_of(self, value: Value, node: c_ast.Node) -> Place | Unknown:
        """What a pointer value points to."""
        if isinstance(value, Pointer):
            return Place(value.object, value.offset, value.target, value.is_volatile)
        if isinstance(value, Aggregate):  # an iterator or smart pointer
            return Unknown(f"`{self.source(node)}` dereferences a class object")
        return value if isinstance(value, Unknown) else Unknown("a number is dereferenced")

    def _variable_place(self, variable: Variable) -> Place:
        obj = variable.object
        if is_reference(variable.type):
            held = obj.cells.get(0)
            if isinstance(held, Pointer):
                return Place(held.object, held.offset, held.target, held.is_volatile)
            hidden = (
                held
                if isinstance(held, Unknown)
                else Unknown(f"`{obj.name}` refers to nothing known")
            )
            target = (
                variable.type.target if isinstance(variable.type, PointerType) else variable.type
            )
            return Place(
                Object(obj.name, target, Space.LOCAL, obj.key, default=hidden), offset_of(0), target
            )
        return Place(obj, offset_of(0), variable.type, obj.is_volatile)

    def _element_place(self, node: c_ast.ArrayRef) -> Place | Unknown:
        base = self.evaluate(node.name)
        index = self.evaluate(node.subscript)
        if isinstance(base, Int) and isinstance(index, Pointer):
            base, index = index, base
        if isinstance(base, Aggregate):
            return self._subscript_operator(base, index, node)
        if not isinstance(base, Pointer):
            return (
                base if isinstance(base, Unknown) else Unknown("what is indexed is not a pointer")
            )
        moved = self.advance(base, index)
        if base.object.space is not Space.LOCAL and not isinstance(base.target, ArrayType):
            self.spend(2)
        if isinstance(moved, Unknown):
            return self.lost(base, moved)  # counted: the array is known even so
        return Place(moved.object, moved.offset, moved.target, moved.is_volatile)

    def moved_away(self, pointer: Pointer, why: Unknown) -> Value:
        """A pointer that points elsewhere now; into shared memory the array is still known."""
        if pointer.object.space is not Space.SHARED:
            return why
        return self.lost(pointer, why).pointer()

    def lost(self, base: Pointer, why: Unknown) -> Place:
        """A place in a known array at an unknown offset."""
        known = base.object.origin or base.object
        lost = Object(known.name, known.type, known.space, f"{known.key} lost")
        lost.shared = known.shared
        lost.default = why
        return Place(lost, Int(0, I64, ((_LOST, 1),)), base.target, base.is_volatile)

    def _subscript_operator(self, base: Value, index: Value, node: c_ast.Node) -> Place | Unknown:
        if isinstance(base, Aggregate) and isinstance(base.type, RecordType):
            for member in base.type.members:  # std::array and its like
                if (
                    isinstance(member.type, ArrayType)
                    and isinstance(index, Int)
                    and index.constant is not None
                ):
                    cell = base.cells.get(member.offset + index.constant * member.type.element.size)
                    if cell is not None:
                        return Place(
                            self.local("element", member.type.element, self.key(node), cell),
                            offset_of(0),
                            member.type.element,
                        )
        return Unknown(f"`{self.source(node)}` calls an operator that is not followed")

    def advance(self, pointer: Pointer, index: Value, sign: int = 1) -> Pointer | Unknown:
        """`pointer + index` in elements of what it points to."""
        if isinstance(index, Unknown):
            return propagated(index, index)
        if not isinstance(index, Int):
            return Unknown("an index is not an integer")
        size = pointer.target.size
        if size == 0:
            if isinstance(pointer.target, ArrayType):
                return Unknown("the array's inner extent is not known")
            return Unknown(f"the size of `{type_name(pointer.target)}` is not known")
        form = None if is_plain(index) else form_of(index)
        wide = Int(index.base, I64, index.terms, form)
        step = self.algebra.multiply(wide, Int(size, I64))
        if isinstance(step, Unknown):
            return step
        offset = self.algebra.add(pointer.offset, step, sign)
        return Pointer(pointer.object, offset, pointer.target, pointer.is_volatile)

    def _moved(self, pointer: Pointer, by: Value, sign: int = 1) -> Value:
        """A pointer that went on; into a shared array it stays one, wherever it points."""
        moved = self.advance(pointer, by, sign)
        return self.moved_away(pointer, moved) if isinstance(moved, Unknown) else moved

    def _struct_place(self, node: c_ast.StructRef) -> Place | Unknown:
        name = node.field.name
        if node.type == "->":
            value = self.evaluate(node.name)
            if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                return self._member_place(value, value.target, name)
            return (
                value
                if isinstance(value, Unknown)
                else Unknown(f"`{self.source(node)}` is not followed")
            )
        if (
            isinstance(node.name, c_ast.ID)
            and node.name.name in _COORDINATES
            and not self.lookup(node.name.name)
        ):
            value = self.coordinate(node.name.name, name)
            return Place(self.local(node.name.name, U32, "", value), offset_of(0), U32)
        base = self.place(node.name)
        if isinstance(base, Unknown):
            return base
        if isinstance(base.type, RecordType):
            return self._member_place(base.pointer(), base.type, name)
        default = base.object.default
        if isinstance(default, Unknown):
            return default
        return Unknown(f"the type of `{self.source(node.name)}` is not known")

    def _member_place(self, base: Pointer, record: RecordType, name: str) -> Place | Unknown:
        member = record.member(name)
        if member is None:
            static = record.statics.get(name)
            if static is not None:
                value = self.static_member(record, name)
                if isinstance(value, Int):
                    return Place(
                        self.local(name, value.type, name, value), offset_of(0), value.type
                    )
            return Unknown(f"`{record.name}` has no member `{name}` that was read")
        offset = self.algebra.add(base.offset, Int(member.offset, I64))
        kind = member.type
        if is_reference(kind) and base.object.space is Space.LOCAL:
            held = self.store.read(base.object, offset, kind)
            return self.target_of(held, c_ast.ID(name))
        return Place(base.object, offset, kind, base.is_volatile)

    def _address(self, expr: c_ast.Node) -> Value:
        if isinstance(expr, c_ast.ID):
            binding = self.binding(expr.name, expr)
            if isinstance(binding, Callable):
                return binding
        place = self.place(expr)
        return place if isinstance(place, Unknown) else place.pointer()

    def coordinate(self, name: str, axis: str) -> Value:
        """`threadIdx.x` and its kin."""
        g = self.geometry
        at = "xyz".find(axis)
        if at < 0:
            return Unknown(f"`{name}.{axis}` does not exist")
        match name:
            case "threadIdx":
                lanes = (g.x, g.y, g.z)[at]
                one = isinstance(lanes, int) or g.block[at] == 1
                form = atom(f"{name}.{axis}", hangs_on_lane=True)
                return Int(0 if one else lanes, U32, form=form)
            case "blockDim":
                return Int(g.block[at], U32, form=atom(f"{name}.{axis}"))
            case "clusterDim":
                return self.algebra.symbol(f"{name}.{axis}", f"{name}.{axis}", U32)
        return self.algebra.symbol(f"{name}.{axis}", f"{name}.{axis}", U32, nonnegative=True)


def is_lost(offset: Int) -> bool:
    """Whether an offset into a known array is not known."""
    return bool(offset.terms) and any(symbol is _LOST for symbol, _ in offset.terms)


def why_lost(obj: Object) -> Unknown:
    """Why the offset into an array is not known."""
    why = obj.default
    return why if isinstance(why, Unknown) else Unknown("the index is not known")


def type_name(kind: CType) -> str:
    """A type as messages name it."""
    return getattr(kind, "spelling", None) or getattr(kind, "name", None) or "the element"
