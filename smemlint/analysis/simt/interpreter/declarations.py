"""Blocks and declarations: variables, shared arrays, references, and how they are initialized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pycparser import c_ast

from smemlint.analysis.simt.builtins.intrinsics import Intrinsics
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Callable,
    Pointer,
    Unknown,
    Value,
    offset_of,
)
from smemlint.analysis.simt.state import BudgetExceeded, Place, Variable, is_reference
from smemlint.analysis.simt.types.overloads import members_of
from smemlint.analysis.simt.types.resolve import type_of
from smemlint.facts import SharedArray

_MOST_BYTES = 1 << 32
"""No shared memory has as many; arithmetic on larger arrays would overflow."""

if TYPE_CHECKING:
    from smemlint.frontend.program import Record


class Declarations(Intrinsics):
    """Runs blocks and declarations."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._executors: dict[type, Any] = {}
        self.pragma = ""  # in front of the next statement

    def executor(self, node: c_ast.Node) -> Any:
        """The method that runs a statement; None for an expression."""
        kind = type(node)
        if kind not in self._executors:
            self._executors[kind] = getattr(self, f"_exec_{kind.__name__}", None)
        return self._executors[kind]

    def _exec_Compound(self, node: c_ast.Compound) -> None:
        self.frame.scopes.append({})
        try:
            for item in node.block_items or ():
                self.execute(item)
        finally:
            self.frame.scopes.pop()

    def _eval_Compound(self, node: c_ast.Compound) -> Value:
        """A statement expression: the value of its last statement."""
        self.frame.scopes.append({})
        items = list(node.block_items or ())
        last = items.pop() if items else None
        try:
            for item in items:
                self.execute(item)
            if last is None or self.executor(last) is not None:
                self.execute(last)
                return Unknown("a statement without a value")
            return self.evaluate(last)
        finally:
            self.frame.scopes.pop()

    def _exec_EmptyStatement(self, node: c_ast.EmptyStatement) -> None:
        pass

    def _exec_Pragma(self, node: c_ast.Pragma) -> None:
        self.pragma = node.string or ""

    def _exec_DeclList(self, node: c_ast.DeclList) -> None:
        for decl in node.decls:
            self.execute(decl)

    def _exec_Typedef(self, node: c_ast.Typedef) -> None:
        self.bind(node.name, self.resolve(node.type))

    def _exec_Label(self, node: c_ast.Label) -> None:
        self.execute(node.stmt)

    def _exec_Decl(self, node: c_ast.Decl) -> None:
        self.declare(node)

    def declare(self, node: c_ast.Decl) -> None:
        """Declares a variable, a shared array, or a local type."""
        storage = set(node.storage or ())
        if isinstance(node.type, c_ast.FuncDecl):
            return
        kind = self.resolve(node.type)
        if not node.name:
            return
        if "__shared__" in storage:
            self.bind(node.name, Variable(self.shared_object(node, kind), kind))
            return
        if is_reference(kind):
            self._declare_reference(node, kind)
            return
        value: Value | None = None
        if isinstance(kind, OpaqueType) and node.init is not None and not _is_braced(node.init):
            value = self._initial(node.init, kind)
            kind = type_of(value) if not isinstance(value, Unknown | Callable) else kind
        obj = self.local(node.name, kind, self.key(node, node.name))
        variable = Variable(obj, kind)
        self.bind(node.name, variable)
        if value is not None:
            self.store.write(obj, offset_of(0), kind, self.convert(value, kind), self.mask)
        elif node.init is not None:
            self.initialize(variable, node.init)
        elif isinstance(kind, RecordType) and kind.record is not None:
            self.construct_at(Place(obj, offset_of(0), kind), [], node)

    def _declare_reference(self, node: c_ast.Decl, kind: CType) -> None:
        assert isinstance(kind, PointerType)
        init = _first_argument(node.init)
        place = (
            self.place(init) if init is not None else Unknown(f"`{node.name}` has no initializer")
        )
        target = kind.target
        held: Value
        if isinstance(place, Unknown):
            held = place
        else:
            if isinstance(target, OpaqueType | ArrayType) or isinstance(place.type, RecordType):
                target = place.type
            held = Pointer(place.object, place.offset, target, place.volatile)
        obj = Object(
            node.name, kind, Space.LOCAL, self.key(node, node.name), {0: held}, born=self.mask
        )
        self.bind(node.name, Variable(obj, PointerType(target, True)))

    def _initial(self, init: c_ast.Node, kind: CType) -> Value:
        argument = _first_argument(init)
        if argument is None:
            return self.zero(kind)
        value = self.evaluate(argument)
        return self.decayed(value, argument)

    def decayed(self, value: Value, node: c_ast.Node) -> Value:
        """A call that returned a reference, read as a value."""
        return value

    def initialize(self, variable: Variable, init: c_ast.Node) -> None:
        """Runs an initializer: `= e`, `(args)`, `{..}`."""
        obj, kind = variable.object, variable.type
        place = Place(obj, offset_of(0), kind)
        if isinstance(kind, ArrayType):
            self._fill(place, init)
        elif isinstance(kind, RecordType):
            arguments = _init_arguments(init)
            if arguments is None:
                value = self.evaluate(init)
                if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                    value = self.read(Place(value.object, value.offset, value.target), init)
                self.write(place, value, init)
            else:
                self.construct_at(place, arguments, init)
        else:
            argument = _first_argument(init)
            value = self.zero(kind) if argument is None else self.evaluate(argument)
            if isinstance(kind, PointerType) and isinstance(value, Aggregate):
                value = self.conversion(value, kind, init)
            obj.cells.pop(0, None)
            self.store.set_cell(obj, 0, self.convert(value, kind))

    def conversion(self, value: Aggregate, kind: PointerType, node: c_ast.Node) -> Value:
        """A class object converted to a pointer by its conversion operator."""
        record = value.type
        if not isinstance(record, RecordType) or record.record is None:
            return Unknown("a class object is converted to a pointer")
        holder = self.local(record.name, record, self.key(node), value)
        this = Pointer(holder, offset_of(0), record)
        best: Value = Unknown(f"`{record.name}` has no conversion to a pointer that was read")
        for function in members_of(cast("Record", record.record), self.unit.functions):
            is_conversion = function.name.startswith("operator") and function.name.endswith("*")
            if not is_conversion:
                continue
            best = self.inline(function, [], (), node, this, record)
            if isinstance(best, Pointer):
                return Pointer(best.object, best.offset, kind.target, best.is_volatile)
        return best

    def _fill(self, place: Place, init: c_ast.Node) -> None:
        """Initializes an array, element by element; what is not named is zero."""
        kind = place.type
        assert isinstance(kind, ArrayType)
        items = _init_arguments(init)
        if items is None:
            self.evaluate(init)
            return
        scalar: CType = kind
        while isinstance(scalar, ArrayType):
            scalar = scalar.element
        if not isinstance(scalar, IntType):
            for item in items:
                if not isinstance(item, c_ast.InitList):
                    self.evaluate(item)
            place.object.default = self.zero(scalar) if not isinstance(scalar, RecordType) else None
            return
        place.object.default = self.zero(scalar)
        step = kind.element.size
        for i, item in enumerate(items):
            inner = Place(
                place.object, self.algebra.add(place.offset, offset_of(i * step)), kind.element
            )
            if isinstance(kind.element, ArrayType):
                self._fill(inner, item)
            else:
                self.write(inner, self.evaluate(_first_argument(item) or item), item)

    def shared_object(self, node: c_ast.Decl, kind: CType) -> Object:
        """The shared array of a declaration: one for all calls and iterations."""
        key = (
            self.key(node, f"shared {node.name} ")
            if not self.frames
            else f"shared {node.name}:{node.coord}"
        )
        if key in self.arrays:
            return self.arrays[key]
        dims: list[int | None] = []
        element = kind
        while isinstance(element, ArrayType):
            dims.append(element.count)
            element = element.element
        is_dynamic = "extern" in (node.storage or ())
        size = None if is_dynamic or not kind.size or None in dims else kind.size
        if size is not None and size > _MOST_BYTES:
            raise BudgetExceeded(f"`{node.name}` has {size:.2g} bytes")
        shared = SharedArray(
            node.name,
            self.unit.span(node),
            _spelled(element),
            element.size,
            tuple(dims),
            0,
            size,
            max(self.alignment(node), 16 if is_dynamic else kind.align),
            is_dynamic,
        )
        volatile = "volatile" in (node.quals or ())
        obj = Object(node.name, kind, Space.SHARED, key, shared=shared, is_volatile=volatile)
        self.arrays[key] = obj
        return obj


def _spelled(kind: CType) -> str:
    if isinstance(kind, IntType):
        return ("" if kind.signed else "u") + f"int{kind.bits}" if not kind.is_bool else "bool"
    return getattr(kind, "name", None) or getattr(kind, "spelling", "") or "pointer"


def _is_braced(init: c_ast.Node) -> bool:
    return isinstance(init, c_ast.InitList) and len(init.exprs or ()) != 1


def is_call(node: c_ast.Node | None, name: str) -> bool:
    """Whether a node calls the function of that name."""
    return (
        isinstance(node, c_ast.FuncCall)
        and isinstance(node.name, c_ast.ID)
        and node.name.name == name
    )


def _init_arguments(init: c_ast.Node) -> list[c_ast.Node] | None:
    """The operands of `(args)` and `{..}` initializers; None for `= expression`."""
    if isinstance(init, c_ast.InitList):
        return list(init.exprs or ())
    if is_call(init, "__ctor") or is_call(init, "__brace"):
        return list(init.args.exprs) if init.args is not None else []
    return None


def _first_argument(init: c_ast.Node | None) -> c_ast.Node | None:
    if init is None:
        return None
    arguments = _init_arguments(init)
    if arguments is None:
        return init
    return arguments[0] if arguments else None
