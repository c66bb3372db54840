"""CuTe's functions on integers and tuples of them: products, quotients, choices."""

from __future__ import annotations

import math

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.types import static_number
from smemlint.analysis.simt.cute.values import value_of
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.layout import cute


@function("product")
def _product(call: Call) -> Value:
    return value_of(cute.product(call.convert.int_tuple(call.values[0])))


@function("product_each")
def _product_each(call: Call) -> Value:
    return value_of(cute.product_each(call.convert.int_tuple(call.values[0])))


@function("ceil_div", "shape_div")
def _ceil_div(call: Call) -> Value:
    a, b = (call.convert.int_tuple(value) for value in call.values[:2])
    if isinstance(a, tuple) and isinstance(b, tuple):
        pairs = zip(a, b, strict=False)
        return value_of(
            (*(cute.ceil_div(cute.product(x), cute.product(y)) for x, y in pairs), *a[len(b) :])
        )
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise cute.CuteError("ceil_div of a tuple and a number")
    return value_of(cute.ceil_div(a, b))


@function("round_up")
def _round_up(call: Call) -> Value:
    return value_of(_rounded_up(*(call.convert.int_tuple(value) for value in call.values[:2])))


def _rounded_up(a: cute.IntTuple, b: cute.IntTuple) -> cute.IntTuple:
    """Returns multiples of `b`, mode by mode; modes that `b` lacks stay as they are."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return (*map(_rounded_up, a, b), *a[len(b) :])
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise cute.CuteError("round_up of a tuple and a number")
    return cute.ceil_div(a, b) * b


@function("bits_to_bytes", "bytes_to_bits")
def _width(call: Call) -> Value:
    given = call.convert.integer(call.values[0])
    return value_of(given * 8 if call.name == "bytes_to_bits" else cute.ceil_div(given, 8))


@function("gcd", "lcm")
def _common_factor(call: Call) -> Value:
    numbers = [value for value in call.values if isinstance(value, AffineInt)]
    constants = [number.constant for number in numbers if number.constant is not None]
    if len(constants) < len(call.values):
        raise cute.CuteError(f"`{call.name}` of what is known only at run time")
    found = getattr(math, call.name)(*constants)
    is_static = all(isinstance(call.convert.integer(number), int) for number in numbers)
    return static_number(found) if is_static else AffineInt(found)


@function("conditional_return")
def _conditional_return(call: Call) -> Value:
    """Evaluates `conditional_return<B>(a, b)`, or with a static truth value as first argument."""
    (chosen,) = call.static_types() or (call.convert.integer(call.values[0]),)
    first = len(call.values) - 2
    if not isinstance(chosen, int):
        raise cute.CuteError("a condition that is known only at run time")
    return call.values[first if chosen else first + 1]
