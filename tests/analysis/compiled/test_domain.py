"""The domain against numbers: every concrete execution lies within the abstract one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from smemlint.analysis.compiled import arithmetic, bits, predicates
from smemlint.analysis.compiled.joins import join_uniform, widen
from smemlint.analysis.compiled.values import Value, alignment, possible_bits, signed, uniform, wrap

WARPS = 3
SHAPE = (WARPS, 32)
LANES = np.arange(WARPS * 32, dtype=np.int64).reshape(SHAPE)


@dataclass(frozen=True)
class Pair:
    """An abstract value and one concrete execution of it: unsigned 32-bit numbers by lane."""

    value: Value
    lanes: NDArray[np.int64]


def check(pair: Pair, width: int = 32) -> None:
    """Asserts that the numbers are among those that the value stands for."""
    value = pair.value
    known = np.broadcast_to(np.asarray(value.known), SHAPE)
    modulus = min(value.bits, width) if value.terms else width
    apart = (pair.lanes - np.broadcast_to(value.base, SHAPE)) & ((1 << modulus) - 1)
    for row, lanes in zip(apart, known, strict=True):
        found = set(row[lanes].tolist())
        if not found:
            continue
        assert len(found) == 1, "lanes of a warp move apart"
        (unknown,) = found
        if not value.terms:
            assert unknown == 0
        else:
            assert unknown % (1 << min(alignment(value.terms), modulus)) == 0
            possible = possible_bits(value.terms)
            assert possible < 0 or not unknown & ~possible


def concrete(operation: str, p: NDArray[np.int64], q: NDArray[np.int64]) -> NDArray[np.int64]:
    """One operation on unsigned 32-bit numbers."""
    with np.errstate(over="ignore"):
        result = {
            "add": lambda: p + q,
            "sub": lambda: p - q,
            "mul": lambda: p * q,
            "and": lambda: p & q,
            "or": lambda: p | q,
            "xor": lambda: p ^ q,
            "shl": lambda: np.where(q >= 32, 0, p << np.minimum(q, 32)),
            "shr": lambda: np.where(q >= 32, 0, p >> np.minimum(q, 32)),
            "sar": lambda: np.asarray(signed(p, 32)) >> np.minimum(q, 31),
            "div": lambda: p // np.where(q == 0, 1, q),
            "rem": lambda: p % np.where(q == 0, 1, q),
            "min": lambda: np.minimum(p, q),
            "lt": lambda: (p < q).astype(np.int64),
            "eq": lambda: (p == q).astype(np.int64),
        }[operation]()
    return np.asarray(result) & 0xFFFFFFFF


def abstract(operation: str, x: Value, y: Value) -> Value:
    """The same on values."""
    match operation:
        case "add":
            return arithmetic.add(x, y)
        case "sub":
            return arithmetic.subtract(x, y)
        case "mul":
            return arithmetic.multiply(x, y)
        case "and" | "or" | "xor":
            return bits.bitwise(operation, x, y)  # type: ignore[arg-type]
        case "shl":
            return arithmetic.shift_left(x, y)
        case "shr":
            return arithmetic.shift_right(x, y)
        case "sar":
            return arithmetic.shift_right(x, y, 32, True)
        case "div":
            return arithmetic.divide(x, y, 32, is_signed=False)
        case "rem":
            return arithmetic.remainder(x, y, 32, is_signed=False)
        case "min":
            return arithmetic.minimum(x, y, 32, is_signed=False)
        case _:
            return predicates.compare(operation, x, y, 32, is_signed=False)


OPERATIONS = [
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shl",
    "shr",
    "sar",
    "div",
    "rem",
    "min",
    "lt",
    "eq",
]
constants = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 96, 127, 0xFFFFFFF0])


@st.composite
def leaves(draw: st.DrawFn) -> Pair:
    kind = draw(st.sampled_from(["lane", "constant", "constant", "unknown", "masked"]))
    if kind == "lane":
        return Pair(Value(LANES), LANES)
    if kind == "constant":
        number = draw(constants)
        return Pair(Value(number), np.full(SHAPE, number))
    mask = 0xFFFFFFFF if kind == "unknown" else draw(st.sampled_from([1, 3, 7, 12]))
    rows = [draw(st.integers(0, 0xFFFFFFFF)) & mask for _ in range(WARPS)]
    lanes = np.broadcast_to(np.array(rows, dtype=np.int64)[:, None], SHAPE)
    value = uniform(mask=-1 if kind == "unknown" else mask)
    return Pair(Value(0, value.terms, 32 if kind == "unknown" else 64), lanes)


@st.composite
def pairs(draw: st.DrawFn, depth: int = 4) -> Pair:
    if depth == 0 or (draw(st.booleans()) and depth < 3):
        return draw(leaves())
    operation = draw(st.sampled_from(OPERATIONS))
    x, y = draw(pairs(depth=depth - 1)), draw(pairs(depth=depth - 1))
    result = Pair(abstract(operation, x.value, y.value), concrete(operation, x.lanes, y.lanes))
    check(result)
    return result


@pytest.mark.slow
@settings(max_examples=300)
@given(pairs())
def test_operations_stand_for_every_execution(pair: Pair) -> None:
    check(pair)


@settings(max_examples=150)
@given(pairs(depth=2), pairs(depth=2), st.lists(st.booleans(), min_size=WARPS, max_size=WARPS))
def test_a_join_of_warps_holds_both(x: Pair, y: Pair, way: list[bool]) -> None:
    lanes = np.where(np.array(way)[:, None], x.lanes, y.lanes)
    check(Pair(join_uniform(x.value, y.value), lanes))
    check(Pair(widen(x.value, y.value, np.ones(SHAPE, bool), 32), lanes))


@settings(max_examples=150)
@given(pairs(depth=2), pairs(depth=2), pairs(depth=2), st.integers(0, 255))
def test_every_table_of_three_operands(x: Pair, y: Pair, z: Pair, table: int) -> None:
    lanes = np.zeros(SHAPE, np.int64)
    for k in range(8):
        if table >> k & 1:
            p, q, r = x.lanes, y.lanes, z.lanes
            lanes = lanes | (p if k & 4 else ~p) & (q if k & 2 else ~q) & (r if k & 1 else ~r)
    check(Pair(bits.logic3(x.value, y.value, z.value, table), lanes & 0xFFFFFFFF))


@settings(max_examples=150)
@given(pairs(depth=2), st.integers(0, 31), st.integers(0, 32), st.booleans())
def test_bit_fields(x: Pair, start: int, count: int, is_signed: bool) -> None:
    found = bits.bit_field(x.value, Value(start), Value(count), 32, is_signed=is_signed)
    length = min(count, 32 - start)
    lanes = x.lanes >> start & ((1 << length) - 1)
    if is_signed and length:
        lanes = np.asarray(signed(lanes, length)) & 0xFFFFFFFF
    check(Pair(found, lanes))


@pytest.mark.parametrize("start", [0, 96])
def test_a_stage_of_a_ring_buffer_moves_all_lanes_alike(start: int) -> None:
    stage = uniform("stage", mask=3)
    offset = arithmetic.add(arithmetic.multiply(stage, Value(4096)), Value(LANES * 16 + start))
    swizzled = bits.bitwise("xor", offset, Value(wrap(LANES % 8 * 16, 32)))
    assert alignment(swizzled.terms) == 12
    expected = (LANES * 16 + start) ^ (LANES % 8 * 16)
    assert (np.broadcast_to(swizzled.base, SHAPE) == expected).all()
    assert swizzled.terms == offset.terms


def test_a_row_times_an_unknown_pitch_is_not_known() -> None:
    result = arithmetic.multiply(Value(LANES), uniform("pitch"))
    assert result.is_top
