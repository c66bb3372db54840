"""Expressions whose value is not followed, and statements that do nothing at run time."""

from __future__ import annotations

from smemlint.analysis.simt.calls.unfollowed import unfollowed_construct
from smemlint.analysis.simt.dispatch import evaluates, executes
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_packs import pack_size
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

_WITHOUT_VALUE = {
    ir.Unparsed: Reason(ReasonCode.SYNTAX, "a part of the expression could not be parsed"),
    ir.TypeArgument: Reason(ReasonCode.NO_VALUE, "a type is no value"),
}
_WITH_OPERANDS = {ir.BraceList: "a braced list", ir.DirectInit: "an initializer"}


@evaluates(*_WITHOUT_VALUE)
def evaluate_without_value(ev: Evaluator, node: ir.Expression) -> Value:
    """Returns an unknown value."""
    return Unknown(_WITHOUT_VALUE[type(node)])


@evaluates(*_WITH_OPERANDS)
def evaluate_operands(ev: Evaluator, node: ir.BraceList | ir.DirectInit) -> Value:
    """Returns an unknown value: the operands are evaluated, what is made of them is not known."""
    parts = [part.expr if isinstance(part, ir.NamedInitializer) else part for part in node.args]
    return unfollowed_construct(ev, _WITH_OPERANDS[type(node)], parts, node)


@evaluates(ir.Opaque)
def evaluate_opaque(ev: Evaluator, node: ir.Opaque) -> Value:
    """Returns an unknown value: what Python computes there has no counterpart in C."""
    return unfollowed_construct(ev, f"`{node.text}`", node.args, node)


@evaluates(ir.RangeElement)
def evaluate_range_element(ev: Evaluator, node: ir.RangeElement) -> Value:
    """Returns an unknown value: ranges are not followed."""
    return unfollowed_construct(ev, "a range-based loop", (node.range,), node)


@evaluates(ir.SizeofPack)
def evaluate_sizeof_pack(ev: Evaluator, node: ir.SizeofPack) -> Value:
    """Returns how many arguments a pack takes, an unknown value where that is not known."""
    size = ev.state.lookup(pack_size(node.pack))
    if isinstance(size, AffineInt):
        return size
    reason = Reason(ReasonCode.NOT_MODELLED, "the size of a parameter pack is not followed")
    return Unknown(reason, is_uniform=True)


@executes(ir.StaticAssert)
def execute_static_assert(ev: Evaluator, node: ir.StaticAssert) -> None:
    """Does nothing: the compiler checks it."""
