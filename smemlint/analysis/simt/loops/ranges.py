"""Range-based loops of host code: over arrays and lists of known lengths, they count."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.domain.ctypes import ArrayType, array_member
from smemlint.analysis.simt.domain.environment import LValue, Variable, type_of
from smemlint.analysis.simt.domain.values import AffineInt, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_INDEX, _LIST = "index of the range", "list of the range"  # no name of the source has blanks


def counted_loop(ev: Evaluator, node: ir.RangeFor) -> ir.For | None:
    """Returns the loop over indexes that a range-based one stands for.

    Args:
        ev: host code, in a scope of the loop's own, where the elements of a list are declared.
        node: the loop.

    Returns:
        None where the range is neither an array of known extent nor a list of numbers.
    """
    init = node.decl.init
    over = init.range if isinstance(init, ir.RangeElement) else None
    count = 0
    if isinstance(over, ir.InitList | ir.BraceList):
        count, over = _declare_list(ev, over), ir.ID(_LIST, at=node.at)
    elif isinstance(over, ir.ID | ir.StructRef):
        place = ev.lvalue(over)
        kind = place.type if isinstance(place, LValue) else None
        array = kind if isinstance(kind, ArrayType) or kind is None else array_member(kind)
        count = array.count or 0 if array is not None else 0
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
    kind = type_of(values[0])
    array = ArrayType(kind, len(values))
    held = ev.state.new_local(_LIST, array, ev.state.key(node, _LIST))
    for k, value in enumerate(values):
        ev.state.memory.write(held, offset_of(k * kind.size), kind, value, ev.state.mask)
    ev.state.bind(_LIST, Variable(held, array))
    return len(values)
