"""The affine algebra against arithmetic on known numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.comparisons import compare
from smemlint.analysis.simt.domain.ctypes import I32, I64, U8, U32, U64
from smemlint.analysis.simt.domain.values import AffineInt, Symbol, Unknown, number

LANES = np.arange(32, dtype=np.int64)
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "<",
    "<=",
    "==",
    "!=",
    "min",
    "max",
)


def apply(algebra: AffineDomain, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
    if op in ("min", "max"):
        return algebra.extreme(op == "max", a, b)
    return algebra.operate(op, a, b)


def in_c(op: str, x: int, y: int) -> int:
    """What C computes, on numbers small enough not to overflow."""
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        case "%":
            return x - y * in_c("/", x, y)
        case "<<":
            return x << y
        case ">>":
            return x >> y
        case "&":
            return x & y
        case "|":
            return x | y
        case "^":
            return x ^ y
        case "<":
            return int(x < y)
        case "<=":
            return int(x <= y)
        case "==":
            return int(x == y)
        case "!=":
            return int(x != y)
        case "min":
            return min(x, y)
        case _:
            return max(x, y)


@settings(max_examples=600)
@given(
    op=st.sampled_from(OPERATORS),
    scale=st.integers(-3, 9),
    shift=st.integers(-40, 200),
    factor=st.sampled_from((0, 1, 2, 3, 4, 8, 12, 32, 64, 100)),
    lane_factor=st.sampled_from((0, 0, 0, 1, 4, 32)),
    multiple=st.sampled_from((1, 1, 4, 16)),
    nonnegative=st.booleans(),
    right=st.integers(1, 70),
    quotient=st.integers(-6, 40),
)
def test_a_decided_result_is_what_c_computes_for_every_value_of_the_unknown(
    op, scale, shift, factor, lane_factor, multiple, nonnegative, right, quotient
):
    if nonnegative:
        quotient = abs(quotient)
    if op in ("<<", ">>"):
        right %= 12
    unknown = Symbol("n", "n", multiple, nonnegative)
    coefficient = factor + lane_factor * LANES if lane_factor else factor
    a = AffineInt(scale * LANES + shift, I32, ((unknown, coefficient),))
    result = apply(AffineDomain(), op, a, number(right))
    if isinstance(result, Unknown):
        return
    n = multiple * quotient
    left = scale * LANES + shift + (factor + lane_factor * LANES) * n
    expected = [in_c(op, int(x), right) for x in left]
    total = np.broadcast_to(np.asarray(result.base), LANES.shape).astype(object)
    for symbol, c in result.terms:
        root, _, divisor = symbol.key.partition("/")
        if root != "n":
            return  # a fresh symbol stands for the whole result
        total = total + np.asarray(c).astype(object) * (n // int(divisor or 1))
    assert list(total) == expected


@settings(max_examples=300)
@given(
    op=st.sampled_from(OPERATORS),
    x=st.lists(st.integers(-1000, 1000), min_size=32, max_size=32),
    y=st.lists(st.integers(1, 20), min_size=32, max_size=32),
)
def test_known_lanes_compute_as_c_does(op, x, y):
    a = AffineInt(np.array(x, dtype=np.int64), I32)
    b = AffineInt(np.array(y, dtype=np.int64), I32)
    result = apply(AffineDomain(), op, a, b)
    assert isinstance(result, AffineInt)
    got = np.broadcast_to(np.asarray(result.base), (32,)).tolist()
    assert got == [in_c(op, p, q) for p, q in zip(x, y, strict=True)]


@settings(max_examples=200)
@given(
    op=st.sampled_from(("&", "|", "^")),
    shift=st.integers(-300, 300),
    mask=st.integers(1, 255),
    high=st.integers(-5, 5),
    residue=st.integers(0, 255),
)
def test_bits_of_a_sum_whose_other_unknown_has_none_of_them(op, shift, mask, high, residue):
    algebra = AffineDomain({"n": (256, residue)})
    n = algebra.symbol("n", "n", I32)
    base = AffineInt(LANES + shift, I32, ((Symbol("b", "b", 256), 1),))
    whole = algebra.add(base, n)
    result = algebra.bitwise(op, whole, number(mask))
    assert isinstance(result, AffineInt)
    total = np.broadcast_to(np.asarray(result.base), LANES.shape).copy()
    for symbol, c in result.terms:
        total += np.asarray(c) * (256 * high if symbol.key == "b" else 3)  # n is 3 * 256 + residue
    left = LANES + shift + 256 * high + 3 * 256 + residue
    assert list(total) == [in_c(op, int(x), mask) for x in left]


def test_a_split_symbol_takes_its_residue():
    algebra = AffineDomain({"n": (8, 5)})
    n = algebra.symbol("n", "n", U32)
    assert n.base == 5
    assert [(s.key, c) for s, c in n.terms] == [("n/8", 8)]
    rest = algebra.modulo(algebra.add(AffineInt(LANES, U32), n), number(8, U32))
    assert isinstance(rest, AffineInt)
    assert rest.base.tolist() == [(lane + 5) % 8 for lane in range(32)]


def test_an_undecided_remainder_names_the_split_that_decides_it():
    n = AffineDomain().symbol("n", "n", U32)
    rest = AffineDomain().modulo(AffineDomain().add(AffineInt(LANES, U32), n), number(32, U32))
    assert isinstance(rest, Unknown)
    assert rest.split is not None
    assert (rest.split[0].key, rest.split[1]) == ("n", 32)


@pytest.mark.parametrize(("value", "expected"), [(-1, 0xFFFFFFFF), (1 << 32, 0), (7, 7)])
def test_unsigned_results_wrap(value, expected):
    result = AffineDomain().add(number(value, U32), number(0, U32))
    assert result.base == expected


def test_conversion_to_a_narrow_type_keeps_its_bits():
    result = AffineDomain().convert(AffineInt(LANES * 16, I32), U8)
    assert isinstance(result, AffineInt)
    assert result.base.tolist() == [(16 * lane) & 255 for lane in range(32)]


def test_lanes_of_both_signs_masked_by_an_unknown_end():
    lanes, n = AffineInt(np.arange(-1, 31)), AffineInt(0, terms=((Symbol("n", "n"), 1),))
    masked = AffineDomain().bitwise("&", lanes, n)
    assert isinstance(masked, Unknown)
    assert masked.reason.code == "unknown-value"


@pytest.mark.parametrize("op", ["%", "/", "&", ">>"])
def test_residues_of_a_sum_of_unknowns_are_split_once(op):
    lanes = np.arange(32)
    terms = ((Symbol("m", "m", 1, True), 6), (Symbol("n", "n", 1, True), 10))
    total = AffineInt(lanes, U32, terms)
    run = {
        "%": lambda a: a.modulo(total, number(8)),
        "/": lambda a: a.divide(total, number(8)),
        "&": lambda a: a.bitwise("&", total, number(7)),
        ">>": lambda a: a.shift_right(total, number(3)),
    }[op]
    split = run(AffineDomain()).split
    assert split is not None and split[1] == 4  # 6 m + 10 n is any even number: 0, 2, 4, 6 mod 8
    for residue in range(4):
        result = run(AffineDomain({split[0].key: (4, residue)}))
        known = lanes + 2 * residue
        expected = known % 8 if op in "%&" else known // 8
        assert np.array_equal(result.base, expected)


def test_an_unknown_made_of_itself_a_hundred_times_stays_small():
    """The seeds of a Mersenne twister (`x ^= x >> 30` in a loop) once took 24 GB of key."""
    algebra, other = AffineDomain(), AffineDomain()
    x = y = algebra.symbol("seed", "seed", U32)
    z = algebra.symbol("entropy", "entropy", U32)
    for _ in range(100):
        x, y, z = (
            domain.bitwise("^", v, domain.shift_right(v, number(30)))
            for domain, v in ((algebra, x), (other, y), (algebra, z))
        )
    ((symbol, _),), ((twin, _),), ((stranger, _),) = x.terms, y.terms, z.terms
    assert symbol == twin and symbol.key != stranger.key
    assert max(len(symbol.key), len(symbol.name)) <= 202


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("types", [(I32, U32), (U32, I32), (I64, U32), (I32, U64), (U8, I32)])
@pytest.mark.parametrize("numbers", [(-1, 8), (8, -1), (-16, -3), (3, 3), (-5, -5)])
def test_numbers_are_compared_as_their_common_type(op, types, numbers):
    """`-1 < 8u` does not hold: three lanes took each bank of `if (t - 16 < 8u) s[t * 4]`."""
    a, b = (AffineInt(n % 2**t.bits if not t.signed and t.bits < 64 else n, t) for n, t in zip(numbers, types, strict=True))  # fmt: skip
    bits = max(t.bits for t in (*types, I32))
    is_signed = all(t.signed for t in types if t.bits == bits)
    left, right = (v.base if is_signed else v.base % 2**bits for v in (a, b))
    expected = int(eval(f"{left} {op} {right}"))
    lanes = AffineInt(np.full(32, a.base), a.type)
    for each in (a, lanes):
        result = compare(op, each, b)
        assert isinstance(result, AffineInt) and result.constant == expected
