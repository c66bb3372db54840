"""Integer functions of the hardware, thread by thread: what CUDA's integer intrinsics compute.

Sources: CUDA Math API 13.0, "Integer Intrinsics" and "SIMD Intrinsics"; PTX ISA 9.0, chapter 9.7.
Each takes and returns int64 arrays, of signed operands by value and of unsigned ones below 2**32;
what it returns is wrapped to the type of its result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import I32, I64, U32, U64, IntType
from smemlint.analysis.simt.domain.lanes import Array
from smemlint.lazy_dataclasses import dataclass

_WORD = 0xFFFFFFFF
_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class IntegerFunction:
    """A function of integers.

    Attributes:
        compute: thread by thread, on arrays of one shape.
        operands: the types that the operands are converted to.
        result: the type of what it gives.
        defaults: values of trailing operands that a call leaves out.
    """

    compute: Callable[..., Array]
    operands: tuple[IntType, ...]
    result: IntType
    defaults: tuple[int, ...] = ()


def _bit_length(words: Array) -> Array:
    """Computes the bit length of numbers from 0 to 2**32 - 1."""
    exponents: Array = np.frexp(words.astype(np.float64))[1].astype(np.int64)
    return exponents


def _high_word_unsigned(a: Array, b: Array) -> Array:
    product = a.astype(np.uint64) * b.astype(np.uint64)
    return (product >> np.uint64(_BITS)).astype(np.int64)


def _high_long(a: Array, b: Array) -> Array:
    # `asarray`: of objects without lanes numpy makes plain numbers of Python
    product = np.asarray(a.astype(object) * b.astype(object), object) >> 64
    result: Array = np.asarray(product & (1 << 64) - 1, np.uint64).view(np.int64)
    return result


def _high_long_unsigned(a: Array, b: Array) -> Array:
    wide = (np.asarray(x.astype(object) % (1 << 64), object) for x in (a, b))
    return _high_long(*wide)


def _low_24(a: Array) -> Array:
    return ((a & 0xFFFFFF) ^ 0x800000) - 0x800000


def _reversed(a: Array) -> Array:
    for step, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        a = (a >> step & mask) | (a & mask) << step
    return a >> 16 | (a & 0xFFFF) << 16


def _population(a: Array) -> Array:
    a = a - (a >> 1 & 0x55555555)
    a = (a & 0x33333333) + (a >> 2 & 0x33333333)
    a = a + (a >> 4) & 0x0F0F0F0F
    return (a * 0x01010101 & _WORD) >> 24


def _halves(of: Callable[[Array, Array], Array]) -> Callable[[Array], Array]:
    """Returns a function of 64 bits made of one of its high and low halves."""
    return lambda a: of(a >> _BITS & _WORD, a & _WORD)


def _leading_zeros(high: Array, low: Array) -> Array:
    return 64 - np.where(high != 0, _BITS + _bit_length(high), _bit_length(low))


def _first_set(a: Array) -> Array:
    return _bit_length(a & -a)


def _first_set_of_halves(high: Array, low: Array) -> Array:
    in_high = np.where(high != 0, _BITS + _first_set(high), 0)
    return np.where(low != 0, _first_set(low), in_high)


def _permuted(a: Array, b: Array, selector: Array) -> Array:
    """Computes `prmt`: nibbles of the selector pick bytes of `b:a`, or their signs."""
    result = np.zeros_like(a)
    for at in range(4):
        nibble = selector >> 4 * at & 0xF
        source = np.where(nibble & 4, b, a)
        byte = source >> 8 * (nibble & 3) & 0xFF
        byte = np.where(nibble & 8, (byte >> 7) * 0xFF, byte)
        result = result | byte << 8 * at
    return result


def _funnel(to_left: bool, clamps: bool) -> Callable[[Array, Array, Array], Array]:
    def compute(low: Array, high: Array, amount: Array) -> Array:
        shift = np.minimum(amount, _BITS) if clamps else amount & 31
        if to_left:  # the high word of high:low << shift
            return (high << shift | low >> (_BITS - shift)) & _WORD
        return (low >> shift | high << (_BITS - shift)) & _WORD

    return compute


def _dot(bits: int, signed: bool, second: int = 0) -> Callable[[Array, Array, Array], Array]:
    """Computes `dp4a` and `dp2a`: elements of `a`, bytes of `b` from `second` on, and a sum."""

    def element(word: Array, at: int, width: int) -> Array:
        part = word >> at & (1 << width) - 1
        return np.where(part >> (width - 1), part - (1 << width), part) if signed else part

    def compute(a: Array, b: Array, c: Array) -> Array:
        for at in range(_BITS // bits):
            c = c + element(a, at * bits, bits) * element(b, (at + second) * 8, 8)
        return c

    return compute


def _by_element(bits: int, signed: bool, of: Callable[..., NDArray[Any]]) -> Callable[..., Array]:
    """Returns a SIMD function of words of elements of so many bits."""
    mask = (1 << bits) - 1

    def element(word: Array, at: int) -> Array:
        part = word >> at & mask
        return np.where(part >> (bits - 1), part - mask - 1, part) if signed else part

    def compute(*words: Array) -> Array:
        parts = (
            (of(*(element(w, at) for w in words)).astype(np.int64) & mask) << at
            for at in range(0, _BITS, bits)
        )
        return sum(parts, np.zeros_like(words[0]))

    return compute


def _saturated(bits: int, signed: bool, of: Callable[..., Array]) -> Callable[..., Array]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda *words: np.clip(of(*words), low, high)


def _extracted(a: Array, position: Array, length: Array) -> Array:
    """Computes `bfe.u32`: bits of a word; those above its end are 0."""
    position, length = position & 0xFF, length & 0xFF
    found = a >> np.minimum(position, _BITS)
    return found & (1 << np.minimum(length, _BITS)) - 1


def _extracted_signed(a: Array, position: Array, length: Array) -> Array:
    """Computes `bfe.s32`: above the field stands its sign, bit 31 past the end."""
    position, length = np.minimum(position & 0xFF, _BITS), np.minimum(length & 0xFF, _BITS)
    field = (a >> position) & (1 << length) - 1  # `a` is signed: its sign goes on above bit 31
    top = np.minimum(length, np.maximum(_BITS - position, 1)) - 1
    sign = np.where(position >= _BITS, (a < 0).astype(np.int64), field >> np.maximum(top, 0) & 1)
    return np.where(length == 0, 0, np.where(sign != 0, field | -1 << length, field))


def _inserted(a: Array, b: Array, position: Array, length: Array) -> Array:
    """Computes `bfi.b32`: the low bits of `a` in place of those of `b`."""
    position, length = np.minimum(position & 0xFF, _BITS), np.minimum(length & 0xFF, _BITS)
    field = ((1 << length) - 1) << position
    return ((b & ~field) | (a << position & field)) & _WORD


def _highest_set(a: Array) -> Array:
    return (_bit_length(a) - 1) & _WORD


def _highest_set_signed(a: Array) -> Array:
    return _highest_set(np.where(a < 0, ~a, a))


def _looked_up(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Computes `lop3`: bit by bit what the table has at `a b c`."""
    result = np.zeros_like(a)
    for row in range(8):
        picks = [w if row >> k & 1 else ~w for w, k in ((a, 2), (b, 1), (c, 0))]
        result = result | (picks[0] & picks[1] & picks[2] & -(table >> row & 1))
    return result & _WORD


