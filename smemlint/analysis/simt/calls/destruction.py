"""Destruction: objects end with the block that declares them, in reverse order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from smemlint.analysis.simt.calls.inlining import inline
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import LValue, Scope, Variable
from smemlint.analysis.simt.domain.values import ORIGIN, Pointer, Space
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.lvalues import part_of
from smemlint.analysis.simt.types.overloads import members_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record


def end_lifetimes(ev: Evaluator, scope: Scope, node: ir.Node) -> None:
    """Runs the destructors of the objects that a scope declares, for the threads that made them.

    Threads that left the block have run them as they did.
    """
    for binding in reversed(list(scope.values())):
        if binding.__class__ is not Variable or not isinstance(binding.type, RecordType):
            continue
        obj = binding.object
        if obj.space is not Space.LOCAL or obj.type != binding.type or binding.type.record is None:
            continue
        mask = ev.state.mask
        for part, destructor in _parts(ev, LValue(obj, ORIGIN, binding.type), set()):
            ev.state.mask = mask if obj.born is None else obj.born
            record = cast("RecordType", part.type)
            this = Pointer(part.object, part.offset, record)
            inline(ev, destructor, [], (), node, this, record)
        ev.state.mask = mask


def _parts(
    ev: Evaluator, place: LValue, without: set[RecordType]
) -> Iterator[tuple[LValue, Function]]:
    """Yields an object with its destructor, then its members and bases that have one."""
    ctype = place.type
    if not isinstance(ctype, RecordType) or ctype.record is None or ctype in without:
        return
    is_without = True
    named = ev.policy.functions(ev, f"~{ctype.name}")
    for destructor in members_of(cast("Record", ctype.record), named)[:1]:
        if destructor.words:
            is_without = False
            yield place, destructor
    for member in reversed(ctype.members):
        for found in _parts(ev, part_of(ev, place, member), without):
            is_without = False
            yield found
    if is_without:
        without.add(ctype)
