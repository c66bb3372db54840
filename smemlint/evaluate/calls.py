"""Calls: device functions are inlined, methods and lambdas too; templates are deduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pycparser import c_ast

from smemlint.evaluate.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    VoidType,
    is_opaque,
)
from smemlint.evaluate.cute_types import CuteTypes
from smemlint.evaluate.cute_values import tensor_of
from smemlint.evaluate.machine import Frame, Place, Scope, Variable, is_reference
from smemlint.evaluate.memory import Object, Space
from smemlint.evaluate.overloads import (
    best_fit,
    members_of,
    parameters_of,
    signature_of,
    type_words,
)
from smemlint.evaluate.types import CTYPES, scope_of, type_of
from smemlint.evaluate.values import (
    Aggregate,
    Callable,
    Cute,
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
    number,
    offset_of,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from smemlint.evaluate.machine import Binding, Mask
    from smemlint.frontend.cuda.unit import Function, Record

MAX_DEPTH = 48
MAX_RECURSION = 8


class Calls(CuteTypes):
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
            return self.construct(self.named_type((spelling[3:],)), _arguments(node), node)
        local = self.lookup(spelling)
        if local is not None and not isinstance(local, CTYPES):
            return self._call_value(self.evaluate(callee), node)
        name, arguments = self.unit.template_arguments(spelling)
        found = self.intrinsic(name, arguments, node)
        if found is not None:
            return found
        if isinstance(local, CTYPES):
            return self.construct(local, _arguments(node), node)
        prefix, _, last = name.rpartition("::")
        owner = self.spelled_type(prefix) if prefix else None
        record = owner if isinstance(owner, RecordType) and owner.record is not None else None
        enclosing = self.frame.record
        if record is None and enclosing is not None and enclosing.record is not None and not prefix:
            own = self._candidates(last, enclosing, node)
            if own:
                return self._inline(own, arguments, node, self.frame.this, enclosing)
        candidates = self._candidates(last, record, node)
        if candidates:
            return self._inline(candidates, arguments, node, None, record)
        kind = self.spelled_type(spelling)
        if kind is not None and not is_opaque(kind):
            return self.construct(kind, _arguments(node), node)
        binding = self.global_binding(name)
        if isinstance(binding, Variable):
            return self._call_value(self.evaluate(callee), node)
        return self._unfollowed_call(name, node)

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
        if isinstance(value, Callable) and isinstance(value.payload, _Lambda):
            return self._call_lambda(value.payload, node)
        if isinstance(value, Callable) and isinstance(value.payload, CTYPES):
            return self.construct(value.payload, _arguments(node), node)
        if isinstance(value, Callable) and value.name and value.payload is None:
            return self.call(
                c_ast.FuncCall(c_ast.ID(value.name, node.coord), node.args, node.coord)
            )
        if isinstance(value, Aggregate) and isinstance(value.type, RecordType):
            return self._call_operator(value, node)
        return self._unfollowed_call(self.source(node.name), node)

    def _call_operator(self, value: Aggregate, node: c_ast.FuncCall) -> Value:
        record = value.type
        assert isinstance(record, RecordType)
        if record.record is not None:
            candidates = self._candidates("operator()", record, node)
            if candidates:
                place = self.place(node.name)
                this = place.pointer() if isinstance(place, Place) else None
                return self._inline(candidates, (), node, this, record)
        return self._unfollowed_call(f"{record.name}::operator()", node)

    def _element_place(self, node: c_ast.ArrayRef) -> Place | Unknown:
        """An element, by the class's own `operator[]` where it has one."""
        binding = self.lookup(node.name.name) if isinstance(node.name, c_ast.ID) else None
        kind = binding.type if isinstance(binding, Variable) else None
        if isinstance(binding, Variable) and isinstance(kind, RecordType) and kind.record:
            call = c_ast.FuncCall(node.name, c_ast.ExprList([node.subscript]), node.coord)
            candidates = self._candidates("operator[]", kind, call)
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
                candidates = self._candidates(name, kind, node)
                if candidates:
                    return self._inline(candidates, arguments, node, place.pointer(), kind)
        return self._unfollowed_call(self.source(callee), node)

    def _candidates(
        self, name: str, owner: RecordType | None, node: c_ast.FuncCall
    ) -> list[Function]:
        """Definitions that take this many arguments, as members of a class or free."""
        key = (name, owner.record if owner is not None else None, len(_arguments(node)))
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

    def _unfollowed_call(self, name: str, node: c_ast.FuncCall) -> Value:
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
        for operand in map(self._operand, _arguments(node)):
            if operand.place is not None and operand.place.object.space is Space.SHARED:
                self._given_shared(name, node)
            else:
                values.append(self._value(operand))
        return values

    def _evaluate_arguments(self, node: c_ast.FuncCall) -> list[Value]:
        return [self.evaluate(argument) for argument in _arguments(node)]

    # ---- inlining

    def _inline(
        self,
        candidates: Sequence[Function],
        arguments: tuple[str, ...],
        node: c_ast.FuncCall,
        this: Pointer | None,
        record: RecordType | None,
    ) -> Value:
        operands = [self._operand(a) for a in _arguments(node)]
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
        caller, mask = self.frames, self.mask
        loops, self.loops = self.loops, []
        assumed = len(self.assumptions)
        bound: list[tuple[str, Binding]] = []
        for i, param in enumerate(params):
            bound.append(self._bind_parameter(i, param, operands, frame, node))
        frame.call, frame.opening = node, len(self.trace.items)
        frame.is_copy = self.frame.is_copy or any(loop.copy for loop in loops)
        self.frames = [*self.frames, frame]
        try:
            for name, binding in bound:
                if name:
                    self.bind(name, binding)
            frame.returns_reference = is_reference(self.resolve(result_type))
            kind = self.resolve(result_type)
            self.execute(tree.body)
        finally:
            self.frames = caller
            self.mask = mask
            self.loops = loops
            del self.assumptions[assumed:]
        return self._returned(frame, kind, node)

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
        certain = [(m, v) for m, v, sure in frame.returns if sure]
        open_values = [v for _, v, sure in frame.returns if not sure]
        value: Value
        if certain:
            value = certain[-1][1]
            for mask, other in reversed(certain[:-1]):
                value = select(mask, other, value)
        else:
            value = open_values.pop()
        for other in open_values:
            value = self.joined(
                value, other, Unknown("a function returns early", is_uniform=True), node
            )
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

    # ---- construction and lambdas

    def construct(self, kind: CType, arguments: list[c_ast.Node], node: c_ast.Node) -> Value:
        """A value of a type from constructor arguments."""
        if not isinstance(kind, RecordType):
            values = [self.evaluate(a) for a in arguments]
            if isinstance(kind, StaticType):
                return self.static_value(kind)
            if isinstance(kind, OpaqueType):
                return Unknown(f"`{kind.spelling}` is not known")
            return self.convert(values[0], kind) if values else self.zero(kind)
        obj = self.local(kind.name, kind, self.key(node, kind.name))
        self.construct_at(Place(obj, offset_of(0), kind), arguments, node)
        return self.store.read(obj, offset_of(0), kind)

    def construct_at(self, place: Place, arguments: list[c_ast.Node], node: c_ast.Node) -> None:
        """Runs a constructor, or initializes member by member where there is none."""
        kind = place.type
        assert isinstance(kind, RecordType)
        if kind.record is not None and (arguments or any(True for _ in self.functions(kind.name))):
            call = c_ast.FuncCall(
                c_ast.ID(kind.name, node.coord), c_ast.ExprList(arguments), node.coord
            )
            candidates = self._candidates(kind.name, kind, call)
            if candidates:
                self._inline(candidates, (), call, place.pointer(), kind)
                return
        values = [self.evaluate(a) for a in arguments]
        if len(values) == 1 and isinstance(values[0], Aggregate):
            self.write(place, values[0], node)
            return
        members = kind.members
        if kind.name == "dim3":
            values = [*values, *(Int(1, m.type) for m in members[len(values) :])]  # type: ignore[arg-type]
        for member, value in zip(members, values, strict=False):
            offset = self.algebra.add(place.offset, offset_of(member.offset))
            self.write(Place(place.object, offset, member.type), value, node)

    def _initialize_member(self, node: c_ast.FuncCall) -> Value:
        """`m(a)` of a constructor's member list."""
        target, *arguments = _arguments(node)
        name, record, this = getattr(target, "name", ""), self.frame.record, self.frame.this
        known = record is not None and any(m.name == name for m in record.members)
        place = self._member_place(this, record, name) if known and this and record else None
        if isinstance(place, Place) and isinstance(place.type, RecordType):
            self.construct_at(place, arguments, node)
        elif isinstance(place, Place) and len(arguments) == 1 and not is_reference(place.type):
            self.write(place, self.evaluate(arguments[0]), node)
        else:
            rest = c_ast.FuncCall(node.name, c_ast.ExprList(arguments), node.coord)
            self._unfollowed_call(f"the constructor of {name}", rest)
        return number(0)

    @staticmethod
    def static_value(kind: StaticType) -> Value:
        """The one value that objects of the type have."""
        value = kind.value
        return value if isinstance(value, Cute | Int) else Unknown(f"`{kind.spelling}`")

    def zero(self, kind: CType) -> Value:
        """A value-initialized scalar."""
        if isinstance(kind, IntType):
            return Int(0, kind)
        if isinstance(kind, StaticType):
            return self.static_value(kind)
        return (
            FloatValue(kind) if isinstance(kind, FloatType) else Unknown("nothing was written yet")
        )

    def _lambda(self, node: c_ast.FuncCall) -> Value:
        items = _arguments(node)
        count = 0
        body = items[-1]
        if len(items) == 2 and isinstance(items[0], c_ast.Constant):
            count = int(items[0].value, 0)
        if not isinstance(body, c_ast.Compound):
            return Unknown("a lambda that could not be parsed")
        return Callable("lambda", _Lambda(count, body, tuple(self.frame.scopes), self.frame))

    def _call_lambda(self, made: _Lambda, node: c_ast.FuncCall) -> Value:
        operands = [self._operand(a) for a in _arguments(node)]
        items = list(made.body.block_items or ())
        names = [f.name.split(":", 1)[0] for f in self.frames]
        if names.count("lambda") >= MAX_RECURSION:
            return self.not_followed(node, "a lambda calls itself too deeply")
        frame = Frame(
            f"lambda:{node.coord.line if node.coord else 0}",
            [*made.scopes, {}],
            made.frame.this,
            made.frame.record,
        )
        params = items[: made.count]
        caller, mask = self.frames, self.mask
        loops, self.loops = self.loops, []
        assumed = len(self.assumptions)
        bound = [self._bind_parameter(i, p, operands, frame, node) for i, p in enumerate(params)]
        frame.call, frame.opening = node, len(self.trace.items)
        frame.is_copy = self.frame.is_copy or any(loop.copy for loop in loops)
        self.frames = [*self.frames, frame]
        try:
            for name, binding in bound:
                if name:
                    self.bind(name, binding)
            self.execute(c_ast.Compound(items[made.count :], made.body.coord))
        finally:
            self.frames = caller
            self.mask = mask
            self.loops = loops
            del self.assumptions[assumed:]
        return self._returned(frame, OpaqueType("auto"), node)


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


class _Lambda:
    """A lambda's parameters and body, with the scopes it sees."""

    __slots__ = ("body", "count", "frame", "scopes")

    def __init__(
        self, count: int, body: c_ast.Compound, scopes: tuple[Scope, ...], frame: Frame
    ) -> None:
        self.count = count
        self.body = body
        self.scopes = scopes
        self.frame = frame


def _arguments(node: c_ast.FuncCall) -> list[c_ast.Node]:
    return list(node.args.exprs) if node.args is not None else []


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


def _target_qualifiers(node: c_ast.Node) -> set[str]:
    """Qualifiers of what a pointer parameter points to."""
    inner = getattr(node, "type", None)
    return set(getattr(inner, "quals", None) or ())


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


__all__ = ["Calls", "Mask"]
