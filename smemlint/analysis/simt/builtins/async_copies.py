"""Asynchronous copies to shared memory: what both of their sides touch goes to the trace."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.domain.copy_sources import source_of_event
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode

_FROM_LOCAL = Unknown.because(
    ReasonCode.NOT_MODELLED, "what is copied from a thread's own memory takes no `cp.async`"
)


def record_copy(
    ev: Evaluator,
    node: ir.Node,
    target: Pointer | Unknown,
    source: Value,
    width: int,
    *,
    form: str,
    size: Value | None = None,
) -> None:
    """Records one `cp.async` of the active threads, if it writes shared memory.

    Args:
        ev: the evaluator.
        node: the place in the source.
        target: what is written.
        source: the pointer that is read through.
        width: bytes a thread.
        form: `cg` or `ca`.
        size: how many of them are read, where the copy says; the rest is filled with zeros.
    """
    obj: Object | None = None
    offset: AffineInt | Unknown = Unknown.because(
        ReasonCode.UNKNOWN_ADDRESS, "its address is not followed"
    )
    if isinstance(source, Pointer):
        obj, offset = source.object, source.offset
    elif isinstance(source, Unknown):
        offset = source
    is_partial = size is not None and not (isinstance(size, AffineInt) and size.constant == width)
    read = source_of_event(obj, offset, form=form, is_partial=is_partial)
    if isinstance(target, Unknown):
        emit_event(ev, AccessKind.ASYNC_COPY, None, target, width, node, **read)
    elif target.object.space is Space.SHARED:
        is_local = obj is not None and obj.space is Space.LOCAL
        emit_event(
            ev, AccessKind.ASYNC_COPY, target.object, _FROM_LOCAL if is_local else target.offset,
            width, node, volatile=True, **read,
        )  # fmt: skip


@builtin("__pipeline_memcpy_async", least=3)
def _copy_async(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `__pipeline_memcpy_async(dst, src, size[, zfill])`."""
    target, source, bytes_, *rest = argument_values(ev, call.node)
    width = bytes_.constant if isinstance(bytes_, AffineInt) else None
    if width:
        is_full = not rest or (isinstance(rest[0], AffineInt) and rest[0].constant == 0)
        size = (
            None
            if is_full
            else Unknown.because(ReasonCode.UNKNOWN_VALUE, "part of it is filled with zeros")
        )
        form = _cache_operator(width)
        record_copy(ev, call.node, _target(target), source, width, form=form, size=size)
    return number(0)


@builtin("memcpy_async", least=3)
def _memcpy_async(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `memcpy_async([group,] dst, src, size[, pipeline])`."""
    values = argument_values(ev, call.node)
    is_shared_out = not isinstance(values[0], Pointer)
    target, source, *rest = values[1:] if is_shared_out else values
    if not isinstance(target, Pointer):
        return number(0)
    bytes_ = rest[0].constant if rest and isinstance(rest[0], AffineInt) else None
    width = next((w for w in (16, 8, 4) if bytes_ and bytes_ % w == 0), 4)
    if is_shared_out and target.object.space is Space.SHARED:
        why = Unknown.because(ReasonCode.NOT_MODELLED, "a group shares out the bytes of the copy")
        emit_event(ev, AccessKind.ASYNC_COPY, target.object, why, width, call.node)
    elif not is_shared_out:
        if bytes_ != width:
            source = Unknown.because(
                ReasonCode.UNKNOWN_VALUE, "how many bytes are copied at a time is not known"
            )
        record_copy(ev, call.node, target, source, width, form=_cache_operator(width))
    return number(0)


def _target(value: Value) -> Pointer | Unknown:
    if isinstance(value, Pointer | Unknown):
        return value
    return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "what the copy writes is no pointer")


def _cache_operator(width: int) -> str:
    """Returns what CUDA's headers choose: copies of 16 bytes go past L1."""
    return "cg" if width == 16 else "ca"
