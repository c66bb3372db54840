"""Inlining: a called function runs where it is called, with operands bound as parameters."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.builtins.cute_types import CuteTypes
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    VoidType,
    is_opaque,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
    offset_of,
    select,
)
from smemlint.analysis.simt.state import Frame, Place, Scope, Variable, is_reference
from smemlint.analysis.simt.types.overloads import (
    best_fit,
    parameters_of,
    type_words,
)
from smemlint.analysis.simt.types.records import scope_of
from smemlint.analysis.simt.types.resolve import type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.analysis.simt.state import Binding
    from smemlint.frontend.program import Function

MAX_RECURSION = 8
MAX_DEPTH = 48


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A call's argument: a place that is read when a parameter takes its value, or a value."""

    node: c_ast.Node
    place: Place | None
    value: Value | None

    @property
    def type(self) -> CType:
        """The type that template deduction sees."""
        if self.place is not None:
            return self.place.type
        return type_of(self.value) if self.value is not None else OpaqueType("auto")


class Inlining(CuteTypes):
    """Runs the bodies of called functions."""

    def _inline(
        self,
        candidates: Sequence[Function],
        arguments: tuple[str, ...],
        node: c_ast.FuncCall,
        this: Pointer | None,
        record: RecordType | None,
    ) -> Value:
        operands = [self._operand(a) for a in arguments_of(node)]
        function = best_fit(candidates, [o.type for o in operands], arguments, self.unit.is_type)
        return self.inline(function, operands, arguments, node, this, record)

    def _operand(self, node: c_ast.Node) -> Operand:
        """An argument: its place where it is an lvalue (read only when a parameter takes it)."""
        if isinstance(node, c_ast.ID | c_ast.ArrayRef | c_ast.StructRef) or (
            isinstance(node, c_ast.UnaryOp) and node.op == "*"
        ):
            place = self.place(node)
            if isinstance(place, Place):
                return Operand(node, place, None)
        return Operand(node, None, self.evaluate(node))

    def inline(
        self,
        function: Function,
        operands: Sequence[Operand],
        arguments: tuple[str, ...],
        node: c_ast.Node,
        this: Pointer | None,
        record: RecordType | None,
    ) -> Value:
        """Runs a function's body for the active threads."""
        parsed = function.parse()
        tree = parsed.tree
        label = f"{function.name}:{node.coord.line if node.coord else 0}"
        names = [f.name.split(":", 1)[0] for f in self.frames]
        if names.count(function.name) >= MAX_RECURSION or len(self.frames) > MAX_DEPTH:
            self._settle(operands)
            return self.not_followed(node, f"`{function.name}` calls itself too deeply")
        if tree is None:
            values = self._settle(operands)
            if any(isinstance(v, Pointer) and v.object.space is Space.SHARED for v in values):
                self.not_followed(node, f"`{function.name}` could not be parsed")
            return Unknown(f"`{function.name}` could not be parsed")
        for dropped in parsed.dropped:
            self.unfollowed.setdefault((dropped.span, dropped.reason))
        outer: list[Scope] = [scope_of(record)] if record is not None else []
        scope = self.template_scope(function.template, arguments)
        params = parameters_of(tree)
        self._deduce(function, params, operands, scope, outer)
        frame = Frame(label, [*outer, scope, {}], this, record)
        result_type = tree.decl.type.type
        with self._inside(frame, params, operands, node):
            kind = self.resolve(result_type)
            frame.returns_reference = is_reference(kind)
            self.execute(tree.body)
        return self._returned(frame, kind, node)

    @contextmanager
    def _inside(
        self,
        frame: Frame,
        params: Sequence[c_ast.Node],
        operands: Sequence[Operand],
        node: c_ast.Node,
    ) -> Iterator[None]:
        """Work in a new frame, with the operands of a call bound to its parameters."""
        caller, mask = self.frames, self.mask
        loops, self.loops = self.loops, []
        assumed = len(self.assumptions)
        self.store.begin()
        try:
            bound = [
                self._bind_parameter(i, param, operands, frame, node)
                for i, param in enumerate(params)
            ]
            frame.call, frame.opening = node, len(self.trace.items)
            frame.exits.depth = self.store.depth
            frame.is_copy = self.frame.is_copy or any(loop.copy for loop in loops)
            self.frames = [*self.frames, frame]
            for name, binding in bound:
                if name:
                    self.bind(name, binding)
            yield
            self.arrive(frame.exits)
        finally:
            self.frames = caller
            self.mask = mask
            self.loops = loops
            held = (o.place or o.value for o in operands)
            reached = (h.object for h in (*held, frame.this) if isinstance(h, Place | Pointer))
            self.leave_guards(assumed, self.store.commit(), reached=frozenset(map(id, reached)))

    def _settle(self, operands: Sequence[Operand]) -> list[Value]:
        return [self._value(operand) for operand in operands]

    def _value(self, operand: Operand) -> Value:
        if operand.value is not None:
            return operand.value
        assert operand.place is not None
        return self.read(operand.place, operand.node)

    def _bind_parameter(
        self,
        index: int,
        param: c_ast.Node,
        operands: Sequence[Operand],
        frame: Frame,
        node: c_ast.Node,
    ) -> tuple[str, Binding]:
        name = getattr(param, "name", None) or ""
        caller = self.frames
        self.frames = [*caller, frame]
        try:
            kind = self.resolve(param.type)
        finally:
            self.frames = caller
        if isinstance(kind, ArrayType):
            kind = PointerType(kind.element)
        if index >= len(operands):
            init = getattr(param, "init", None)
            self.frames = [*caller, frame]
            try:
                value = (
                    self.evaluate(init)
                    if init is not None
                    else Unknown(f"`{name}` has its default value")
                )
            finally:
                self.frames = caller
            return name, Variable(
                self.local(name, kind, self.key(node, name), self.convert(value, kind)), kind
            )
        operand = operands[index]
        place = operand.place
        if is_reference(kind):
            assert isinstance(kind, PointerType)
            if place is None:
                value = self._value(operand)
                if isinstance(value, Pointer) and not isinstance(kind.target, PointerType):
                    place = Place(value.object, value.offset, value.target, value.is_volatile)
                else:
                    temporary = (
                        type_of(value) if isinstance(kind.target, OpaqueType) else kind.target
                    )
                    place = Place(
                        self.local(name, temporary, self.key(node, name), value),
                        offset_of(0),
                        temporary,
                    )
            target = place.type if isinstance(kind.target, OpaqueType | ArrayType) else kind.target
            if isinstance(place.type, RecordType) and not isinstance(target, RecordType):
                target = place.type
            pointer = Pointer(place.object, place.offset, target, place.volatile)
            obj = Object(
                name, kind, Space.LOCAL, self.key(node, name), {0: pointer}, born=self.mask
            )
            return name, Variable(obj, PointerType(target, True))
        value = self._value(operand)
        if isinstance(value, Unknown) and value.is_uniform and isinstance(kind, IntType):
            value = self.algebra.symbol(self.key(node, name), name, kind)
        converted = self.convert(value, kind)
        if isinstance(kind, OpaqueType):
            kind = type_of(converted)
        if isinstance(converted, Pointer) and "volatile" in _target_qualifiers(param.type):
            converted = Pointer(converted.object, converted.offset, converted.target, True)
        return name, Variable(self.local(name, kind, self.key(node, name), converted), kind)

    def _returned(self, frame: Frame, kind: CType, node: c_ast.Node) -> Value:
        """The value after the body: returns of disjoint threads are put together."""
        if not frame.returns:
            return (
                Unknown("a function without a value")
                if not isinstance(kind, VoidType)
                else FloatValue(kind)
            )
        certain = [(m, v) for m, v, condition in frame.returns if condition is None]
        openly = [(v, condition) for _, v, condition in frame.returns if condition is not None]
        value: Value
        if certain:
            value = certain[-1][1]
            for mask, other in reversed(certain[:-1]):
                value = select(mask, other, value)
        else:
            value, _ = openly.pop()
        for other, condition in openly:
            early = Unknown("a function returns early", is_uniform=condition.is_uniform)
            value = self.joined(value, other, early, node)
        if frame.returns_reference or is_reference(kind):
            return value
        return self.convert(value, kind) if not isinstance(kind, OpaqueType) else value

    def _deduce(
        self,
        function: Function,
        params: Sequence[c_ast.Node],
        operands: Sequence[Operand],
        scope: Scope,
        outer: list[Scope],
    ) -> None:
        """Binds template parameters that the arguments determine."""
        missing = {p.name: p for p in function.template if p.name and p.name not in scope}
        explicit = set(scope)
        defaults = {p.name for p in function.template if p.default is not None}
        for param, operand in zip(params, operands, strict=False):
            kind = operand.type
            for name, found in _unify(getattr(param, "type", None), kind, {*missing, *defaults}):
                if name not in explicit or name in missing:
                    scope.setdefault(name, found)