def _difference(a: Array, b: Array, c: Array) -> Array:
    result: Array = np.abs(a - b) + c
    return result


_COMPARISONS: dict[str, Callable[[Array, Array], NDArray[np.bool_]]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _before(compute: Callable[[Array], Array], a: Array) -> Array:
    return compute(a) - 1


FUNCTIONS: dict[str, IntegerFunction] = {
    "__mulhi": IntegerFunction(lambda a, b: (a * b) >> _BITS, (I32, I32), I32),
    "__umulhi": IntegerFunction(_high_word_unsigned, (U32, U32), U32),
    "__mul64hi": IntegerFunction(_high_long, (I64, I64), I64),
    "__umul64hi": IntegerFunction(_high_long_unsigned, (U64, U64), U64),
    "__mul24": IntegerFunction(lambda a, b: _low_24(a) * _low_24(b), (I32, I32), I32),
    "__umul24": IntegerFunction(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF), (U32, U32), U32),
    "__brev": IntegerFunction(_reversed, (U32,), U32),
    "__brevll": IntegerFunction(
        _halves(lambda high, low: _reversed(low) << _BITS | _reversed(high)), (U64,), U64
    ),
    "__clz": IntegerFunction(lambda a: _BITS - _bit_length(a), (U32,), I32),
    "__clzll": IntegerFunction(_halves(_leading_zeros), (U64,), I32),
    "__ffs": IntegerFunction(_first_set, (U32,), I32),
    "__ffsll": IntegerFunction(_halves(_first_set_of_halves), (U64,), I32),
    "__popc": IntegerFunction(_population, (U32,), I32),
    "__popcll": IntegerFunction(
        _halves(lambda high, low: _population(high) + _population(low)), (U64,), I32
    ),
    "__byte_perm": IntegerFunction(
        lambda a, b, selector: _permuted(a, b, selector & 0x7777), (U32, U32, U32), U32
    ),
    "__funnelshift_l": IntegerFunction(_funnel(True, False), (U32, U32, U32), U32),
    "__funnelshift_lc": IntegerFunction(_funnel(True, True), (U32, U32, U32), U32),
    "__funnelshift_r": IntegerFunction(_funnel(False, False), (U32, U32, U32), U32),
    "__funnelshift_rc": IntegerFunction(_funnel(False, True), (U32, U32, U32), U32),
    "__sad": IntegerFunction(_difference, (I32, I32, U32), U32),
    "__usad": IntegerFunction(_difference, (U32, U32, U32), U32),
    "__hadd": IntegerFunction(lambda a, b: (a + b) >> 1, (I32, I32), I32),
    "__rhadd": IntegerFunction(lambda a, b: (a + b + 1) >> 1, (I32, I32), I32),
    "__uhadd": IntegerFunction(lambda a, b: (a + b) >> 1, (U32, U32), U32),
    "__urhadd": IntegerFunction(lambda a, b: (a + b + 1) >> 1, (U32, U32), U32),
    "bfe.u32": IntegerFunction(_extracted, (U32, U32, U32), U32),
    "bfe.s32": IntegerFunction(_extracted_signed, (I32, U32, U32), I32),
    "bfi.b32": IntegerFunction(_inserted, (U32, U32, U32, U32), U32),
    "bfind.u32": IntegerFunction(_highest_set, (U32,), U32),
    "bfind.s32": IntegerFunction(_highest_set_signed, (I32,), U32),
    "lop3.b32": IntegerFunction(_looked_up, (U32, U32, U32, U32), U32),
    "prmt.b32": IntegerFunction(_permuted, (U32, U32, U32), U32),
    "dp4a.s32": IntegerFunction(_dot(8, True), (U32, U32, I32), I32),
    "dp4a.u32": IntegerFunction(_dot(8, False), (U32, U32, U32), U32),
    "dp2a_lo.s32": IntegerFunction(_dot(16, True), (U32, U32, I32), I32),
    "dp2a_lo.u32": IntegerFunction(_dot(16, False), (U32, U32, U32), U32),
    "dp2a_hi.s32": IntegerFunction(_dot(16, True, 2), (U32, U32, I32), I32),
    "dp2a_hi.u32": IntegerFunction(_dot(16, False, 2), (U32, U32, U32), U32),
}
"""By the name of the intrinsic, or of the PTX instruction where intrinsics are overloaded."""

