"""Integer intrinsics against their definitions, written out bit by bit in plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.applied_functions import applied
from smemlint.analysis.simt.domain.ctypes import I32, U32
from smemlint.analysis.simt.domain.integer_functions import FUNCTIONS
from smemlint.analysis.simt.domain.values import AffineInt, Unknown

WORD = 0xFFFFFFFF
LONG = 0xFFFFFFFFFFFFFFFF


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def bits_of(value, count=32):
    return [value >> k & 1 for k in range(count)]


def parts(value, bits, is_signed=False):
    found = [value >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [signed(v, bits) for v in found] if is_signed else found


def packed(values, bits):
    return sum((v & (1 << bits) - 1) << bits * k for k, v in enumerate(values))


def clamped(value, bits, is_signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def permuted(a, b, selector):
    data = [*parts(a, 8), *parts(b, 8)]
    result = []
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = data[nibble & 7]
        result.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return packed(result, 8)


def bfe(a, position, length, is_signed):
    """The pseudo code of the PTX ISA, 9.7.1.19."""
    position, length = position & 255, length & 255
    msb = 31
    sign = 0 if not is_signed or length == 0 else a >> min(position + length - 1, msb) & 1
    result = [
        a >> position + k & 1 if k < length and position + k <= msb else sign for k in range(32)
    ]
    return packed(result, 1)


def bfi(a, b, position, length):
    result = bits_of(b)
    for k in range(length & 255):
        if (position & 255) + k < 32:
            result[(position & 255) + k] = a >> k & 1 if k < 32 else 0
    return packed(result, 1)


def bfind(a, is_signed):
    a = ~a & WORD if is_signed and a >> 31 else a
    return a.bit_length() - 1


def dot(a, b, c, is_signed):
    return c + sum(
        x * y for x, y in zip(parts(a, 8, is_signed), parts(b, 8, is_signed), strict=True)
    )


def dot2(a, b, c, is_signed, half):
    pair = parts(b, 8, is_signed)[2 * half :][:2]
    return c + sum(x * y for x, y in zip(parts(a, 16, is_signed), pair, strict=True))


REFERENCE = {
    "__mulhi": lambda a, b: signed(a) * signed(b) >> 32,
    "__umulhi": lambda a, b: a * b >> 32,
    "__mul24": lambda a, b: signed(a, 24) * signed(b, 24),
    "__umul24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "__brev": lambda a: packed(bits_of(a)[::-1], 1),
    "__clz": lambda a: 32 - a.bit_length(),
    "__ffs": lambda a: next((k + 1 for k, bit in enumerate(bits_of(a)) if bit), 0),
    "__popc": lambda a: sum(bits_of(a)),
    "__builtin_ctz": lambda a: bits_of(a).index(1) if a else -1,
    "__builtin_popcount": lambda a: sum(bits_of(a)),
    "__byte_perm": lambda a, b, s: permuted(a, b, s & 0x7777),
    "prmt.b32": permuted,
    "__funnelshift_l": lambda low, high, n: ((high << 32 | low) << (n & 31)) >> 32,
    "__funnelshift_lc": lambda low, high, n: ((high << 32 | low) << min(n, 32)) >> 32,
    "__funnelshift_r": lambda low, high, n: (high << 32 | low) >> (n & 31),
    "__funnelshift_rc": lambda low, high, n: (high << 32 | low) >> min(n, 32),
    "__sad": lambda a, b, c: abs(signed(a) - signed(b)) + c,
    "__usad": lambda a, b, c: abs(a - b) + c,
    "__hadd": lambda a, b: (signed(a) + signed(b)) >> 1,
    "__rhadd": lambda a, b: (signed(a) + signed(b) + 1) >> 1,
    "__uhadd": lambda a, b: (a + b) >> 1,
    "__urhadd": lambda a, b: (a + b + 1) >> 1,
    "bfe.u32": lambda a, p, n: bfe(a, p, n, False),
    "bfe.s32": lambda a, p, n: bfe(a, p, n, True),
    "bfi.b32": bfi,
    "bfind.u32": lambda a: bfind(a, False),
    "bfind.s32": lambda a: bfind(a, True),
    "lop3.b32": lambda a, b, c, t: packed(
        [t >> (x << 2 | y << 1 | z) & 1 for x, y, z in zip(*map(bits_of, (a, b, c)), strict=True)], 1
    ),
    "dp4a.s32": lambda a, b, c: dot(a, b, c, True),
    "dp4a.u32": lambda a, b, c: dot(a, b, c, False),
    "dp2a_lo.s32": lambda a, b, c: dot2(a, b, c, True, 0),
    "dp2a_hi.u32": lambda a, b, c: dot2(a, b, c, False, 1),
    "__vimax3_s32": lambda a, b, c: max(map(signed, (a, b, c))),
    "__viaddmin_u32": lambda a, b, c: min(a + b & WORD, c),
}  # fmt: skip


def _element_wise(name, bits, is_signed, of):
    def compute(a, b):
        pairs = zip(parts(a, bits, is_signed), parts(b, bits, is_signed), strict=True)
        return packed([of(x, y) for x, y in pairs], bits)

    REFERENCE[name] = compute


for _bits, _lanes in ((16, "2"), (8, "4")):
    for _letter, _signed in (("u", False), ("s", True)):
        _element_wise(f"__vmax{_letter}{_lanes}", _bits, _signed, max)
        _element_wise(f"__vavg{_letter}{_lanes}", _bits, _signed, lambda x, y: (x + y + 1) >> 1)
        _element_wise(f"__vabsdiff{_letter}{_lanes}", _bits, _signed, lambda x, y: abs(x - y))
        _element_wise(
            f"__vadd{_letter}s{_lanes}", _bits, _signed,
            lambda x, y, b=_bits, s=_signed: clamped(x + y, b, s),
        )  # fmt: skip
        _element_wise(
            f"__vsub{_letter}s{_lanes}", _bits, _signed,
            lambda x, y, b=_bits, s=_signed: clamped(x - y, b, s),
        )  # fmt: skip
        _element_wise(f"__vsetlt{_letter}{_lanes}", _bits, _signed, lambda x, y: int(x < y))
        _element_wise(f"__vcmpge{_letter}{_lanes}", _bits, _signed, lambda x, y: -int(x >= y))
    _element_wise(f"__vadd{_lanes}", _bits, False, lambda x, y: x + y)
    _element_wise(f"__vsub{_lanes}", _bits, False, lambda x, y: x - y)
    _element_wise(f"__vcmpeq{_lanes}", _bits, False, lambda x, y: -int(x == y))
REFERENCE["__vsadu4"] = lambda a, b: sum(
    abs(x - y) for x, y in zip(parts(a, 8), parts(b, 8), strict=True)
)
REFERENCE["__vsads2"] = lambda a, b: sum(
    abs(x - y) for x, y in zip(parts(a, 16, True), parts(b, 16, True), strict=True)
)
REFERENCE["__vneg4"] = lambda a: packed([-x for x in parts(a, 8, True)], 8)
REFERENCE["__vabsss2"] = lambda a: packed([min(abs(x), 32767) for x in parts(a, 16, True)], 16)


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_words(name):
    function, draw = FUNCTIONS[name], random.Random(name)
    special = [0, 1, 2, 7, 8, 24, 31, 32, 33, 255, 0x7FFFFFFF, 0x80000000, WORD]
    operands = [
        np.array([draw.choice((draw.choice(special), draw.getrandbits(32), draw.getrandbits(7))) for _ in range(512)], np.int64)
        for _ in function.operands
    ]  # fmt: skip
    values = [
        AffineInt(np.array([signed(v) for v in lanes]) if k.signed else lanes, k)
        for lanes, k in zip(operands, function.operands, strict=True)
    ]
    result = applied(AffineDomain(), name, function, values)
    expected = [REFERENCE[name](*map(int, lanes)) & WORD for lanes in zip(*operands, strict=True)]
    wrap = signed if function.result.signed else int
    assert np.broadcast_to(result.base, 512).tolist() == [wrap(v) for v in expected]


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("__brevll", lambda a: packed(bits_of(a, 64)[::-1], 1)),
        ("__clzll", lambda a: 64 - a.bit_length()),
        ("__ffsll", lambda a: next((k + 1 for k, bit in enumerate(bits_of(a, 64)) if bit), 0)),
        ("__popcll", lambda a: sum(bits_of(a, 64))),
        ("__builtin_ctzl", lambda a: bits_of(a, 64).index(1) if a else -1),
        ("__umul64hi", lambda a, b: a * b >> 64),
        ("__mul64hi", lambda a, b: signed(a, 64) * signed(b, 64) >> 64),
    ],
)
def test_long_words(name, of):
    function, draw = FUNCTIONS[name], random.Random(name)
    operands = [
        [draw.choice((0, 1, LONG, 1 << 63, draw.getrandbits(64), draw.getrandbits(33))) for _ in range(256)]
        for _ in function.operands
    ]  # fmt: skip
    lanes = [np.array([signed(v, 64) for v in values], np.int64) for values in operands]
    result = function.compute(*lanes)
    assert [int(v) & LONG for v in result] == [of(*v) & LONG for v in zip(*operands, strict=True)]


def test_an_unknown_of_all_threads_gives_one():
    n = AffineDomain().symbol("n", "n", U32)
    once = applied(AffineDomain(), "__brev", FUNCTIONS["__brev"], [n])
    again = applied(AffineDomain(), "__brev", FUNCTIONS["__brev"], [n])
    assert once.is_uniform
    assert once.identity() == again.identity()


def test_an_unknown_that_differs_by_thread_is_unknown():
    lanes = AffineInt(np.arange(32), I32)
    n = AffineDomain().symbol("n", "n", I32)
    result = applied(AffineDomain(), "__popc", FUNCTIONS["__popc"], [AffineDomain().add(lanes, n)])
    assert isinstance(result, Unknown)


@pytest.mark.parametrize(("name", "high"), [("__mul64hi", -1), ("__umul64hi", 6)])
def test_the_high_half_of_a_product_of_single_numbers(name, high):
    """Operands that are equal in all threads have no lanes: arrays of no dimension."""
    function = FUNCTIONS[name]
    a, b = (AffineInt(v, t) for v, t in zip((-5, 7), function.operands, strict=True))

    result = applied(AffineDomain(), name, function, (a, b))

    assert isinstance(result, AffineInt)
    assert result.base == high
