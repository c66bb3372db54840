"""Expressions: values and places of c_ast nodes for all threads of the block at once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from pycparser import c_ast

from smemlint.evaluate.algebra import is_plain, truth
from smemlint.evaluate.ctypes import (
    BOOL,
    DOUBLE,
    FLOAT,
    I8,
    I16,
    I32,
    I64,
    U32,
    U64,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    VoidType,
)
from smemlint.evaluate.forms import atom, chosen, form_of, operated, sum_of
from smemlint.evaluate.machine import Lazy, Place, Variable, is_reference
from smemlint.evaluate.masks import is_any
from smemlint.evaluate.memory import Object, Space
from smemlint.evaluate.swizzled import declared_use, swizzled
from smemlint.evaluate.trace import Event
from smemlint.evaluate.types import CTYPES, Types, type_of
from smemlint.evaluate.values import (
    Aggregate,
    Callable,
    Cute,
    FloatValue,
    Int,
    OpenCondition,
    PartlyKnown,
    Pointer,
    Symbol,
    Unknown,
    Value,
    assumed_by,
    assuming,
    bounds_of_truth,
    is_truth,
    number,
    offset_of,
    open_condition,
    same,
    seen_by,
    select,
)
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from smemlint.evaluate.machine import Binding, Mask
    from smemlint.facts import LayoutUse, SharedArray
    from smemlint.layout.declared import DeclaredSwizzle


_SUFFIX = re.compile(r"[uUlLzZ]+$")
_NUMBERS = frozenset((IntType, FloatType))
"""Types of which a local variable holds one value, which a name reads."""
_ORDERS = frozenset(("<", "<=", ">", ">="))
_COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))


class Expressions(Types):
    """Evaluates expressions; calls live in `calls`."""

    follows_forms = True
    """Whether integers keep how the compiler computes them, which fusion needs."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._evaluators: dict[type, Any] = {}

    def evaluate(self, node: c_ast.Node) -> Value:
        """The value of an expression; side effects happen for the active threads."""
        method = self._evaluators.get(node.__class__)
        if method is None:
            name = node.__class__.__name__
            method = getattr(self, f"_eval_{name}", None)
            if method is None:
                return Unknown(f"a {name} is not evaluated")
            self._evaluators[node.__class__] = method
        return method(node)  # type: ignore[no-any-return]

    # ---- leaves

    def _eval_Constant(self, node: c_ast.Constant) -> Value:
        text = node.value
        if node.type == "string":
            return Pointer(
                Object("string", ArrayType(I8, None), Space.GLOBAL, "string"), offset_of(0), I8
            )
        if node.type == "char" or text.startswith("'"):
            return number(_character(text), I8)
        if "int" in node.type:
            return _integer(text)
        return FloatValue(FLOAT if text[-1:] in "fF" else DOUBLE)

    def _eval_ID(self, node: c_ast.ID) -> Value:
        binding = self.lookup(node.name)
        if binding is None or binding.__class__ is Lazy:
            binding = self.binding(node.name, node)
        if binding.__class__ is Variable:
            if binding.type.__class__ in _NUMBERS and binding.object.space is Space.LOCAL:
                value = binding.object.cells.get(0)
                if value is not None and value.__class__ is not PartlyKnown:
                    return value
            return self.read(self._variable_place(binding), node)
        if isinstance(binding, CTYPES):
            return Callable(node.name, binding)
        return binding  # type: ignore[return-value]

    def binding(self, name: str, node: c_ast.Node) -> Binding:
        """What a name stands for; `Unknown` when nothing in the unit says."""
        local = self.lookup(name)
        if isinstance(local, Lazy):
            local = self._force(name, local)
        if local is not None:
            return local
        member = self._own_member(name)
        if member is not None:
            return member
        match name:
            case "true" | "false":
                return number(int(name == "true"), BOOL)
            case "nullptr" | "NULL" | "__null":
                return number(0, I64)
            case "warpSize" | "WARP_SIZE" if name == "warpSize" or not self.global_binding(name):
                return number(32, I32)
            case "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "clusterDim":
                return Callable(name)
            case "__unparsed":
                return Unknown("a part of the expression could not be parsed")
        found = self.global_binding(name)
        if isinstance(found, Lazy):
            found = self._force(name, found)
        if found is not None:
            return found
        kind = self.spelled_type(name)
        if kind is not None:
            return kind
        return Unknown(f"`{name}` is not declared in what was read", is_uniform=False)

    def _force(self, name: str, lazy: Lazy) -> Value:
        lazy.scope[name] = Unknown(f"`{name}` is defined by itself")
        value = self.evaluate(lazy.node)
        lazy.scope[name] = value
        return value

    def _own_member(self, name: str) -> Binding | None:
        """A member or static of the object that the method works on."""
        frame = self.frame
        if frame.this is not None and isinstance(frame.this.target, RecordType):
            member = frame.this.target.member(name)
            if member is not None:
                place = self._member_place(frame.this, frame.this.target, name)
                if isinstance(place, Place):
                    return Variable(
                        Object(
                            name,
                            PointerType(place.type, True),
                            Space.LOCAL,
                            name,
                            {0: place.pointer()},
                        ),
                        PointerType(place.type, True),
                    )
        if frame.record is not None and name in frame.record.statics:
            return self.static_member(frame.record, name)
        return None

    # ---- places

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
                return self._incremented(node)[0]
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
            return self._lost(base, moved)  # counted: the array is known even so
        return Place(moved.object, moved.offset, moved.target, moved.is_volatile)

    def _lost(self, base: Pointer, why: Unknown) -> Place:
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
            return _propagated(index, index)
        if not isinstance(index, Int):
            return Unknown("an index is not an integer")
        size = pointer.target.size
        if size == 0:
            if isinstance(pointer.target, ArrayType):
                return Unknown("the array's inner extent is not known")
            return Unknown(f"the size of `{_type_name(pointer.target)}` is not known")
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
        if isinstance(moved, Unknown) and pointer.object.space is Space.SHARED:
            return self._lost(pointer, moved).pointer()
        return moved

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

    # ---- reading and writing

    def read(self, place: Place, node: c_ast.Node) -> Value:
        """Reads a place; an array decays to a pointer, shared memory records a load."""
        kind = place.type
        if isinstance(kind, ArrayType):
            return Pointer(place.object, place.offset, kind.element, place.volatile)
        if place.object.space is Space.SHARED:
            return self._read_shared(place, node)
        if place.object.space is Space.LOCAL:
            if _is_lost(place.offset):
                return _why_lost(place.object)
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
            case IntType() if place.offset.is_uniform and not _is_lost(place.offset):
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
            if _is_lost(place.offset):
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
            offset = Unknown(f"the size of `{_type_name(place.type)}` is not known")
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
        if obj is not None and isinstance(offset, Int) and _is_lost(offset):
            offset = _why_lost(obj)
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

    # ---- operators

    def _eval_ArrayRef(self, node: c_ast.ArrayRef) -> Value:
        place = self._element_place(node)
        return place if isinstance(place, Unknown) else self.read(place, node)

    def _eval_StructRef(self, node: c_ast.StructRef) -> Value:
        place = self._struct_place(node)
        return place if isinstance(place, Unknown) else self.read(place, node)

    def _eval_UnaryOp(self, node: c_ast.UnaryOp) -> Value:
        op = node.op
        if op in ("sizeof", "alignof", "_Alignof", "__alignof__"):
            return self._size(node, op)
        if op == "&":
            return self._address(node.expr)
        if op in ("++", "--", "p++", "p--"):
            return self._incremented(node)[1]
        value = self.evaluate(node.expr)
        if op == "*":
            place = self.target_of(value, node)
            return place if isinstance(place, Unknown) else self.read(place, node)
        if isinstance(value, FloatValue):
            return (
                Unknown("a condition on a floating-point number", is_data=True)
                if op == "!"
                else value
            )
        if isinstance(value, Pointer) and op == "!":
            return number(0, BOOL)
        if isinstance(value, OpenCondition) and op == "!":
            return value.negated()
        if not isinstance(value, Int):
            return (
                _propagated(value, value)
                if isinstance(value, Unknown)
                else Unknown(f"operand of `{op}` is not a number")
            )
        match op:
            case "-":
                return self.algebra.add(Int(0, value.type), value, -1)
            case "+":
                return value
            case "~":
                return self.algebra.add(self.algebra.add(Int(0, value.type), value, -1), Int(-1), 1)
            case "!":
                return self.algebra.compare("==", value, Int(0))
        return Unknown(f"operator `{op}` is not evaluated")

    def _size(self, node: c_ast.UnaryOp, op: str) -> Value:
        kind: CType | None
        if isinstance(node.expr, c_ast.Typename):
            kind = self.resolve(node.expr)
        else:
            self.trace.mute()
            try:
                place = self.place(node.expr)
                kind = place.type if isinstance(place, Place) else None
                if isinstance(place, Unknown):
                    value = self.evaluate(node.expr)
                    held = value.payload if isinstance(value, Callable) else None
                    kind = held if isinstance(held, CTYPES) else None
            finally:
                self.trace.unmute()
        if kind is not None and is_reference(kind):
            kind = kind.target  # type: ignore[union-attr]
        size = (kind.size if op == "sizeof" else kind.align) if kind is not None else 0
        return (
            number(size, U64)
            if size
            else Unknown(f"`{self.source(node)}` is not known", is_uniform=True)
        )

    def _address(self, expr: c_ast.Node) -> Value:
        if isinstance(expr, c_ast.ID):
            binding = self.binding(expr.name, expr)
            if isinstance(binding, Callable):
                return binding
        place = self.place(expr)
        return place if isinstance(place, Unknown) else place.pointer()

    def _incremented(self, node: c_ast.UnaryOp) -> tuple[Place | Unknown, Value]:
        """The place of `++x` or `x++`, and the value of the expression."""
        place = self.place(node.expr)
        if isinstance(place, Unknown):
            return place, place
        old = self.read(place, node.expr)
        new = self.binary("+" if "+" in node.op else "-", old, number(1), node)
        self.write(place, new, node.expr)
        return place, old if node.op.startswith("p") else new

    def _eval_BinaryOp(self, node: c_ast.BinaryOp) -> Value:
        if node.op in ("&&", "||"):
            return self._logical(node)
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def _logical(self, node: c_ast.BinaryOp) -> Value:
        left = self.condition(self.evaluate(node.left))
        short = 0 if node.op == "&&" else 1
        if (
            isinstance(left, Int)
            and left.constant is not None
            and (left.constant != 0) == bool(short)
        ):
            return number(short, BOOL)
        mask = self.mask
        may_hold, holds = bounds_of_truth(left)
        self.mask = mask & (may_hold if node.op == "&&" else ~holds)
        right = (
            self.condition(self.evaluate(node.right)) if is_any(self.mask) else number(short, BOOL)
        )
        self.mask = mask
        if isinstance(left, Int) and isinstance(right, Int):
            op = "&" if node.op == "&&" else "|"
            both = self.algebra.bitwise(op, left, right)
            return Int(both.base, BOOL) if isinstance(both, Int) else both
        for known, other in ((left, right), (right, left)):
            if isinstance(known, Int) and known.constant is not None:
                return number(short, BOOL) if (known.constant != 0) == bool(short) else other
        unknown = left if isinstance(left, Unknown) else right
        assert isinstance(unknown, Unknown)
        if left.is_uniform and right.is_uniform:
            return Unknown(unknown.reason, unknown.is_data, is_uniform=True)
        is_data = any(isinstance(v, Unknown) and v.is_data for v in (left, right))
        other_may, other_does = bounds_of_truth(right)
        combine = np.logical_and if node.op == "&&" else np.logical_or
        return open_condition(
            Unknown(unknown.reason, is_data),
            combine(may_hold, other_may),
            combine(holds, other_does),
        )

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

    def binary(self, op: str, a: Value, b: Value, node: c_ast.Node) -> Value:
        """`a op b` for the built-in operators."""
        if a.__class__ is Int and b.__class__ is Int:
            return self._integers(op, a, b, node)
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            return self._pointer_operation(op, a, b)
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return _propagated(a, b)
        if isinstance(a, FloatValue) or isinstance(b, FloatValue):
            self.spend(1)
            if op in _COMPARISONS:
                return Unknown("a condition on a floating-point number", is_data=True)
            return a if isinstance(a, FloatValue) else b
        if self.loops:
            self.spend_on(node)
        return self.operator_call(op, a, b, node)

    def _integers(self, op: str, a: Int, b: Int, node: c_ast.Node) -> Value:
        if self.loops:
            self.spend_on(node)
        try:
            result = self._integer_operation(op, a, b)
        except OverflowError:
            return Unknown("a number does not fit into 64 bits")
        if result.__class__ is Int and self.follows_forms and _may_have_form(result, a, b):
            result.form = operated(op, a, b, signed=result.type.signed)
        return result

    def _integer_operation(self, op: str, a: Int, b: Int) -> Int | Unknown:
        algebra = self.algebra
        match op:
            case "+":
                return algebra.add(a, b)
            case "-":
                return algebra.add(a, b, -1)
            case "*":
                return algebra.multiply(a, b)
            case "/":
                return algebra.divide(a, b)
            case "%":
                return algebra.modulo(a, b)
            case "<<":
                return algebra.shift_left(a, b)
            case ">>":
                return algebra.shift_right(a, b)
            case "&" | "|" | "^":
                return algebra.bitwise(op, a, b)
            case _ if op in _COMPARISONS:
                return algebra.compare(op, a, b)
        return Unknown(f"operator `{op}` is not evaluated")

    def operator_call(self, op: str, a: Value, b: Value, node: c_ast.Node) -> Value:
        """An overloaded operator on class objects."""
        return Unknown(f"operator `{op}` on class objects is not followed")

    def _pointer_operation(self, op: str, a: Value, b: Value) -> Value:
        if op == "+" and isinstance(a, Pointer):
            return self._moved(a, b)
        if op == "+" and isinstance(b, Pointer):
            return self._moved(b, a)
        if op == "-" and isinstance(a, Pointer) and not isinstance(b, Pointer):
            return self._moved(a, b, -1)
        for pointer in (a, b):
            if isinstance(pointer, Pointer) and _is_lost(pointer.offset):
                return _why_lost(pointer.object)
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
            difference = self.algebra.add(a.offset, b.offset, -1)
            if op == "-":
                return self.algebra.divide(difference, Int(max(a.target.size, 1), I64))
            if op in _COMPARISONS:
                return self.algebra.compare(op, difference, Int(0, I64))
        if op in ("==", "!="):  # against nullptr: pointers that we know are not null
            return number(int(op == "!="), BOOL)
        return Unknown("pointers into different objects are combined")

    def _eval_TernaryOp(self, node: c_ast.TernaryOp) -> Value:
        condition = self.condition(self.evaluate(node.cond))
        mask = self.mask
        if isinstance(condition, Int):
            if condition.constant is not None:
                return self.evaluate(node.iftrue if condition.constant else node.iffalse)
            where = np.asarray(condition.base) != 0
            left = self._under(mask & where, node.iftrue)
            right = self._under(mask & ~where, node.iffalse)
            return _one_or_both(where, left, right)
        text = self.source(node.cond)
        self.note_data(condition, f"`{text}` holds", node.cond)
        may_hold, holds = bounds_of_truth(condition)
        left = self._assuming(f"`{text}` holds", mask & may_hold, node.iftrue)
        right = self._assuming(f"`{text}` does not hold", mask & ~holds, node.iffalse)
        if left is None or right is None:
            return _one_or_both(may_hold, left, right)
        return self.joined(left, right, condition, node)

    def note_data(self, condition: Unknown, holds: str, cond: c_ast.Node) -> None:
        """Remembers an assumption that holds for few threads, which only the data tell."""
        if condition.is_data and not condition.is_uniform and _singles_out(cond):
            self.data_conditions.add(holds)

    def _under(self, mask: Mask, node: c_ast.Node) -> Value | None:
        if not is_any(mask):
            return None
        before, self.mask = self.mask, mask
        try:
            return self.evaluate(node)
        finally:
            self.mask = before

    def _assuming(self, text: str, mask: Mask, node: c_ast.Node) -> Value | None:
        before = self.trace.events
        self.assumptions.append(text)
        try:
            return self._under(mask, node)
        finally:
            self.assumptions.pop()
            if self.trace.events > before:  # issued under a predicate of its own
                self.trace.fence("block")

    def joined(self, a: Value, b: Value, condition: Unknown, node: c_ast.Node) -> Value:
        """The value after an unknown condition chose between two."""
        if same(a, b):
            return a
        if isinstance(a, Int) and isinstance(b, Int):
            if condition.is_uniform:
                line = node.coord.line if node.coord else 0
                key = f"({line}?{a.identity()}:{b.identity()})"
                either = self.algebra.either(a, b, key, self.source(node))
                if either is not None:
                    return either
            if is_truth(a) and is_truth(b):
                return _truth_after(condition, a, b)
            inside = self._within_bounds(a, b, node)
            return inside or Unknown(condition.reason, condition.is_data)
        if isinstance(a, FloatValue) or isinstance(b, FloatValue):
            return a if isinstance(a, FloatValue) else b
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
            offset = self.joined(a.offset, b.offset, condition, node)
            if isinstance(offset, Int):
                return Pointer(a.object, offset, a.target, a.is_volatile)
            return offset
        if isinstance(a, Aggregate) and isinstance(b, Aggregate):
            cells = {
                k: self.joined(v, b.cells.get(k, v), condition, node) for k, v in a.cells.items()
            }
            return Aggregate(a.type, cells)
        for value, other in ((a, b), (b, a)):
            if isinstance(value, OpenCondition) and is_truth(other):
                return _truth_after(condition, a, b)
            if isinstance(value, Unknown):
                return seen_by(None, value)
        return Unknown(condition.reason, condition.is_data)

    def _within_bounds(self, a: Int, b: Int, node: c_ast.Node) -> Int | None:
        """The one of two that varies by thread, where the other is the bound it is held to.

        `x < low ? low : x` and `if (x > high) x = high;` leave most threads as they are: the figure
        is that of blocks that the bound does not touch, and says so.
        """
        cond = getattr(node, "cond", None)
        if not (isinstance(cond, c_ast.BinaryOp) and cond.op in _ORDERS and _is_pure(cond)):
            return None
        self.trace.mute()
        sides = self.evaluate(cond.left), self.evaluate(cond.right)
        self.trace.unmute()
        for inside, bound, holds in ((a, b, "holds"), (b, a, "does not hold")):
            is_held = bound.is_uniform and not inside.is_uniform
            if is_held and any(same(x, inside) and same(y, bound) for x, y in (sides, sides[::-1])):
                return assuming(inside, f"`{self.source(cond)}` {holds}")
        return None

    def _eval_Assignment(self, node: c_ast.Assignment) -> Value:
        if node.op == "=":
            value = self.evaluate(node.rvalue)
            place = self.place(node.lvalue)
            if isinstance(place, Unknown):
                return value
            self.stored = node.rvalue if isinstance(place.type, RecordType) else None
            self.write(place, value, node.lvalue)
            self.stored = None
            return self.convert(value, place.type)
        place = self.place(node.lvalue)
        if isinstance(place, Unknown):
            self.evaluate(node.rvalue)
            return place
        if place.object.space is Space.LOCAL and isinstance(place.type, FloatType):
            self.evaluate(node.rvalue)  # an accumulator: its value is never followed
            self.spend(1)
            return FloatValue(place.type)
        value = self.evaluate(node.rvalue)
        old = self.read(place, node.lvalue)
        new = self.binary(node.op[:-1], old, value, node)
        self.write(place, new, node.lvalue)
        return new

    def _eval_ExprList(self, node: c_ast.ExprList) -> Value:
        value: Value = Unknown("an empty expression")
        for expr in node.exprs:
            value = self.evaluate(expr)
        return value

    def _eval_InitList(self, node: c_ast.InitList) -> Value:
        if len(node.exprs or ()) == 1:
            return self.evaluate(node.exprs[0])
        for expr in node.exprs or ():
            self.evaluate(expr)
        return Unknown("a braced list is not followed")

    def _eval_Typename(self, node: c_ast.Typename) -> Value:
        return Callable("type", self.resolve(node))

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

    # ---- thread coordinates

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


_COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim", "clusterDim"))
_LOST = Symbol("lost", "an index that is not known")


def _is_lost(offset: Int) -> bool:
    return bool(offset.terms) and any(symbol is _LOST for symbol, _ in offset.terms)


def _why_lost(obj: Object) -> Unknown:
    why = obj.default
    return why if isinstance(why, Unknown) else Unknown("the index is not known")


def _is_unread_class(kind: CType) -> bool:
    """Whether it is a class of a library, as `cub::BlockScan<..>::TempStorage`, and no `T`."""
    return isinstance(kind, OpaqueType) and not kind.size and "::" in kind.spelling


def _may_have_form(result: Int, a: Int, b: Int) -> bool:
    """Whether a result without a form comes from something the compiler does not know."""
    if result.form is not None:
        return False
    return not (is_plain(a) and is_plain(b))


def _propagated(a: Value, b: Value) -> Unknown:
    unknown = a if isinstance(a, Unknown) else b
    assert isinstance(unknown, Unknown)
    uniform = all(getattr(v, "is_uniform", False) for v in (a, b))
    data = any(isinstance(v, Unknown) and v.is_data for v in (a, b))
    return Unknown(unknown.reason, data, uniform, unknown.split)


def _singles_out(cond: c_ast.Node) -> bool:
    """Whether it tests for one value or bit: what an order parts, both halves are warps full of."""
    operators = _operators(cond)
    return bool(operators & {"==", "&"}) and not operators & {"<", ">", "<=", ">="}


