"""Random kernels: the padding against brute force in plain Python, and fixing twice against once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import partial

import pytest
from kernels import checked, kernel

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.fix.apply import repaired
from smemlint.sources.source import Source

THREADS = 64


@dataclass(frozen=True)
class Index:
    """`(a * t + b * (t / 8) + c) % extent` of the thread t."""

    a: int
    b: int
    c: int
    extent: int

    def __call__(self, t: int) -> int:
        return (self.a * t + self.b * (t // 8) + self.c) % self.extent

    def __str__(self) -> str:
        return f"({self.a} * t + {self.b} * (t / 8) + {self.c}) % {self.extent}"


@dataclass(frozen=True)
class Case:
    """Accesses `s[row][column]` of a float array, the first a store."""

    rows: int
    columns: int
    accesses: tuple[tuple[Index, Index], ...]

    @staticmethod
    def of(seed: int) -> Case:
        rng = random.Random(seed)
        rows, columns = rng.choice((16, 32, 64)), rng.choice((8, 16, 20, 32, 33, 48, 64))

        def access() -> tuple[Index, Index]:
            shapes = (
                ((0, 1), (1, 0)),  # along a row
                ((1, 0), (0, 0)),  # down a column
                ((1, 0), (0, 1)),
                ((2, 0), (0, 0)),
                ((0, 1), (rng.choice((2, 3, 4)), 0)),
            )
            (a, b), (c, d) = rng.choice(shapes)
            return Index(a, b, rng.randrange(4), rows), Index(c, d, rng.randrange(4), columns)

        return Case(rows, columns, tuple(access() for _ in range(rng.choice((1, 2, 2, 3)))))

    @property
    def text(self) -> str:
        (row, column), *loads = self.accesses
        body = f"int t = threadIdx.x; s[{row}][{column}] = n; __syncthreads(); float v = 0;"
        body += "".join(f"\n  v = v + s[{r}][{c}]; __syncthreads();" for r, c in loads)
        declaration = f"__shared__ volatile float s[{self.rows}][{self.columns}];"
        return kernel(declaration, f"{body} out[t] = v;", block=str(THREADS))

    def ways(self, pad: int) -> list[int]:
        """The worst conflict of each access when rows are `pad` longer, lane by lane."""
        return [max(warps) for warps in self.wavefronts(pad)]

    def wavefronts(self, pad: int) -> list[list[int]]:
        """Those of each access and warp."""
        pitch = self.columns + pad
        found = []
        for row, column in self.accesses:
            warps = [
                {row(t) * pitch + column(t) for t in range(w, w + 32)}
                for w in range(0, THREADS, 32)
            ]
            found.append([max(Counter(x % 32 for x in lanes).values()) for lanes in warps])
        return found

    def is_worth(self, pad: int) -> bool:
        """Whether the array grows by at most half the share of wavefronts that it saves."""
        before, after = (sum(map(sum, self.wavefronts(p))) for p in (0, pad))
        return 2 * pad * before <= (before - after) * self.columns


SEEDS = range(80)
SOME_SEEDS = [k if k < 30 else pytest.param(k, marks=pytest.mark.slow) for k in SEEDS]


def test_many_of_the_cases_can_be_repaired():
    cases = [Case.of(seed) for seed in SEEDS]
    conflicting = [c for c in cases if max(c.ways(0)) > 1]
    repairable = [c for c in conflicting if any(max(c.ways(pad)) == 1 for pad in range(1, 33))]
    assert (len(conflicting), len(repairable)) == (75, 21)


@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_the_padding_is_the_smallest_that_brute_force_finds(seed):
    case = Case.of(seed)
    plain = case.ways(0)
    found = [f for f in checked(case.text).findings if f.code == "SML101"]
    assert sorted(f.weight for f in found) == sorted(w for w in plain if w > 1), case
    free = [pad for pad in range(1, 33) if max(case.ways(pad)) == 1]
    if not found or not free:
        return
    expected = f"s[{case.rows}][{case.columns + free[0]}]"
    offered = {f.fix.title.split("`")[1] if f.fix else None for f in found}
    assert offered == {expected} if case.is_worth(free[0]) else expected not in offered, case


@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_fixing_twice_is_fixing_once(seed):
    case = Case.of(seed)
    look = partial(check, settings=Settings())
    first = repaired([Source("k.cu", case.text.encode())], look, with_unsafe=True)
    second = repaired([Source("k.cu", first.sources[0].text.encode())], look, with_unsafe=True)
    assert (second.after, second.fixed) == ({}, 0)
    before = [f.weight for f in checked(case.text).findings]
    after = [f.weight for f in first.result.findings]
    assert len(before) - len(after) >= first.fixed
    assert sum(after) <= sum(before)
