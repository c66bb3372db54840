"""The solver against exhaustive search over all legal swizzles of bits below 16.

    python tests/benchmarks/bench_solver.py [SETS]

Takes about a third of a second per set, nearly all of it the plain Python search.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "layout"))

from test_solver import exhaustive, legal_swizzles, random_access_set

from smemlint.layout.solver import best_swizzle


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rng = random.Random(16)
    spent, worse, other, free, conflicted, searched = [], 0, 0, 0, 0, 0.0
    for _ in range(sets):
        patterns, element = random_access_set(rng)
        start = time.perf_counter()
        found, achieved = best_swizzle(patterns, element, bits=16)
        spent.append(time.perf_counter() - start)
        start = time.perf_counter()
        expected, smallest = exhaustive(patterns, element, 16)
        searched += time.perf_counter() - start
        worse += achieved > expected
        size = (found.bits, abs(found.shift), found.base)
        other += size != (smallest.bits, abs(smallest.shift), smallest.base)
        free += achieved.is_free
        conflicted += not smallest.is_identity
    print(f"{sets} access sets, {len(legal_swizzles(16))} legal swizzles each (as triples)")
    print(f"worse than exhaustive: {worse}; not the smallest: {other}")
    print(f"made free: {free}; needed a swizzle: {conflicted}")
    print(
        f"solver: median {statistics.median(spent) * 1e3:.2f} ms, worst {max(spent) * 1e3:.2f} ms; "
        f"exhaustive search in plain Python: {searched / sets * 1e3:.0f} ms a set"
    )


if __name__ == "__main__":
    main()
