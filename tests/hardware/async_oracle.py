"""The cost of asynchronous copies in sets and loops, straight from the measured rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAPS = [frozenset((x, (sign * x + c) % 4) for x in range(4)) for sign in (1, -1) for c in range(4)]
"""How a wavefront may move the four sectors of a line to those of a row."""


def through_l1(
    to: Sequence[int],
    source: Sequence[int],
    width: int,
    active: Sequence[bool],
    empty: Sequence[bool],
) -> tuple[int, int]:
    """Wavefronts and ideal of one `.ca` copy."""
    size, spent = 128 // width, 0

    def meet(a: int, b: int) -> bool:
        if (to[a] - to[b]) % 128 == 0:
            return True
        return not (empty[a] or empty[b]) and (source[a] - source[b]) % 128 == 0

    for start in range(0, 32, size):
        lanes = [lane for lane in range(start, start + size) if active[lane]]
        spent += max((sum(meet(a, b) for b in lanes) for a in lanes), default=0)
    return spent, min(spent, -(-sum(active) * width // 128))


def past_l1(to: Sequence[int], source: Sequence[int], active: Sequence[bool]) -> tuple[int, int]:
    """Wavefronts and ideal of one `.cg` copy."""
    first: dict[int, int] = {}
    for lane in range(32):
        if active[lane]:
            first.setdefault(to[lane] // 16, lane)
    passes: Counter[tuple[int, int, int]] = Counter()
    moves: defaultdict[tuple[int, ...], defaultdict[tuple[int, int], set[tuple[int, int]]]]
    moves = defaultdict(lambda: defaultdict(set))
    for chunk, lane in sorted(first.items(), key=lambda item: -item[1]):
        read = source[lane] // 16
        again = read, chunk % 2, chunk // 8
        place = moves[read // 8, chunk // 8, passes[again]]
        passes[again] += 1
        place[read // 2 % 4, chunk // 2 % 4].add((read % 2, chunk % 2))
    spent = 0
    for sectors in moves.values():
        by_halves: defaultdict[frozenset[tuple[int, int]], set[tuple[int, int]]] = defaultdict(set)
        for sector, halves in sectors.items():
            is_copied_twice = len(halves) == 2 and len({read for read, _ in halves}) == 1
            for part in [{h} for h in halves] if is_copied_twice else [halves]:
                by_halves[frozenset(part)].add(sector)
        spent += sum(map(_fewest, by_halves.values()))
    return spent, min(spent, -(-len(first) * 16 // 128))


def _fewest(sectors: set[tuple[int, int]]) -> int:
    return next(
        count
        for count in range(1, 9)
        if any(sectors <= frozenset().union(*chosen) for chosen in combinations(MAPS, count))
    )
