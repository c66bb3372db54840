"""Asynchronous copies to shared memory: counted, without a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.builtins.table import builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Unknown, Value, number
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.analysis.simt.interpreter.pointers import dereference
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from smemlint.analysis.simt.builtins.table import BuiltinCall
    from smemlint.analysis.simt.evaluator import Evaluator


@builtin("__pipeline_memcpy_async", least=3)
def _copy_async(ev: Evaluator, call: BuiltinCall) -> Value:
    """`__pipeline_memcpy_async(dst, src, size)`: counted, without a verdict."""
    values = argument_values(ev, call.node)
    place = dereference(ev, values[0], call.node)
    size = values[2].constant if isinstance(values[2], AffineInt) else None
    if isinstance(place, LValue) and place.object.space is Space.SHARED and size:
        emit_event(ev, AccessKind.ASYNC_COPY, place.object, place.offset, size, call.node)
    return number(0)


@builtin("memcpy_async", least=3)
def _memcpy_async(ev: Evaluator, call: BuiltinCall) -> Value:
    """`memcpy_async([group,] dst, src, size[, pipeline])`: counted, without a verdict."""
    values = argument_values(ev, call.node)
    if isinstance(values[0], Pointer):
        target, rest = values[:1], values[2:]
    else:
        target, rest = values[1:2], values[3:]
    if not target or not isinstance(target[0], Pointer):
        return number(0)
    pointer = target[0]
    if pointer.object.space is Space.SHARED:
        bytes_ = rest[0].constant if rest and isinstance(rest[0], AffineInt) else None
        width = next((w for w in (16, 8, 4) if bytes_ and bytes_ % w == 0), 4)
        is_shared_out = target != values[:1]
        why = Unknown("a group shares out the bytes of the copy")
        offset = why if is_shared_out else pointer.offset
        emit_event(ev, AccessKind.ASYNC_COPY, pointer.object, offset, width, call.node)
    return number(0)
