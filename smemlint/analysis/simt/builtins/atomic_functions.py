"""Atomic functions of CUDA: shared ones are recorded as the compiler issues them."""

from __future__ import annotations

from smemlint.analysis.simt.builtins import atomics
from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.domain.ctypes import FloatType, IntType
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, FloatValue, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import record_access
from smemlint.analysis.simt.interpreter.pointers import dereference
from smemlint.facts import AccessKind
from smemlint.hardware.atomics import LOOPS
from smemlint.reasons import ReasonCode

_ATOMICS = {
    "atomicAdd": "add", "atomicSub": "add", "atomicExch": "exch", "atomicMin": "min",
    "atomicMax": "max", "atomicInc": "inc", "atomicDec": "dec", "atomicCAS": "cas",
    "atomicAnd": "and", "atomicOr": "or", "atomicXor": "xor",
}  # fmt: skip
_PAIRS_OF_HALVES = ("half2", "__half2", "nv_bfloat162", "__nv_bfloat162")


@builtin(*(name + scope for name in _ATOMICS for scope in ("", "_block", "_system")), least=2)
def _atomic(ev: Evaluator, call: BuiltinCall) -> Value:
    state = ev.state
    exprs = call.node.args
    pointer = ev.evaluate(exprs[0])
    operands = [ev.evaluate(a) for a in exprs[1:]]
    place = dereference(ev, pointer, call.node)
    if not isinstance(place, LValue):
        return place
    if place.object.space is Space.SHARED:
        base = call.name.removesuffix("_block").removesuffix("_system")
        operation = f"{_ATOMICS[base]}.{_suffix(place)}"
        operand = operands[0]
        if base == "atomicSub" and isinstance(operand, AffineInt):
            operand = state.domain.add(AffineInt(0, operand.type), operand, -1)
        arch = state.geometry.arch
        operation = atomics.compiled(operation, operand, is_used=call.is_used, arch=arch)
        if operation in LOOPS:  # a compare-and-swap loop loads the old value first
            old = LValue(place.object, place.offset, place.type, volatile=True)
            record_access(ev, AccessKind.LOAD, old, call.node)
        mask = state.mask
        state.mask = atomics.issuing(
            mask, operation, place.offset, operand, is_used=call.is_used, arch=arch
        )
        record_access(ev, AccessKind.ATOMIC, place, call.node, operation=operation)
        state.mask = mask
    elif _is_of_halves(place):
        state.trace.fence("barrier")
    ctype = place.type
    return (
        FloatValue(ctype)
        if isinstance(ctype, FloatType)
        else Unknown.because(ReasonCode.DATA, "the result of an atomic", is_data=True)
    )


def _is_of_halves(place: LValue) -> bool:
    """Returns whether an atomic is inline assembly, or a loop on the word around it.

    No shared access moves past these, whatever memory they work on: read off the SASS of nvcc
    13.0.88 (sm_90) for half, half2, __nv_bfloat16 and atomicCAS of unsigned short; float, double,
    int, float4 and atomicCAS of int are passed.
    """
    return place.type.size == 2 or getattr(place.type, "name", "") in _PAIRS_OF_HALVES


def _suffix(place: LValue) -> str:
    ctype = place.type
    if isinstance(ctype, IntType):
        return f"{'s' if ctype.signed else 'u'}{ctype.bits}"
    if isinstance(ctype, FloatType):
        return {"half": "f16", "__nv_bfloat16": "bf16"}.get(ctype.name, f"f{ctype.size * 8}")
    return {"half2": "f16x2", "__half2": "f16x2"}.get(
        getattr(ctype, "name", ""), f"b{ctype.size * 8}"
    )
