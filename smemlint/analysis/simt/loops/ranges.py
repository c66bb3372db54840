"""The loops that range-based ones stand for: over indexes, and over iterators of a class."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.builtins.containers import list_size
from smemlint.analysis.simt.calls.candidates import find_candidates, with_bases
from smemlint.analysis.simt.domain.ctypes import ArrayType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Variable, type_of
from smemlint.analysis.simt.domain.values import AffineInt, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_INDEX, _LIST = "index of the range", "list of the range"  # no name of the source has blanks
_ITERATOR, _END = "iterator of the range", "end of the range"


def counted_loop(ev: Evaluator, node: ir.RangeFor) -> ir.For | None:
    """Returns the loop over indexes that a range-based one over an array or a list stands for."""
    init = node.decl.init
    over = init.range if isinstance(init, ir.RangeElement) else None
    count = 0
    if isinstance(over, ir.InitList | ir.BraceList) and ev.policy.follows_lists:
        count, over = _declare_list(ev, over), ir.ID(_LIST, at=node.at)
    elif isinstance(over, ir.ID | ir.StructRef):
        place = ev.lvalue(over)
        ctype = place.type if isinstance(place, LValue) else None
        if isinstance(place, LValue):
            count = (ctype.count if isinstance(ctype, ArrayType) else list_size(ev, place)) or 0
    if not count or over is None:
        return None
    at = node.at
    index, number = ir.ID(_INDEX, at=at), ir.TypeDecl(ir.IdentifierType(("int",)))
    begin = ir.Decl(_INDEX, number, ir.Constant("int", "0"), at=at)
    goes_on = ir.BinaryOp("<", index, ir.Constant("int", str(count)), at=at)
    element = replace(node.decl, init=ir.ArrayRef(over, index, at=at))
    body = ir.Compound((element, node.stmt), at=at)
    step = ir.UnaryOp("p++", index, at=at)
    return ir.For(ir.DeclList((begin,), at=at), goes_on, step, body, at=at)


def _declare_list(ev: Evaluator, node: ir.InitList | ir.BraceList) -> int:
    """Declares the numbers of a list as an array; returns how many, 0 where one is no number."""
    parts = node.exprs if isinstance(node, ir.InitList) else node.args
    values = [ev.evaluate(part) for part in parts]
    if not values or not all(isinstance(v, AffineInt) for v in values):
        return 0
    ctype = type_of(values[0])
    array = ArrayType(ctype, len(values))
    storage = ev.state.new_local(_LIST, array, ev.state.key(node, _LIST))
    for k, value in enumerate(values):
        ev.state.memory.write(storage, offset_of(k * ctype.size), ctype, value, ev.state.mask)
    ev.state.bind(_LIST, Variable(storage, array))
    return len(values)


def iterated_loop(ev: Evaluator, node: ir.RangeFor) -> ir.For | None:
    """Returns the loop over iterators that one over an object with `begin` stands for."""
    init, at = node.decl.init, node.at
    place = ev.lvalue(init.range) if isinstance(init, ir.RangeElement) else None
    if not isinstance(place, LValue) or not isinstance(place.type, RecordType):
        return None
    if place.type.record is None:
        return None
    over = ir.ID(_LIST, at=at)
    begin, end = (
        ir.FuncCall(ir.StructRef(over, ".", ir.ID(name, at=at), at=at), (), at=at)
        for name in ("begin", "end")
    )
    if not any(find_candidates(ev, "begin", record, begin) for record in with_bases(place.type)):
        return None
    reference = PointerType(place.type, True)
    storage = ev.state.new_local(_LIST, reference, ev.state.key(node, _LIST), place.pointer())
    ev.state.bind(_LIST, Variable(storage, reference))
    deduced = ir.TypeDecl(ir.IdentifierType(("auto",)))
    declared = ir.Decl(_ITERATOR, deduced, begin, at=at), ir.Decl(_END, deduced, end, at=at)
    iterator = ir.ID(_ITERATOR, at=at)
    goes_on = ir.BinaryOp("!=", iterator, ir.ID(_END, at=at), at=at)
    element = replace(node.decl, init=ir.UnaryOp("*", iterator, at=at))
    body = ir.Compound((element, node.stmt), at=at)
    step = ir.UnaryOp("++", iterator, at=at)
    return ir.For(ir.DeclList(declared, at=at), goes_on, step, body, at=at)
