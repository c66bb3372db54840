"""Functions that only give a number: CUDA's for floating point, exact ones for integers.

What a function returns is recorded from the headers of CUDA 13.0 in `cuda_functions.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

from smemlint.analysis.simt.builtins.table import BuiltinCall, Handler, register
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.codegen.slow_paths import conversion_path, slow_path
from smemlint.analysis.simt.codegen.unroll import cost_of_call
from smemlint.analysis.simt.domain.applied_functions import applied
from smemlint.analysis.simt.domain.ctypes import CType, FloatType, IntType, RecordType
from smemlint.analysis.simt.domain.integer_functions import FUNCTIONS, IntegerFunction
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.masking import same
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, FloatValue, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.types.builtin_types import builtin_type
from smemlint.reasons import Reason, ReasonCode

_RECORDED = Path(__file__).with_name("cuda_functions.txt")
_PRODUCTS = frozenset(("__mul24", "__umul24"))
"""Products of numbers of 24 bits: the operands are taken to be that small where not known."""


def _recorded() -> Iterator[tuple[str, CType]]:
    """Yields the functions of CUDA's headers with the types of what they return."""
    ctype: CType | None = None
    for line in _RECORDED.read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            ctype = builtin_type(tuple(line[:-1].split()))
        elif not line.startswith("#") and ctype is not None:
            yield from ((name, ctype) for name in line.split())


def _result(ctype: CType, name: str) -> Value:
    """Returns what a function of floating-point numbers gives."""
    match ctype:
        case FloatType():
            return FloatValue(ctype)
        case RecordType():
            return Aggregate(ctype, {m.offset: _result(m.type, name) for m in ctype.members})
    reason = Reason(ReasonCode.DATA, f"`{name}` computes it from a floating-point number")
    return Unknown(reason, is_data=True)


def _of_floats(ctype: CType) -> Handler:
    def evaluate(ev: Evaluator, call: BuiltinCall) -> Value:
        values = argument_values(ev, call.node)
        given = next((v.type for v in values if isinstance(v, FloatValue)), None)
        is_overloaded = not call.name.startswith("__") and not call.name.endswith("f")
        result = ctype
        if is_overloaded and isinstance(ctype, FloatType) and isinstance(given, FloatType):
            result = given
        ev.state.trace.part(slow_path(call.name, result))
        ev.state.trace.part(conversion_path(result, *values))
        if isinstance(result, FloatType):
            ev.state.spend(cost_of_call(call.name, result.size))
        return _result(result, call.name)

    return evaluate


def _of_integers(function: IntegerFunction, otherwise: CType | None) -> Handler:
    count = len(function.operands)

    def evaluate(ev: Evaluator, call: BuiltinCall) -> Value:
        values = argument_values(ev, call.node)[:count]
        if otherwise is not None and any(isinstance(v, FloatValue) for v in values):
            ev.state.trace.part(conversion_path(otherwise))  # `__hadd` of halves
            return _result(otherwise, call.name)
        operands = [convert(ev, v, k) for v, k in zip(values, function.operands, strict=True)]
        if call.name in _PRODUCTS:
            product = apply_binary(ev, "*", values[0], values[1], call.node)
            if isinstance(product, AffineInt) and product.terms:
                return _with_open_alignment(product)
            exact = applied(ev.state.domain, call.name, function, operands)
            return _with_open_alignment(product) if same(product, exact) else exact
        return applied(ev.state.domain, call.name, function, operands)

    return evaluate


def _with_open_alignment(product: Value) -> Value:
    """Returns a product of 24 bits; whether ptxas sees what divides it is open.

    Of four loads behind `__mul24(t >> 3, 64)` nvcc 13.0.88 (sm_90) makes one LDS.128, and behind
    `__mul24(t, 4)` none.
    """
    if not isinstance(product, AffineInt) or product.constant is not None:
        return product
    form = replace(scev_of(product), ptxas_alignment=1, is_open=True)
    return AffineInt(product.base, product.type, product.terms, form)


def _dot_product(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `__dp4a(a, b, c)` and `__dp2a_lo`: the type of `c` tells which of two it is."""
    values = argument_values(ev, call.node)
    last = values[2].type if isinstance(values[2], AffineInt) else None
    is_unsigned = isinstance(last, IntType) and not last.signed
    name = f"{call.name.removeprefix('__')}.{'u32' if is_unsigned else 's32'}"
    function = FUNCTIONS[name]
    operands = [convert(ev, v, k) for v, k in zip(values, function.operands, strict=False)]
    return applied(ev.state.domain, call.name, function, operands)


@cache
def pure_functions() -> frozenset[str]:
    """Returns the names of functions of floating-point numbers that only give a number."""
    names = (name for name, ctype in _recorded() if not isinstance(ctype, IntType))
    return frozenset((*names, "max", "min"))


def _register_all() -> None:
    recorded = dict(_recorded())
    for name, function in FUNCTIONS.items():
        if name.startswith("__"):
            ctype = recorded.pop(name, None)
            otherwise = None if isinstance(ctype, IntType) else ctype
            register((name,), _of_integers(function, otherwise), least=len(function.operands))
    for ctype, names in groupby(recorded, recorded.__getitem__):
        register(names, _of_floats(ctype), least=1)


_register_all()
register(("__dp4a", "__dp2a_lo", "__dp2a_hi"), _dot_product, least=3)
