"""Packs of parameters: an element of an expansion, and what a fold makes of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.calls.packs import element_bound, expansion
from smemlint.analysis.simt.calls.unfollowed import unfollowed_construct
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import BOOL
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.frontend import ir

_FOLDED = frozenset(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))


@evaluates(ir.PackExpansion)
def evaluate_pack_expansion(ev: Evaluator, node: ir.PackExpansion) -> Value:
    """Returns the value of an element; an unknown one of packs that are not known."""
    if node.index < 0:
        return unfollowed_construct(ev, "a pack expansion", (node.pattern,), node)
    with element_bound(ev, node):
        return ev.evaluate(node.pattern)


@locates(ir.PackExpansion)
def locate_pack_expansion(ev: Evaluator, node: ir.PackExpansion) -> LValue | Unknown:
    """Returns what an element names in memory."""
    with element_bound(ev, node):
        return ev.lvalue(node.pattern)


@evaluates(ir.Fold)
def evaluate_fold(ev: Evaluator, node: ir.Fold) -> Value:
    """Returns what the operator makes of all elements, which are evaluated in their order."""
    found = [expansion(ev, part) for part in node.args]
    packs = [elements is not None for elements in found]
    if packs.count(True) != 1 or (node.op not in _FOLDED and node.op not in (",", "&&", "||")):
        return unfollowed_construct(ev, "a fold expression", node.args, node)
    parts = zip(node.args, found, strict=True)
    operands = [o for part, elements in parts for o in ((part,) if elements is None else elements)]
    if node.op in ("&&", "||"):
        return _fold_conditions(ev, node, operands)
    values = [ev.evaluate(operand) for operand in operands]
    if not values or node.op == ",":
        return values[-1] if values else number(0)
    is_left = node.is_left or (len(node.args) > 1 and packs[1])
    result, *others = values if is_left else reversed(values)
    for value in others:
        first, second = (result, value) if is_left else (value, result)
        result = apply_binary(ev, node.op, first, second, node)
    return result


def _fold_conditions(ev: Evaluator, node: ir.Fold, operands: Sequence[ir.Expression]) -> Value:
    """Returns whether all or any of some conditions hold, as far as they are constants."""
    deciding = node.op == "||"
    for k, operand in enumerate(operands):
        condition = to_condition(ev.evaluate(operand))
        constant = condition.constant if isinstance(condition, AffineInt) else None
        if constant is None:
            return unfollowed_construct(ev, "a fold expression", operands[k + 1 :], node)
        if bool(constant) == deciding:
            return number(int(deciding), BOOL)
    return number(int(not deciding), BOOL)