def _is_pure(node: c_ast.Node) -> bool:
    """Whether an expression only computes with variables and constants."""
    if isinstance(node, c_ast.UnaryOp):
        return node.op in ("-", "+", "~") and _is_pure(node.expr)
    if isinstance(node, c_ast.BinaryOp):
        return _is_pure(node.left) and _is_pure(node.right)
    return isinstance(node, c_ast.ID | c_ast.Constant)


def _operators(node: c_ast.Node) -> set[str]:
    own = {node.op} if isinstance(node, c_ast.BinaryOp) else set()
    return own.union(*(_operators(child) for _, child in node.children()))


def _truth_after(condition: Unknown, a: Value, b: Value) -> Unknown:
    """The truth value that is `a` where an open condition holds and `b` elsewhere."""
    may_hold, holds = bounds_of_truth(condition)
    (a_may, a_does), (b_may, b_does) = bounds_of_truth(a), bounds_of_truth(b)
    why = next((v for v in (a, b) if isinstance(v, Unknown)), condition)
    return open_condition(
        why, (may_hold & a_may) | (~holds & b_may), (~may_hold | a_does) & (holds | b_does)
    )


def _one_or_both(where: Mask, a: Value | None, b: Value | None) -> Value:
    if a is None:
        return b if b is not None else Unknown("nothing is evaluated")
    if b is None:
        return a
    made = select(where, a, b)
    if isinstance(a, Int) and isinstance(b, Int) and isinstance(made, Int) and made is not a:
        made.form = chosen(a, b, made)
    return made


