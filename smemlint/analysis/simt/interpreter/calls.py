"""Calls: which function a call means, among overloads, methods and what cannot be followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    OpaqueType,
    RecordType,
    is_opaque,
)
from smemlint.analysis.simt.domain.cute import tensor_of
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Callable,
    Int,
    Pointer,
    Unknown,
    Value,
    offset_of,
)
from smemlint.analysis.simt.interpreter.inlining import arguments_of
from smemlint.analysis.simt.interpreter.lambdas import Lambda, Lambdas
from smemlint.analysis.simt.state import Place, Variable
from smemlint.analysis.simt.types.overloads import (
    members_of,
    signature_of,
)
from smemlint.analysis.simt.types.resolve import CTYPES, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from smemlint.frontend.program import Function, Record


class Calls(Lambdas):
    """Evaluates calls; the built-in functions live in `intrinsics`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._callable: dict[tuple[str, object, int], list[Function]] = {}

    def intrinsic(
        self, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
    ) -> Value | None:
        """The value of a built-in function; None when the name is no built-in."""
        raise NotImplementedError

    def builtin_method(
        self, value: Aggregate, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
    ) -> Value | None:
        """The value of a method of a built-in class; None when it is none."""
        raise NotImplementedError

    def _eval_FuncCall(self, node: c_ast.FuncCall) -> Value:
        return self.call(node)

    def call(self, node: c_ast.FuncCall) -> Value:
        """The value of a call; a reference comes back as a pointer to what it refers to."""
        callee = node.name
        if isinstance(callee, c_ast.StructRef):
            return self._method_call(callee, node)
        if not isinstance(callee, c_ast.ID):
            value = self.evaluate(callee)
            return self._call_value(value, node)
        spelling = callee.name
        if spelling == "__lambda":
            return self._lambda(node)
        if spelling == "__init":
            return self._initialize_member(node)
        if spelling.startswith("mk "):
            return self.construct(self.named_type((spelling[3:],)), arguments_of(node), node)
        local = self.lookup(spelling)
        if local is not None and not isinstance(local, CTYPES):
            return self._call_value(self.evaluate(callee), node)
        name, arguments = self.unit.template_arguments(spelling)
        found = self.intrinsic(name, arguments, node)
        if found is not None:
            return found
        if isinstance(local, CTYPES):
            return self.construct(local, arguments_of(node), node)
        prefix, _, last = name.rpartition("::")
        owner = self.spelled_type(prefix) if prefix else None
        record = owner if isinstance(owner, RecordType) and owner.record is not None else None
        enclosing = self.frame.record
        if record is None and enclosing is not None and enclosing.record is not None and not prefix:
            own = self.candidates(last, enclosing, node)
            if own:
                return self._inline(own, arguments, node, self.frame.this, enclosing)
        candidates = self.candidates(last, record, node)
        if candidates:
            return self._inline(candidates, arguments, node, None, record)
        kind = self.spelled_type(spelling)
        if kind is not None and not is_opaque(kind):
            return self.construct(kind, arguments_of(node), node)
        binding = self.global_binding(name)
        if isinstance(binding, Variable):
            return self._call_value(self.evaluate(callee), node)
        return self.unfollowed_call(name, node)

    def takes_by_value(self, callee: str, index: int) -> bool:
        """Whether no function of that name takes its argument at this index by reference."""
        name, _ = self.unit.template_arguments(callee)
        for function in self.functions(name):
            params = signature_of(function).parameters
            if index >= len(params) or not isinstance(params[index].type, c_ast.TypeDecl):
                return False
        return True

    # ---- what is called

    def _call_value(self, value: Value, node: c_ast.FuncCall) -> Value:
        if isinstance(value, Callable) and isinstance(value.payload, Lambda):
            return self._call_lambda(value.payload, node)
        if isinstance(value, Callable) and isinstance(value.payload, CTYPES):
            return self.construct(value.payload, arguments_of(node), node)
        if isinstance(value, Callable) and value.name and value.payload is None:
            return self.call(
                c_ast.FuncCall(c_ast.ID(value.name, node.coord), node.args, node.coord)
            )
        if isinstance(value, Aggregate) and isinstance(value.type, RecordType):
            return self._call_operator(value, node)
        return self.unfollowed_call(self.source(node.name), node)

    def _call_operator(self, value: Aggregate, node: c_ast.FuncCall) -> Value:
        record = value.type
        assert isinstance(record, RecordType)
        if record.record is not None:
            candidates = self.candidates("operator()", record, node)
            if candidates:
                place = self.place(node.name)
                this = place.pointer() if isinstance(place, Place) else None
                return self._inline(candidates, (), node, this, record)
        return self.unfollowed_call(f"{record.name}::operator()", node)

    def _element_place(self, node: c_ast.ArrayRef) -> Place | Unknown:
        """An element, by the class's own `operator[]` where it has one."""
        binding = self.lookup(node.name.name) if isinstance(node.name, c_ast.ID) else None
        kind = binding.type if isinstance(binding, Variable) else None
        if isinstance(binding, Variable) and isinstance(kind, RecordType) and kind.record:
            call = c_ast.FuncCall(node.name, c_ast.ExprList([node.subscript]), node.coord)
            candidates = self.candidates("operator[]", kind, call)
            if candidates:
                value = self._inline(
                    candidates, (), call, self._variable_place(binding).pointer(), kind
                )
                if all(signature_of(f).returns_reference for f in candidates) or isinstance(
                    value, Unknown
                ):
                    return self.target_of(value, node)
                held = self.local("element", type_of(value), self.key(node), value)
                return Place(held, offset_of(0), type_of(value))
        return super()._element_place(node)

    def _method_call(self, callee: c_ast.StructRef, node: c_ast.FuncCall) -> Value:
        name, arguments = self.unit.template_arguments(callee.field.name)
        if callee.type == "->":
            place = self.target_of(self.evaluate(callee.name), callee)
        else:
            place = self.place(callee.name)
        if isinstance(place, Unknown):
            if any(tensor_of(v) is not None for v in self._evaluate_arguments(node)):
                self._given_shared(self.source(callee), node)
            return place
        record = place.type
        if isinstance(record, OpaqueType) or (
            isinstance(record, RecordType) and record.record is None
        ):
            value = self.read(place, callee.name) if place.object.space is Space.LOCAL else None
            if isinstance(value, Aggregate):
                found = self.builtin_method(value, name, arguments, node)
                if found is not None:
                    return found
        if isinstance(record, RecordType) and record.record is not None:
            for kind in _with_bases(record):
                candidates = self.candidates(name, kind, node)
                if candidates:
                    return self._inline(candidates, arguments, node, place.pointer(), kind)
        return self.unfollowed_call(self.source(callee), node)

    def candidates(
        self, name: str, owner: RecordType | None, node: c_ast.FuncCall
    ) -> list[Function]:
        """Definitions that take this many arguments, as members of a class or free."""
        key = (name, owner.record if owner is not None else None, len(arguments_of(node)))
        if key not in self._callable:
            self._callable[key] = self._definitions(*key)
        return self._nearest(self._callable[key], name, node)

    def _definitions(self, name: str, record: object, count: int) -> list[Function]:
        named: Iterable[Function] = self.functions(name)
        if record is None:
            named = [f for f in named if f.record is None]
        else:
            named = members_of(cast("Record", record), named)
        found = []
        for function in named:
            signature = signature_of(function)
            if not function.is_kernel and signature.least <= count <= signature.most:
                found.append(function)
        return [f for f in found if f.is_device] or found

    def _nearest(self, found: list[Function], name: str, node: c_ast.FuncCall) -> list[Function]:
        """Of functions in several namespaces: those of the one that the call names or stands in."""
        if len({f.scope for f in found}) < 2:
            return found
        spelling = getattr(node.name, "name", "")
        prefix = spelling.split("<", 1)[0].rpartition("::")[0] if isinstance(spelling, str) else ""
        if prefix:
            wanted = tuple(prefix.strip(":").split("::"))
            named = [f for f in found if f.scope[-len(wanted) :] == wanted]
            return named or found
        path = self.unit.span(node).path
        return [f for f in found if f.span.path == path] or found

    def unfollowed_call(self, name: str, node: c_ast.FuncCall) -> Value:
        """A call of what is not known: its value, and what it may have changed."""
        is_macro = name.isupper()
        values = self._unread_macro(name, node) if is_macro else self._evaluate_arguments(node)
        reason = f"the call of `{name}` is not followed: no definition was read"
        for value in values:
            if isinstance(value, Int) and any(s.key in self.bases for s, _ in value.terms):
                said = f"`{name}` is given a shared address and its definition was not read"
                self.not_followed(node, said)
            if tensor_of(value) is not None:
                self._given_shared(name, node)
            if isinstance(value, Pointer):
                if value.object.space is Space.SHARED:
                    self._given_shared(name, node)
                elif value.object.space is Space.LOCAL:
                    self.store.forget(value.object, f"was given to `{name}`")
        return Unknown(reason)

    def _given_shared(self, name: str, node: c_ast.Node) -> None:
        said = f"`{name}` is given shared memory and its definition was not read"
        self.not_followed(node, said)

    def _unread_macro(self, name: str, node: c_ast.FuncCall) -> list[Value]:
        """Arguments of a name in capitals: a macro from a header that was not read.

        Such macros often view their argument as something wider (`FLOAT4(s[i])`), so an lvalue
        in shared memory is not taken for a read of the element.
        """
        values = []
        for operand in map(self._operand, arguments_of(node)):
            if operand.place is not None and operand.place.object.space is Space.SHARED:
                self._given_shared(name, node)
            else:
                values.append(self._value(operand))
        return values

    def _evaluate_arguments(self, node: c_ast.FuncCall) -> list[Value]:
        return [self.evaluate(argument) for argument in arguments_of(node)]


def _with_bases(record: RecordType) -> list[RecordType]:
    found = [record]
    for member in record.members:
        if (
            not member.name
            and isinstance(member.type, RecordType)
            and member.type.record is not None
        ):
            found += _with_bases(member.type)
    return found
