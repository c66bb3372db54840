"""Dry runs: what an iteration changes is found by running it without a record, then undoing it."""

from __future__ import annotations

from smemlint.analysis.simt.calls.candidates import takes_by_value
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.environment import Variable, content_of
from smemlint.analysis.simt.domain.values import Cute, FloatValue, Pointer, Space, Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.loops.mod_ref import Escape
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode

_SKIPPED = Unknown.because(ReasonCode.NOT_MODELLED, "what a dry run skips is not known")
_NEVER_IDLE = (ir.Decl, ir.DeclList, ir.Typedef, ir.Return)


def may_skip(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether a dry run may skip a statement: nothing that is followed can change."""
    if isinstance(node, _NEVER_IDLE):
        return False
    effects = ev.state.node_facts.mod_ref(node)
    if effects is None or not all(_holds_nothing_followed(ev, n) for n in sorted(effects.modified)):
        return False
    if not all(keeps_what_is_followed(ev, escape) for escape in effects.escapes):
        return False
    if not all(_is_no_followed_pointer(ev, n) for n in sorted(effects.rebound)):
        return False
    if any(_holds_variables(ev, callee) for callee in sorted(effects.callees)):
        return False
    for name in effects.modified:
        binding = ev.state.lookup(name)
        if isinstance(binding, Variable) and binding.object.default is None:
            is_float = ev.policy.tracks_scev or isinstance(binding.type, FloatType)
            binding.object.default = FloatValue(FLOAT) if is_float else _SKIPPED
    return True


def _holds_variables(ev: Evaluator, callee: str) -> bool:
    """Returns whether what is called may change more than it is given.

    An object or a lambda does, which holds variables, and a method of the class that calls it.
    """
    if ev.state.lookup(callee) is not None:
        return True
    if ev.state.frame.this is None:
        return False
    name, _ = ev.state.unit.template_arguments(callee)
    return any(f.record is not None for f in ev.policy.functions(ev, name))


def _is_no_followed_pointer(ev: Evaluator, name: str) -> bool:
    """Returns whether a variable is no pointer, or one into global memory."""
    binding = ev.state.lookup(name)
    if not isinstance(binding, Variable) or not isinstance(binding.type, PointerType):
        return True
    value = binding.object.cells.get(0)
    return isinstance(value, Pointer) and value.object.space is Space.GLOBAL


def _holds_nothing_followed(ev: Evaluator, name: str) -> bool:
    """Returns whether nothing that is followed lies in a variable, or behind a pointer."""
    binding = ev.state.frame.peek(name)
    if binding is None:
        return ev.state.frame.this is None
    if not isinstance(binding, Variable):
        return False
    obj, ctype = binding.object, binding.type
    value = obj.cells.get(0) if isinstance(ctype, PointerType) else None
    if isinstance(value, Pointer):
        obj, ctype = value.object, value.target
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    return obj.space is not Space.LOCAL or isinstance(ctype, OpaqueType) or is_floating(ctype)


def keeps_what_is_followed(ev: Evaluator, given: Escape) -> bool:
    """Returns whether a call that is given a variable leaves what is followed alone.

    A tensor or a layout of CuTe takes coordinates, which it does not write.
    """
    callee = ev.state.lookup(given.callee)
    if callee is not None and not isinstance(content_of(callee), Cute):
        return False
    if _holds_nothing_followed(ev, given.name):
        return True
    binding = ev.state.frame.peek(given.name)
    if given.is_output and isinstance(binding, Variable):
        cells = binding.object.cells.values()  # an output is unknown: so they may stay
        return bool(cells) and all(isinstance(v, Unknown) for v in cells)
    if given.is_address or not isinstance(binding, Variable):
        return False
    if not isinstance(binding.type, IntType):
        return False
    return not given.is_lvalue or takes_by_value(ev, given.callee, given.index)


def is_floating(ctype: CType) -> bool:
    """Returns whether a type holds floating-point numbers only."""
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    if isinstance(ctype, RecordType):
        return bool(ctype.members) and all(is_floating(m.type) for m in ctype.members)
    return isinstance(ctype, FloatType)
