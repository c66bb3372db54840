"""Types of expressions as their parts are declared: of those, too, whose value is not known."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    PointerType,
    RecordType,
    array_member,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir


def declared_type(ev: Evaluator, node: ir.Node) -> CType | None:
    """Returns the type of a variable, member or element, as it is declared; executes nothing."""
    match node:
        case ir.ID(name):
            binding = ev.state.lookup(name)
            if isinstance(binding, Variable):
                return unreferenced(binding.type)
            place = ev.lvalue(node) if binding is None else None  # a member of `*this`
            return place.type if isinstance(place, LValue) else None
        case ir.StructRef(name=of, field=ir.ID(name)):
            ctype = declared_type(ev, of)
            record = ctype.target if isinstance(ctype, PointerType) else ctype
            member = record.member(name) if isinstance(record, RecordType) else None
            return unreferenced(member.type) if member is not None else None
        case ir.ArrayRef(name=of) | ir.UnaryOp(op="*", expr=of):
            return _element_type(declared_type(ev, of))
        case ir.FuncCall(name=ir.StructRef(name=of, field=ir.ID("at" | "front" | "back"))):
            ctype = declared_type(ev, of)
            return _element_type(ctype.target if isinstance(ctype, PointerType) else ctype)
        case ir.FuncCall(name=ir.StructRef(name=of, field=ir.ID("get"))):
            ctype = declared_type(ev, of)
            return ctype if isinstance(ctype, PointerType) else None
    return None


def _element_type(ctype: CType | None) -> CType | None:
    """Returns the type of `*p` and `p[i]`; None where it is neither a pointer nor an array."""
    if isinstance(ctype, PointerType):
        return ctype.target
    array = ctype if isinstance(ctype, ArrayType) or ctype is None else array_member(ctype)
    return array.element if array is not None else None
