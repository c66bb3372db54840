"""Swizzles by definition, bit by bit, and the published worked examples."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemlint.layout.swizzle import Swizzle, exclusive_or


def bit_by_bit(x: int, b: int, m: int, s: int) -> int:
    """The definition: bit i of Z becomes its exclusive-or with bit i of Y."""
    bits = [x >> i & 1 for i in range(40)]
    for i in range(b):
        y, z = m + max(s, 0) + i, m - min(s, 0) + i
        bits[z] ^= x >> y & 1
    return sum(bit << i for i, bit in enumerate(bits))


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    b = draw(st.integers(0, 5))
    distance = draw(st.integers(b, 8))
    return Swizzle(b, draw(st.integers(0, 8)), distance * draw(st.sampled_from([1, -1])))


@given(swizzles(), st.integers(0, 1 << 24))
def test_the_definition(one: Swizzle, x: int) -> None:
    assert one(x) == bit_by_bit(x, one.bits, one.base, one.shift)
    assert one(one(x)) == x
    assert one(x + one.period) == one(x) + one.period
    assert x ^ one(x) | one.z_mask == one.z_mask


@given(swizzles())
def test_arrays_and_integers_agree(one: Swizzle) -> None:
    xs = np.arange(4096).reshape(64, 64)
    assert one(xs).shape == (64, 64)
    assert one(xs).ravel().tolist() == [one(x) for x in range(4096)]


def test_narrow_integers_and_sequences_do_not_overflow() -> None:
    one = Swizzle(3, 4, 3)
    assert one(np.arange(128, 256, dtype=np.uint8)).tolist() == [one(x) for x in range(128, 256)]
    assert one([128, 1023]).tolist() == [144, 911]  # type: ignore[call-overload]
    assert int(one(np.int32(1023))) == 911
    assert one(True) == 1
    with pytest.raises(TypeError, match="float64, not integers"):
        one(np.array([1.5]))


@pytest.mark.parametrize(
    ("m", "second_row"),
    [
        (0, [9, 8, 11, 10, 13, 12, 15, 14]),
        (1, [8, 9, 10, 11, 12, 13, 14, 15]),
        (2, [8, 9, 10, 11, 12, 13, 14, 15]),
        (3, [8, 9, 10, 11, 12, 13, 14, 15]),
    ],
)
def test_the_four_tables(m: int, second_row: list[int]) -> None:
    table = Swizzle(2, m, 3)(np.arange(64).reshape(8, 8))
    assert table.tolist() == [[bit_by_bit(8 * r + c, 2, m, 3) for c in range(8)] for r in range(8)]
    assert sorted(table.ravel().tolist()) == list(range(64))
    assert table[1].tolist() == second_row
    assert table[2, 0] == {0: 18, 1: 18, 2: 16, 3: 16}[m]
    assert table[4, 0] == {0: 32, 1: 36, 2: 36, 3: 32}[m]


@pytest.mark.parametrize(
    ("triple", "x", "image"),
    [
        ((2, 0, 3), 8, 9),
        ((2, 0, 3), 9, 8),
        ((3, 4, 3), 1023, 911),
        ((2, 4, 3), 511, 463),
        ((1, 4, 3), 255, 239),
        ((0, 4, 3), 12345, 12345),
        ((3, 0, -3), 7, 63),
    ],
)
def test_published_values(triple: tuple[int, int, int], x: int, image: int) -> None:
    assert Swizzle(*triple)(x) == image


def test_a_tile_of_64_halves_exchanges_chunks_by_row() -> None:
    one = Swizzle.named("128B")
    for row in range(8):
        for chunk in range(8):
            assert one(row * 128 + chunk * 16) == row * 128 + (chunk ^ row) * 16


@pytest.mark.parametrize(
    ("triple", "clause"),
    [
        ((-1, 0, 3), "BBits must not be negative"),
        ((1, -1, 3), "MBase must not be negative"),
        ((3, 0, 2), "|SShift| must be at least BBits, or the two fields overlap: 2 < 3"),
        ((0, 28, 4), "MBase + |SShift| must be at most 31"),
        ((3, 27, 3), "BBits + MBase + |SShift| must be at most 32: 33"),
    ],
)
def test_the_violated_clause_is_named(triple: tuple[int, int, int], clause: str) -> None:
    reason = Swizzle.why_invalid(*triple)
    assert reason is not None and clause in reason
    with pytest.raises(ValueError, match=re.escape(clause)):
        Swizzle(*triple)


def test_what_is_rejected_can_still_be_evaluated() -> None:
    assert exclusive_or(0b10100, 3, 0, 2) == 0b10001


def test_units() -> None:
    mode = Swizzle.named("128b")
    assert mode == Swizzle(3, 4, 3)
    assert [mode.in_elements(n) for n in (1, 2, 4)] == [
        Swizzle(3, 4, 3),
        Swizzle(3, 3, 3),
        Swizzle(3, 2, 3),
    ]
    assert Swizzle(3, 2, 3).in_bytes(4).mode == "128B"
    assert (mode.period, mode.group) == (1024, 16)
    assert [Swizzle.named(n).period for n in ("none", "32B", "64B")] == [1, 256, 512]
    with pytest.raises(ValueError, match="moves parts of elements of 4 bytes"):
        Swizzle(3, 1, 3).in_elements(4)
    with pytest.raises(ValueError, match="not a power of two"):
        mode.in_elements(3)
    with pytest.raises(ValueError, match="unknown swizzle mode '256B'"):
        Swizzle.named("256B")


def test_recasting_to_vectors_drops_bits() -> None:
    """fp32 to uint128: how many of 256 elements are then read from the wrong place."""
    wrong = {}
    for one in (Swizzle(3, 0, 3), Swizzle(3, 0, 5), Swizzle(2, 1, 3), Swizzle(3, 2, 3)):
        wide = one.upcast(4)
        x = np.arange(256)
        wrong[str(one)] = int((wide(x // 4) * 4 + x % 4 != one(x)).sum())
        assert one.loses_bits_when_upcast(4) == (wrong[str(one)] > 0)
    assert wrong == {
        "Swizzle<3,0,3>": 192,
        "Swizzle<3,0,5>": 192,
        "Swizzle<2,1,3>": 128,
        "Swizzle<3,2,3>": 0,
    }
    assert Swizzle(3, 0, 3).upcast(4) == Swizzle(1, 0, 3)


def test_validity_is_told_without_numpy() -> None:
    code = (
        "import sys; from smemlint.layout.swizzle import Swizzle; Swizzle.why_invalid(3, 0, 2);"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