def arguments_of(node: c_ast.FuncCall) -> list[c_ast.Node]:
    """The operands of a call."""
    return list(node.args.exprs) if node.args is not None else []


def _unify(node: c_ast.Node | None, kind: CType, names: set[str]) -> list[tuple[str, Binding]]:
    """Template parameter names that a parameter's declarator and an argument's type determine."""
    match node:
        case c_ast.TypeDecl():
            words = type_words(node)
            if len(words) == 1 and words[0] in names and not is_opaque(kind):
                if isinstance(kind, ArrayType):
                    kind = PointerType(kind.element)
                return [(words[0], kind)]
        case c_ast.PtrDecl():
            if {"&", "&&"} & set(node.quals or ()):
                return _unify_reference(node.type, kind, names)
            if isinstance(kind, PointerType):
                return _unify(node.type, kind.target, names)
            if isinstance(kind, ArrayType):
                return _unify(node.type, kind.element, names)
        case c_ast.ArrayDecl() if isinstance(kind, ArrayType):
            found = _unify(node.type, kind.element, names)
            if isinstance(node.dim, c_ast.ID) and node.dim.name in names and kind.count is not None:
                found.append((node.dim.name, Int(kind.count)))
            return found
        case c_ast.ArrayDecl() if isinstance(kind, PointerType):
            return _unify(node.type, kind.target, names)
    return []


def _unify_reference(node: c_ast.Node, kind: CType, names: set[str]) -> list[tuple[str, Binding]]:
    words = type_words(node) if isinstance(node, c_ast.TypeDecl) else []
    if len(words) == 1 and words[0] in names:
        return [(words[0], kind)]
    return _unify(node, kind, names)


def _target_qualifiers(node: c_ast.Node) -> set[str]:
    """Qualifiers of what a pointer parameter points to."""
    inner = getattr(node, "type", None)
    return set(getattr(inner, "quals", None) or ())
