"""Construction: class objects come from constructors and their member initializers."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    CType,
    FloatType,
    IntType,
    OpaqueType,
    RecordType,
    StaticType,
)
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Cute,
    FloatValue,
    Int,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.interpreter.inlining import Inlining, arguments_of
from smemlint.analysis.simt.state import Place, is_reference


class Construction(Inlining):
    """Makes class objects."""

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
            candidates = self.candidates(kind.name, kind, call)
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
        target, *arguments = arguments_of(node)
        name, record, this = getattr(target, "name", ""), self.frame.record, self.frame.this
        known = record is not None and any(m.name == name for m in record.members)
        place = self._member_place(this, record, name) if known and this and record else None
        if isinstance(place, Place) and isinstance(place.type, RecordType):
            self.construct_at(place, arguments, node)
        elif isinstance(place, Place) and len(arguments) == 1 and not is_reference(place.type):
            self.write(place, self.evaluate(arguments[0]), node)
        else:
            rest = c_ast.FuncCall(node.name, c_ast.ExprList(arguments), node.coord)
            self.unfollowed_call(f"the constructor of {name}", rest)
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
