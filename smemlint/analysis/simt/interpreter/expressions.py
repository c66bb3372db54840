"""Expressions: values of nodes for all threads of the block at once."""

from __future__ import annotations

from functools import lru_cache

from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import (
    DOUBLE,
    FLOAT,
    I8,
    I32,
    I64,
    U32,
    U64,
    IntType,
    PointerType,
)
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    CallableValue,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_as_integer
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.pointers import TEXT
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.integers import read_integer
from smemlint.reasons import ReasonCode


@evaluates(ir.Constant)
def evaluate_constant(ev: Evaluator, node: ir.Constant) -> Value:
    """Returns the value of a literal."""
    text = node.value
    if node.type == "string":
        return Pointer(Object("string", TEXT, Space.GLOBAL, "string"), ORIGIN, I8)
    if node.type == "char" or text.startswith("'"):
        return number(_character(text), I8)
    if "int" in node.type:
        return _integer(text)
    return FloatValue(FLOAT if text[-1:] in "fF" else DOUBLE)


@evaluates(ir.ExprList)
def evaluate_comma(ev: Evaluator, node: ir.ExprList) -> Value:
    """Evaluates all operands of a comma, and returns the last value."""
    value: Value = Unknown.because(ReasonCode.NO_VALUE, "an empty expression")
    for expr in node.exprs:
        value = ev.evaluate(expr)
    return value


@evaluates(ir.InitList)
def evaluate_braces(ev: Evaluator, node: ir.InitList) -> Value:
    """Returns the value in braces; a longer list is not followed."""
    if len(node.exprs or ()) == 1:
        return ev.evaluate(node.exprs[0])
    for expr in node.exprs or ():
        ev.evaluate(expr)
    return Unknown.because(ReasonCode.NOT_MODELLED, "a braced list is not followed")


@evaluates(ir.Typename)
def evaluate_type_name(ev: Evaluator, node: ir.Typename) -> Value:
    """Returns a type that stands where a value could."""
    return CallableValue("type", ev.types.resolve(node))


@lru_cache(1024)
def _integer(text: str) -> Value:
    literal = read_integer(text)
    if literal is None:
        return Unknown.because(ReasonCode.NO_VALUE, f"`{text}` is not a number")
    value = literal.value
    if literal.is_long or value >= 1 << 32:
        return number(value, U64 if literal.is_unsigned or value >= 1 << 63 else I64)
    if literal.is_unsigned or (value >= 1 << 31 and not literal.is_decimal):
        return number(value, U32)
    return number(value, I64 if value >= 1 << 31 else I32)


def _character(text: str) -> int:
    body = text[text.index("'") + 1 : -1]
    escapes = {"\\n": 10, "\\t": 9, "\\0": 0, "\\\\": 92, "\\'": 39, "\\r": 13}
    return escapes.get(body, ord(body[0]) if body else 0)


@evaluates(ir.Assembly)
def evaluate_assembly(ev: Evaluator, node: ir.Assembly) -> Value:
    """Runs an `asm` statement; what reads PTX is imported when a function has some."""
    from smemlint.analysis.simt.inline_ptx.statements import run_assembly

    return run_assembly(ev, node)


@evaluates(ir.Cast)
def evaluate_cast(ev: Evaluator, node: ir.Cast) -> Value:
    """Returns a value as another type."""
    ctype = ev.types.resolve(node.to_type)
    if isinstance(ctype, PointerType) and ctype.is_reference:
        place = ev.lvalue(node.expr)
        if isinstance(place, Unknown):
            return place
        is_volatile = place.volatile or ctype.is_volatile
        return Pointer(place.object, place.offset, ctype.target, is_volatile)
    if isinstance(ctype, IntType) and isinstance(node.expr, ir.ArrayRef):
        value = read_as_integer(ev, node.expr, ctype)
    else:
        value = ev.evaluate(node.expr)
    if isinstance(value, Aggregate) and isinstance(ctype, IntType):
        return ev.evaluate(ir.Construct(node.to_type, (node.expr,), at=node.at))
    if isinstance(value, Pointer) and isinstance(ctype, PointerType):
        is_volatile = value.is_volatile or ctype.is_volatile
        return Pointer(value.object, value.offset, ctype.target, is_volatile)
    if isinstance(value, AffineInt) and isinstance(ctype, PointerType) and not value.terms:
        return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a pointer is made from a number")
    return convert(ev, value, ctype)
