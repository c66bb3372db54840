"""`memcpy` and `memset` of shared memory, as nvcc expands them where it knows the size.

SASS of nvcc 13.0.88 and 13.5.37 (sm_90, -O3) of 410 kernels that copy or set n bytes a thread, n of
2 to 256, of char arrays, float arrays and such with `alignas(8)` and `alignas(16)`:

| n | other side | instructions |
| --- | --- | --- |
| up to 16 | any | words, which fuse as those of source code do; of a char array bytes |
| from 24 on | registers of the thread | likewise |
| from 24 on | global or shared memory, a value | one for each byte |
| from 24 on, `memset` of one place | a value | words |
"""

from __future__ import annotations

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call, unfollowed_values
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.unknown_offset import is_lost
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.hardware.arch import WORD

_EXPANDED = 16
"""Bytes that nvcc always expands."""
_UNROLLED = 256
"""Bytes up to which it was looked at."""


@builtin("memcpy", "__builtin_memcpy", "memset", "__builtin_memset", least=3)
def copy_or_set(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `memcpy(to, from, bytes)` and `memset(to, value, bytes)`."""
    if not ev.policy.tracks_scev:
        return unfollowed_call(ev, call.name, call.node, is_used=call.is_used)
    values = argument_values(ev, call.node)
    target, source, size = values[:3]
    bytes_ = size.constant if isinstance(size, AffineInt) else None
    sides = [(target, source, AccessKind.STORE), (source, target, AccessKind.LOAD)]
    shared = [
        (side, other, kind)
        for side, other, kind in sides
        if isinstance(side, Pointer) and side.object.space is Space.SHARED
    ]
    if not shared or bytes_ is None:
        return _unfollowed(ev, call, values, "how many bytes there are is not known")
    units = [_unit(side, other, bytes_) for side, other, _ in shared]
    if not all(units):
        return _unfollowed(ev, call, values, "what it is compiled to is not modelled")
    for (side, _, kind), unit in sorted(zip(shared, units, strict=True), key=lambda s: s[0][2]):
        _emit(ev, call.node, side, kind, bytes_, unit)
    if isinstance(target, Pointer) and target.object.space is Space.LOCAL:
        ev.state.memory.forget(target.object, f"was given to `{call.name}`")
    return target


def _unfollowed(ev: Evaluator, call: BuiltinCall, values: list[Value], why: str) -> Value:
    unfollowed_values(ev, call.name, values, call.node, why)
    return values[0]


def _unit(side: Pointer, other: Value, bytes_: int) -> int:
    """Returns the bytes that are moved at a time before neighbours fuse; 0 where that is open."""
    obj, offset = side.object, side.offset
    if bytes_ > _UNROLLED or obj.shared is None or obj.origin is not None or is_lost(offset):
        return 0
    known = min(WORD, obj.shared.alignment, scev_of(offset).alignment)
    is_local = isinstance(other, Pointer) and other.object.space is Space.LOCAL
    is_set_in_one_place = isinstance(other, AffineInt) and offset.constant is not None
    return known if bytes_ <= _EXPANDED or is_local or is_set_in_one_place else 1


def _emit(
    ev: Evaluator, node: ir.Node, side: Pointer, kind: AccessKind, bytes_: int, unit: int
) -> None:
    at = 0
    while at < bytes_:
        width = unit
        while width > bytes_ - at:
            width //= 2
        offset = ev.state.domain.add(side.offset, offset_of(at))
        is_byte = unit == 1  # of a loop over bytes, of which none fuse
        emit_event(ev, kind, side.object, offset, width, node, volatile=is_byte or side.is_volatile)
        at += width
