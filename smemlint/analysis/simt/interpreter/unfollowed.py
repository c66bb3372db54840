"""Expressions whose value is not followed, and statements that do nothing at run time."""

from __future__ import annotations

from smemlint.analysis.simt.calls.unfollowed import unfollowed_construct
from smemlint.analysis.simt.dispatch import evaluates, executes
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_packs import pack_size
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode


@evaluates(ir.Unparsed)
def evaluate_unparsed(ev: Evaluator, node: ir.Unparsed) -> Value:
    """Returns an unknown value."""
    return Unknown(Reason(ReasonCode.SYNTAX, "a part of the expression could not be parsed"))


@evaluates(ir.Opaque)
def evaluate_opaque(ev: Evaluator, node: ir.Opaque) -> Value:
    """Returns an unknown value: what Python computes there has no counterpart in C."""
    return unfollowed_construct(ev, f"`{node.text}`", node.args, node)


@evaluates(ir.BraceList)
def evaluate_brace_list(ev: Evaluator, node: ir.BraceList) -> Value:
    """Returns an unknown value: what braces initialize is not looked up."""
    return unfollowed_construct(ev, "a braced list", node.args, node)


@evaluates(ir.Fold)
def evaluate_fold(ev: Evaluator, node: ir.Fold) -> Value:
    """Returns an unknown value: packs are not followed."""
    return unfollowed_construct(ev, "a fold expression", node.args, node)


@evaluates(ir.PackExpansion)
def evaluate_pack_expansion(ev: Evaluator, node: ir.PackExpansion) -> Value:
    """Returns an unknown value: packs are not followed."""
    return unfollowed_construct(ev, "a pack expansion", (node.pattern,), node)


@evaluates(ir.RangeElement)
def evaluate_range_element(ev: Evaluator, node: ir.RangeElement) -> Value:
    """Returns an unknown value: ranges are not followed."""
    return unfollowed_construct(ev, "a range-based loop", (node.range,), node)


@evaluates(ir.DirectInit)
def evaluate_direct_initializer(ev: Evaluator, node: ir.DirectInit) -> Value:
    """Returns an unknown value: declarations evaluate the operands themselves."""
    return unfollowed_construct(ev, "an initializer", node.args, node)


@evaluates(ir.TypeArgument)
def evaluate_type_argument(ev: Evaluator, node: ir.TypeArgument) -> Value:
    """Returns an unknown value: only macros take types as arguments."""
    return Unknown(Reason(ReasonCode.NO_VALUE, "a type is no value"))


@evaluates(ir.SizeofPack)
def evaluate_sizeof_pack(ev: Evaluator, node: ir.SizeofPack) -> Value:
    """Returns how many arguments a pack takes, an unknown value where that is not known."""
    size = ev.state.lookup(pack_size(node.pack))
    if isinstance(size, AffineInt):
        return size
    reason = Reason(ReasonCode.NOT_MODELLED, "the size of a parameter pack is not followed")
    return Unknown(reason, is_uniform=True)


@evaluates(ir.New)
def evaluate_new(ev: Evaluator, node: ir.New) -> Value:
    """Returns an unknown value: memory from the heap is not followed."""
    return Unknown(Reason(ReasonCode.NOT_MODELLED, "memory of `new` is not followed"))


@executes(ir.StaticAssert)
def execute_static_assert(ev: Evaluator, node: ir.StaticAssert) -> None:
    """Does nothing: the compiler checks it."""