for _suffix, _word in (("", ""), ("l", "ll"), ("ll", "ll")):  # GCC's; of 0 two are undefined
    _first = FUNCTIONS[f"__ffs{_word}"]
    FUNCTIONS |= {
        f"__builtin_ffs{_suffix}": _first,
        f"__builtin_clz{_suffix}": FUNCTIONS[f"__clz{_word}"],
        f"__builtin_popcount{_suffix}": FUNCTIONS[f"__popc{_word}"],
        f"__builtin_ctz{_suffix}": replace(_first, compute=partial(_before, _first.compute)),
    }


def _simd_functions() -> dict[str, IntegerFunction]:
    """Builds `__vadd2`, `__vmaxu4`, `__vcmpgts2` and their kin."""
    result: dict[str, IntegerFunction] = {}

    def define(name: str, compute: Callable[..., Array], count: int) -> None:
        result[name] = IntegerFunction(compute, (U32,) * count, U32)

    for lanes, bits in (("2", 16), ("4", 8)):
        for letter, signed in (("u", False), ("s", True)):
            for name, of in (
                ("avg", lambda a, b: (a + b + 1) >> 1),
                ("max", np.maximum),
                ("min", np.minimum),
            ):
                define(f"__v{name}{letter}{lanes}", _by_element(bits, signed, of), 2)
            define(f"__vabsdiff{letter}{lanes}", _by_element(bits, signed, _absolute_difference), 2)
            define(f"__vsad{letter}{lanes}", _sum_of_differences(bits, signed), 2)
            for name, of in (("add", np.add), ("sub", np.subtract)):
                limited = _saturated(bits, signed, of)
                define(f"__v{name}{letter}s{lanes}", _by_element(bits, signed, limited), 2)
            for name, holds in _COMPARISONS.items():
                suffix = lanes if name in ("eq", "ne") else f"{letter}{lanes}"
                define(f"__vset{name}{suffix}", _by_element(bits, signed, holds), 2)
                filled = _by_element(bits, signed, _filled(holds))
                define(f"__vcmp{name}{suffix}", filled, 2)
        define(f"__vhaddu{lanes}", _by_element(bits, False, lambda a, b: (a + b) >> 1), 2)
        define(f"__vadd{lanes}", _by_element(bits, False, np.add), 2)
        define(f"__vsub{lanes}", _by_element(bits, False, np.subtract), 2)
        define(f"__vneg{lanes}", _by_element(bits, True, np.negative), 1)
        define(f"__vabs{lanes}", _by_element(bits, True, np.abs), 1)
        define(f"__vabsss{lanes}", _by_element(bits, True, _saturated(bits, True, np.abs)), 1)
        define(f"__vnegss{lanes}", _by_element(bits, True, _saturated(bits, True, np.negative)), 1)
    for kind, type in (("s32", I32), ("u32", U32)):
        for name, pick in (("max", np.maximum), ("min", np.minimum)):
            result[f"__vi{name}3_{kind}"] = IntegerFunction(_of_three(pick), (type,) * 3, type)
            result[f"__viadd{name}_{kind}"] = IntegerFunction(
                _of_sum(pick, type), (type,) * 3, type
            )
    return result


def _of_three(pick: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Array], Array]:
    return lambda a, b, c: pick(pick(a, b), c)


def _of_sum(
    pick: Callable[[Array, Array], Array], type: IntType
) -> Callable[[Array, Array, Array], Array]:
    bias = 1 << 31 if type.signed else 0
    return lambda a, b, c: pick((a + b + bias & _WORD) - bias, c)


def _sum_of_differences(bits: int, signed: bool) -> Callable[[Array, Array], Array]:
    differences = _by_element(bits, signed, _absolute_difference)
    mask = (1 << bits) - 1

    def compute(a: Array, b: Array) -> Array:
        found = differences(a, b)
        return sum((found >> at & mask for at in range(0, _BITS, bits)), np.zeros_like(a))

    return compute


def _absolute_difference(a: Array, b: Array) -> Array:
    result: Array = np.abs(a - b)
    return result


def _filled(holds: Callable[[Array, Array], NDArray[np.bool_]]) -> Callable[[Array, Array], Array]:
    return lambda a, b: -holds(a, b).astype(np.int64)


FUNCTIONS.update(_simd_functions())