def _holds_data(value: Aggregate) -> bool:
    return any(
        isinstance(v, FloatValue) or (isinstance(v, Unknown) and v.is_data)
        for v in value.cells.values()
    )


def _type_name(kind: CType) -> str:
    return getattr(kind, "spelling", None) or getattr(kind, "name", None) or "the element"


def _qualifiers(node: c_ast.Node) -> set[str]:
    found: set[str] = set()
    while node is not None:
        found |= set(getattr(node, "quals", None) or ())
        node = getattr(node, "type", None)
        if not isinstance(node, c_ast.Node):
            break
    return found


@lru_cache(1024)
def _integer(text: str) -> Value:
    suffix = _SUFFIX.search(text)
    digits = text[: suffix.start()] if suffix and not text.lower().startswith("0x") else text
    if text.lower().startswith("0x"):
        digits = text.rstrip("uUlLzZ")
    try:
        value = (
            int(digits, 0)
            if not (len(digits) > 1 and digits[0] == "0" and digits[1:].isdigit())
            else int(digits, 8)
        )
    except ValueError:
        return Unknown(f"`{text}` is not a number")
    letters = text[len(digits) :].lower()
    unsigned = "u" in letters
    wide = "l" in letters or "z" in letters or value >= 1 << 32
    if wide:
        return number(value, U64 if unsigned or value >= 1 << 63 else I64)
    if unsigned or (value >= 1 << 31 and digits[:1] == "0"):
        return number(value, U32)
    return number(value, I64 if value >= 1 << 31 else I32)


def _character(text: str) -> int:
    body = text[text.index("'") + 1 : -1]
    escapes = {"\\n": 10, "\\t": 9, "\\0": 0, "\\\\": 92, "\\'": 39, "\\r": 13}
    return escapes.get(body, ord(body[0]) if body else 0)


def _in_bytes(offset: Int, declared: DeclaredSwizzle, array: SharedArray) -> Int | Unknown:
    """The byte offset that a declared swizzle makes of one."""
    try:
        return swizzled(offset, declared.in_bytes(array.element_bytes))
    except ValueError as error:
        return Unknown(f"{declared} of `{array.name}`: {error}")


__all__ = ["Expressions", "np"]
