"""How many iterations of a loop the compiler puts into one basic block.

Measured with nvcc 13.0.88 (-O3, sm_90) on loops of our own; the cost of an iteration counts loads,
stores, floating-point operations, and integer operations on what changes from one iteration to the
next, those of the loop's head among them.
"""

from __future__ import annotations

import re

_FULL = 405
"""A loop of n iterations of size c is fully unrolled when n * c + 2 is not above this."""
DIVISION = 4
"""What a division costs, of integers and of floating-point numbers, and a remainder; others: 1.

So that `for (i < n) v = v / a + b;`, with 6 in all, is fully unrolled up to 67 (of the primes),
`v * a + b` up to 131 and `v ^= v << 13; v ^= v >> 17; v ^= v << 5;` up to 58.
"""
_PARTIAL = 200
"""Iterations of a longer loop are put together up to this size."""
_OF_RANGE = 6
"""What Numba's `range` adds to the size of an iteration."""
_OF_EIGHTS = 455
"""What takes the place of _FULL for a `range` of eights.

`for k in range(n): m += s[t, k]` is fully unrolled up to n = 40, in 48, 56 and 64, not in 44 and
60, `m += s[t, k] * b[k, t]` up to 28, in 32 and, as the sum is made, in 36, not in 30, 31 and 33;
twice as much in 24, three times in 16 (numba-cuda 0.30.4, NVVM 13.5.37, sm_90).
"""
_PRAGMA = 16384
"""The same under `#pragma unroll` (LLVM's limit on the size of what it asks for)."""
_SLOT = 4
"""Elements that one instruction takes at the most."""
_PAIR = 2
_OF_PTXAS = 150
"""Size of an iteration up to which ptxas may unroll what LLVM left a loop.

Of `for (k < 8) { a[i] = A[(r * M + i) * 8 + k]; b[j] = B[k * 16 * N + c * N + j]; ..}` with a sum
for each i and j, the loads of A are LDS.128 for M, N = 4, 8; 5, 8; 8, 5 (size 136) and words for
6, 8; 8, 6 (151) to 8, 8. Of 16 iterations, those of 4, 8 are words, too.
"""
_UNSETTLED = 600
"""Size of an iteration above which no two of them share a block, however it was overrated."""
RUN_TIME = 4
"""Iterations put together where the trip count is known only at run time."""
MOST_OF_A_TRIANGLE = 4
"""Iterations of a loop that are unrolled where the trip count of an inner loop hangs on them.

`for (i = 1; i < n; i++) for (j = i; j > 0; j--)` is fully unrolled up to n = 5, whatever the body
costs, and stays a loop from n = 6 on; its inner loop is one of a run-time trip count. With
`j >>= 1`, which nothing can count at run time, both are unrolled (nine times in cuda-samples).
Cheap bodies are up to n = 8, which is open.
"""
MOST_OF_REGISTERS = 8
"""The same where an array of the thread's own is indexed, by whichever counter (nvcc 13.5.37).

Of 13 triangles `r[i] += s[8 * t + j]`, `r[i] -= r[j] * s[8 * t + j]`, `r[j] += s[8 * t + i]` over j
from 0 to i or to n - i, or from i + 1 on, all are fully unrolled up to n = 8, 12 up to 10.
"""
_COSTS_OF_FLOAT = {
    11: "exp exp10",
    12: "cos sin tan",
    15: "cbrt tanh",
    17: "cosh",
    20: "atan hypot",
    23: "acos asin erf",
    28: "cospi expm1 log log10 log2 sinh sinpi",
    35: "log1p",
    45: "pow",
    52: "erfc",
    75: "normcdf",
}
_COSTS_OF_DOUBLE = {
    35: "atan",
    45: "exp exp2",
    52: "cbrt erf tanh",
    62: "cos sin",
    75: "log log10 log2",
}
"""What functions add to the cost of an iteration.

So that `for (i < n) a += f(s[33 * t + i]);` is fully unrolled up to the n that nvcc does: 24 for
expf, 12 for logf, 7 for erfcf, 8 and 5 for exp and log of double. Of powf it differs.
"""
_COST_OF = {
    (size, name): cost
    for size, costs in ((4, _COSTS_OF_FLOAT), (8, _COSTS_OF_DOUBLE))
    for cost, names in costs.items()
    for name in names.split()
}
_MOST_DIGITS = 9
"""Of a factor; loops do not run as often as longer ones say."""


_ASKED = re.compile(r"\s*(?:unroll|nounroll)\s*\(?\s*(\w*)")


def cost_of_call(name: str, size: int) -> int:
    """Returns what a function costs that gives so many bytes, `log` or `logf`; 1 if it is cheap."""
    return _COST_OF.get((size, name)) or _COST_OF.get((size, name.removesuffix("f")), 1)


