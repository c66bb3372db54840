"""The solver against exhaustive search, and the published "best swizzles" for eight banks."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from smemlint.layout.solver import (
    Pattern,
    Score,
    best_padding,
    best_swizzle,
    score,
    solve,
    stays_within,
)
from smemlint.layout.swizzle import Swizzle, exclusive_or


def block(
    pitch: int, rows: int, columns: int, *, tall: int, wide: int, every: int = 1
) -> np.ndarray:
    """Offsets of all aligned blocks of a row-major tile, one block a row, of `pitch` elements."""
    step = tall * every
    found = []
    for top, left in itertools.product(range(0, rows, step), range(0, columns, wide)):
        for phase in range(every):
            if top + phase + (tall - 1) * every < rows and left + wide <= columns:
                found.append(
                    [
                        (top + phase + i * every) * pitch + left + j
                        for i in range(tall)
                        for j in range(wide)
                    ]
                )
    return np.array(found)


def ways(offsets: np.ndarray, banks: int) -> int:
    """The worst conflict degree, with one-word elements, in plain Python."""
    return max(max(Counter(w % banks for w in set(row)).values()) for row in offsets.tolist())


@dataclass(frozen=True)
class Example:
    shape: tuple[int, int]
    read: tuple[int, int]
    plain: int
    freed_by: tuple[int, int, int] | None
    every: int = 1

    @property
    def offsets(self) -> np.ndarray:
        return block(
            self.shape[1], *self.shape, tall=self.read[0], wide=self.read[1], every=self.every
        )


EXAMPLES = {
    "8x8 column": Example((8, 8), (8, 1), 8, (3, 0, 3)),
    "8x32 column": Example((8, 32), (8, 1), 8, (3, 0, 5)),
    "8x4 column": Example((8, 4), (8, 1), 4, (2, 0, 3)),
    "8x8 block 4x2": Example((8, 8), (4, 2), 4, (2, 1, 2)),
    "8x8 block 4x2, every other row": Example((8, 8), (4, 2), 4, (2, 1, 3), every=2),
    "8x24 column": Example((8, 24), (8, 1), 8, (3, 0, 3)),
    "8x9 block 4x2": Example((8, 9), (4, 2), 2, None),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_published_examples_with_eight_banks(name: str) -> None:
    example = EXAMPLES[name]
    row = np.arange(example.shape[0] * example.shape[1] // 8 * 8).reshape(-1, 8)
    patterns = [Pattern(example.offsets, 4), Pattern(row, 4)]
    assert ways(example.offsets, 8) == example.plain
    assert score(patterns[:1], 4, Swizzle(0, 0, 0), banks=8).ways == example.plain
    found, achieved = best_swizzle(patterns[:1], 4, banks=8)
    assert ways(found(example.offsets), 8) == achieved.ways
    if example.freed_by is None:
        assert achieved.ways == 2
        padding, padded = best_padding(patterns[:1], 4, example.shape[1], banks=8)
        assert padded.is_free
        assert padding == 1
        return
    published = Swizzle(*example.freed_by)
    assert ways(published(example.offsets), 8) == 1
    assert score(patterns, 4, published, banks=8).is_free, "rows stay free too"
    assert achieved.is_free
    assert (found.bits, abs(found.shift)) <= (published.bits, abs(published.shift))


def test_the_swizzle_that_cute_rejects_frees_blocks_too() -> None:
    for tall, wide in ((8, 1), (4, 2), (2, 4)):
        read = block(4, 8, 4, tall=tall, wide=wide)
        assert ways(exclusive_or(read, 3, 0, 2), 8) == 1, (tall, wide)
    assert Swizzle.why_invalid(3, 0, 2) is not None


def test_in_coordinates_a_row_of_24_is_free_too() -> None:
    columns = [
        [row * 24 + (column // 8 * 8) + (row ^ column % 8) for row in range(8)]
        for column in range(24)
    ]
    assert ways(np.array(columns), 8) == 1


def test_a_transposed_tile_of_floats() -> None:
    tile = np.arange(1024).reshape(32, 32)
    found = solve([Pattern(tile, 4, "store"), Pattern(tile.T, 4, "load")], 4, pitch=32, extent=1024)
    assert found.plain == Score(32.0, 32 + 32 * 32)
    assert found.swizzle == Swizzle(5, 0, 5)
    assert found.swizzled == Score(1.0, 64)
    assert (found.padding, found.padded) == (1, Score(1.0, 64))


def test_padding_keeps_vectors_aligned() -> None:
    tile = np.arange(1024).reshape(32, 32)
    vectors = np.arange(0, 1024, 4).reshape(8, 32)
    found = solve([Pattern(tile.T, 4), Pattern(vectors, 16, "store")], 4, pitch=32, extent=1024)
    assert found.padding == 4
    assert found.padded is not None and found.padded.ways == 4
    assert found.swizzle.group >= 4


def test_ldmatrix_of_halves_gets_the_hopper_mode() -> None:
    rows = np.arange(32)[:, None] * 64 + np.arange(0, 64, 8)
    found = solve([Pattern(rows.T, 16, "ldmatrix")], 2, pitch=64, extent=2048)
    assert found.plain.ways == 8
    assert found.swizzle == Swizzle(3, 3, 3)
    assert found.swizzle.in_bytes(2).mode == "128B"
    assert (found.swizzled.ways, found.padding) == (1, 8)


def test_a_swizzle_never_leaves_the_array() -> None:
    assert stays_within(Swizzle(3, 0, 3), 64)
    assert not stays_within(Swizzle(3, 0, 3), 45)
    assert not stays_within(Swizzle(3, 0, -3), 8)
    for triple, extent in itertools.product(((2, 0, 3), (2, 1, -2), (1, 3, 4)), range(1, 150)):
        one = Swizzle(*triple)
        assert stays_within(one, extent) == (max(map(one, range(extent))) < extent)
    assert stays_within(Swizzle(3, 0, 3), 1 << 70)
    assert not stays_within(Swizzle(3, 0, 3), (1 << 70) + 45)


def legal_swizzles(bits: int) -> list[Swizzle]:
    return [
        Swizzle(b, m, s)
        for b in range(bits + 1)
        for m in range(bits + 1)
        for s in range(-bits, bits + 1)
        if Swizzle.why_invalid(b, m, s) is None and b + m + abs(s) <= bits
    ]


def degree(units: list[int], banks: int) -> int:
    return max(Counter(u % banks for u in set(units)).values())


def exhaustive(patterns: list[Pattern], element: int, bits: int) -> tuple[Score, Swizzle]:
    """Every legal swizzle in turn, priced lane by lane by rules written down again here."""
    best: tuple[Score, tuple[int, int, int], Swizzle] | None = None
    for one in legal_swizzles(bits):
        if one.bits and any((1 << one.base) * element < p.width for p in patterns):
            continue
        worst, total = 0.0, 0
        for p in patterns:
            addresses = [one(int(x)) * element for x in p.lanes()[0][0]]
            unit = max(p.width, 4)
            size = min(32, 128 // unit)
            if p.kind == "load" and unit > 4:
                for bit in (1, 2):
                    if all(addresses[i] == addresses[i ^ bit] for i in range(32)):
                        size = 2 * 128 // unit
            groups = [addresses[at : at + size] for at in range(0, 32, size)]
            spent = sum(degree([a // unit for a in group], 128 // unit) for group in groups)
            worst, total = max(worst, spent / len(groups)), total + spent
        key = (Score(worst, total), (one.bits, abs(one.shift), one.base), one)
        if best is None or key[:2] < best[:2]:
            best = key
    assert best is not None
    return best[0], best[2]


def random_access_set(rng: random.Random) -> tuple[list[Pattern], int]:
    """2 to 4 patterns of one array, elements of 8 to 64 bits, vectors to 16 bytes."""
    element = rng.choice([1, 2, 4, 8])
    pitch = rng.choice([8, 16, 24, 32, 64, 128])
    patterns = []
    for _ in range(rng.randint(2, 4)):
        vector = rng.choice([v for v in (1, 2, 4, 8, 16) if v * element <= 16])
        kind = rng.choice(["load", "store"])
        tall = rng.choice([1, 2, 4, 8, 16, 32])
        step = rng.choice([1, 1, 2, 3])
        lanes = [(i % tall * step, i // tall) for i in range(32)]
        if rng.random() < 0.3:
            lanes = [(i // tall, i % tall) for i in range(32)]
        if rng.random() < 0.1:
            lanes = [(rng.randrange(32), rng.randrange(8)) for _ in range(32)]
        offsets = [[(row * pitch // vector + column) * vector for row, column in lanes]]
        patterns.append(Pattern(offsets, vector * element, kind))
    return patterns, element


@pytest.mark.parametrize("chunk", range(4))
def test_never_worse_than_exhaustive_search(chunk: int) -> None:
    rng = random.Random(chunk)
    for _ in range(15):
        patterns, element = random_access_set(rng)
        expected, smallest = exhaustive(patterns, element, 10)
        found, achieved = best_swizzle(patterns, element, bits=10)
        assert achieved == expected
        assert (found.bits, abs(found.shift), found.base) == (
            smallest.bits,
            abs(smallest.shift),
            smallest.base,
        )


@pytest.mark.slow
def test_padding_is_never_worse_than_any_other() -> None:
    rng = random.Random(99)
    for _ in range(30):
        patterns, element = random_access_set(rng)
        pitch = 32
        pad, achieved = best_padding(patterns, element, pitch)
        for other in range(2 * 128 // element):
            moved = [
                Pattern(p.lanes()[0] + p.lanes()[0] // pitch * other, p.width, p.kind)
                for p in patterns
            ]
            try:
                reached = score(moved, element, Swizzle(0, 0, 0))
            except ValueError:
                continue
            assert achieved <= reached
            assert reached != achieved or other >= pad


def test_nothing_to_repair_is_said() -> None:
    with pytest.raises(ValueError, match="no access"):
        solve([], 4)
    with pytest.raises(ValueError, match="8 banks serve single elements"):
        solve([Pattern([range(8)], 8)], 8, banks=8)
    with pytest.raises(ValueError, match="elements of 12 bytes"):
        solve([Pattern([range(8)], 4)], 12)
