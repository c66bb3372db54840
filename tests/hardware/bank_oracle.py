"""The bank model in sets and loops, straight from the measured rules: slow and obvious."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def degree(addresses: Sequence[int], lanes: Iterable[int], width: int) -> int:
    """Most distinct words in one bank."""
    words = {
        (addresses[lane] + byte) // 4 for lane in lanes for byte in range(0, width, min(width, 4))
    }
    return max(Counter(word % 32 for word in words).values(), default=0)


def equal_lanes(addresses: Sequence[int], active: Sequence[bool], bits: int) -> bool:
    return all(
        addresses[lane] == addresses[lane ^ bits] or not (active[lane] and active[lane ^ bits])
        for lane in range(32)
    )


def pairs_up(addresses: Sequence[int], active: Sequence[bool], width: int) -> bool:
    """Whether lanes pair up; thanks to lanes that are off only if no halved pass has a conflict."""
    first, second, third = (equal_lanes(addresses, active, bits) for bits in (1, 2, 3))
    if not (first and second) or third:
        return first or second
    half = 256 // width
    return all(
        degree(addresses, [x for x in range(at, at + half) if active[x]], width) <= 1
        for at in range(0, 32, half)
    )


def cost(
    addresses: Sequence[int],
    kind: str,
    width: int,
    active: Sequence[bool] | None = None,
    matrices: int = 4,
    operation: str = "add.u32",
) -> tuple[int, int]:
    """Wavefronts and ideal wavefronts of one warp instruction."""
    taking_part = list(active) if active is not None else [True] * 32
    if kind in ("ldmatrix", "stmatrix"):
        taking_part = [lane < 8 * matrices for lane in range(32)]
        size = 8
    elif kind == "atomic" and operation == "add.u32":
        lanes = [lane for lane in range(32) if taking_part[lane]]
        per_bank = Counter(addresses[lane] // 4 % 32 for lane in lanes)
        return max(per_bank.values(), default=0), int(bool(lanes))
    else:
        size = {8: 16, 16: 8}.get(width, 32)
        if kind == "load" and width > 4 and pairs_up(addresses, taking_part, width):
            size *= 2
    groups = [
        [lane for lane in range(start, start + size) if taking_part[lane]]
        for start in range(0, 32, size)
    ]
    return (
        sum(degree(addresses, group, width) for group in groups if group),
        sum(1 for group in groups if group),
    )