def _size(cost: int, trips: int) -> int:
    """Returns the size of an iteration: of compare, step and branch, LLVM leaves out two."""
    return max(cost // trips - 1, 1)


def is_close(together: int, trips: int, cost: int) -> bool:
    """Returns whether LLVM may leave a loop of which we count that two iterations share a block.

    Its count is up to a third higher. Of register tiles of 8 x 4, 4 x 8 and 6 x 5 sums, 8 deep,
    ours are 81, 85 and 77, of 6 x 3 and 5 x 4 that are indexed in the sums 79 and 86, and the loop
    is left as it is; of 5 x 5 and 4 x 4, ours up to 71 and 73, two are put together (150 kernels,
    PTX of nvcc 13.5.37). Of four iterations the counts lead to the same in 150 kernels.
    """
    return together == _PAIR < trips and 4 * together * _size(cost, trips) > 3 * _PARTIAL


def is_left_by_ptxas(trips: int, cost: int) -> bool:
    """Returns whether ptxas unrolls no loop of so many iterations that cost so much together."""
    return _size(cost, max(trips, 1)) > _OF_PTXAS


def is_left_by_llvm(trips: int, cost: int) -> bool | None:
    """Returns whether LLVM leaves a loop as it is; None where our count of its costs may be off."""
    each = _size(cost, max(trips, 1))
    return True if each > _PARTIAL else None if 2 * each > _PARTIAL else False


def stays_a_loop(pragma: str) -> bool:
    """Returns whether a `#pragma` before a loop asks for no copies of its body."""
    asked = _ASKED.match(pragma)
    return pragma.strip().startswith("nounroll") or (asked is not None and asked[1] == "1")


def asks_for_all(pragma: str) -> bool:
    """Returns whether a `#pragma` before a loop asks for a copy of its body for each iteration."""
    asked = _ASKED.match(pragma)
    return asked is not None and not asked[1] and not pragma.strip().startswith("nounroll")


def unrolled(
    trips: int,
    cost: int,
    pragma: str,
    *,
    is_constant: bool,
    is_countable: bool = True,
    tests_indices: bool = False,
) -> int:
    """Returns how many iterations share a basic block, at least 1.

    Args:
        trips: how many iterations there are.
        cost: of all of them.
        pragma: text of the `#pragma` before the loop, e.g. `unroll 4`.
        is_constant: the compiler knows the trip count.
        is_countable: the compiler could compute it at run time, in front of the loop.
        tests_indices: see `ir.For`; iterations that share a block of a loop fuse nothing.
    """
    trips = max(trips, 1)
    if tests_indices:
        limit = _OF_EIGHTS if trips % (2 * _SLOT) == 0 else _FULL
        return trips if is_constant and _is_fully_unrolled(trips, cost, _OF_RANGE, limit) else 1
    asked = _ASKED.match(pragma)
    if pragma.strip().startswith("nounroll"):
        return 1
    each = _size(cost, trips)
    if asked is not None and asked[1].isdecimal():
        factor = int(asked[1]) if len(asked[1]) <= _MOST_DIGITS else trips
        return max(factor, 1 if not is_constant or factor else trips)
    if asked is not None and is_constant:
        return max(
            f for f in range(1, trips + 1) if trips % f == 0 and f * each <= max(_PRAGMA, each)
        )
    if is_constant and _is_fully_unrolled(trips, cost):
        return trips
    if not is_constant:
        factors = (RUN_TIME, RUN_TIME // 2) if is_countable else ()
        return next((f for f in factors if f * each <= _PARTIAL), 1)
    factor = 1
    while trips % (2 * factor) == 0 and 2 * factor * each <= _PARTIAL:
        factor *= 2
    return factor


def _is_fully_unrolled(trips: int, cost: int, more: int = 0, limit: int = _FULL) -> bool:
    """Returns whether a loop whose iterations are larger by `more` is within a limit."""
    return trips * (_size(cost, trips) + more) + 2 <= limit


def is_block_settled(trips: int, cost: int, pragma: str, *, tests_indices: bool = False) -> bool:
    """Returns whether slots are filled alike whatever the compiler's own count of costs is.

    Ours is up to four times nvcc's, and nvcc 13.0.88 has further thresholds: of loops of 48 to 120
    iterations `s[t * P + k] = g[k * ld + t]` is fully unrolled up to 120, `s[t * P + k] - m` under
    an `expf` in 49, 50, 51, 54, 55 and 63, by 8 in 48, 72 and 96, and by 24 and 20, in LDS.64, in
    52 and 60; 25 stores of a float2 are 1 and 6 times 4.

    Args:
        trips: how many iterations there are, a constant.
        cost: of all of them.
        pragma: text of the `#pragma` before the loop.
        tests_indices: see `ir.For`.
    """
    if tests_indices:
        limit = _OF_EIGHTS if trips % (2 * _SLOT) == 0 else 3 * _FULL // 4
        return _is_fully_unrolled(max(trips, 1), cost, _OF_RANGE, limit)
    each = _size(cost, max(trips, 1))
    if _ASKED.match(pragma) is not None or trips * each + 2 <= _PARTIAL or each > _UNSETTLED:
        return True
    return trips % (2 * _SLOT) == 0 and _SLOT * each <= _PARTIAL
