"""How fast the bank model prices patterns: `python tests/benchmarks/bench_banks.py`.

Prints microseconds per call and million patterns per second by kind and batch size, the best of
five rounds of random aligned patterns over 64 KiB.
"""

from __future__ import annotations

import time

import numpy as np

from smemlint.hardware.banks import wavefronts

CASES: tuple[tuple[str, int], ...] = (
    *((kind, width) for kind in ("load", "store") for width in (1, 2, 4, 8, 16)),
    ("ldmatrix", 16),
    ("stmatrix", 16),
    ("atomic", 4),
)
BATCHES = (1, 10, 100, 10_000, 1_000_000)


def seconds(kind: str, width: int, batch: int) -> float:
    """Time of one call with a batch of patterns."""
    addresses = np.random.default_rng(0).integers(0, 65536 // width, (batch, 32)) * width
    calls = max(1, 2000 // batch)
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            wavefronts(addresses, kind=kind, width=width)
        rounds.append((time.perf_counter() - start) / calls)
    return min(rounds)


def main() -> None:
    print(f"{'kind':>12}" + "".join(f"{batch:>22,}" for batch in BATCHES))
    for kind, width in CASES:
        cells = []
        for batch in BATCHES:
            spent = seconds(kind, width, batch)
            cells.append(f"{spent * 1e6:>12,.0f} us {batch / spent / 1e6:5.2f} M")
        print(f"{kind:>9} {width:>2}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    main()
