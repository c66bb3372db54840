"""Which lanes meet in the most crowded bank, and how their addresses make them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from smemlint.facts import AccessKind
from smemlint.hardware.arch import BANKS, WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.facts import Access, KernelFacts, WarpPattern
    from smemlint.lint.passes import Pass

_MOST_LANES = 4
"""Lanes that are listed one by one."""
_FEWEST_DOUBLINGS = 2
"""Of strides from iteration to iteration: a loop that doubles them on purpose."""


def explanation(access: Access, pattern: WarpPattern) -> str:
    """Returns the lanes that want different words of one bank, and how far apart they are.

    Empty where the passes of the instruction are not known.
    """
    from smemlint.lint.passes import passes

    split = passes(access, pattern)
    if sum(part.turns for part in split) != pattern.wavefronts:
        return ""
    crowded = max(split, key=lambda part: part.turns)
    bank = crowded.words.index(crowded.turns)
    lanes = _lanes_of_words(pattern, crowded, bank)
    if len(lanes) < 2:
        return ""
    addresses = [int(pattern.addresses[lane]) for lane in lanes]
    apart = {after - before for before, after in pairwise(addresses)}
    if len(apart) == 1:
        meet = f"all {len(lanes)} meet" if len(lanes) > 2 else "they meet"
        return f"{_listed(lanes)} are {abs(apart.pop())} bytes apart, so {meet} in bank {bank}"
    return f"{_listed(lanes)} want different words of bank {bank}"


def _lanes_of_words(pattern: WarpPattern, part: Pass, bank: int) -> list[int]:
    """Returns the first lane of each word of a bank."""
    found: dict[int, int] = {}
    for lane, banks in part.banks:
        if bank in banks:
            first = int(pattern.addresses[lane]) // WORD
            found.setdefault(first + (bank - first) % BANKS, lane)
    return list(found.values())


def _listed(lanes: Sequence[int]) -> str:
    """Returns `lanes 0 to 31`, `lanes 0, 4, ..., 28` or `lanes 0, 3, 5 and 8 others`."""
    steps = {after - before for before, after in pairwise(lanes)}
    if len(steps) == 1 and len(lanes) > 2:
        if steps == {1}:
            return f"lanes {lanes[0]} to {lanes[-1]}"
        if len(lanes) > _MOST_LANES:
            return f"lanes {lanes[0]}, {lanes[1]}, ..., {lanes[-1]}"
    if len(lanes) > _MOST_LANES:
        return f"lanes {', '.join(map(str, lanes[:3]))} and {len(lanes) - 3} others"
    return f"lanes {', '.join(map(str, lanes[:-1]))} and {lanes[-1]}"


def reduction_help(access: Access, kernel: KernelFacts) -> str:
    """Returns what to write where lanes move apart from iteration to iteration of a reduction.

    The first lane of a reduction always writes the same element. That of a scan's tree moves with
    the stride, and its elements are all asked for later: the advice on reductions breaks it. Other
    pairs of elements give another Haar transform as well: what else uses them is not known here.
    """
    doubles = _doubles_its_stride(access)
    if not doubles or access.width_bytes > 2 * WORD:
        return ""
    writers = [
        other
        for other in kernel.accesses
        if other.array == access.array
        and other.kind is AccessKind.STORE
        and _doubles_its_stride(other)
    ]
    if not writers or any(_first_lane_moves(writer) for writer in writers):
        return ""
    return (
        "where only the total is asked for, let neighbouring threads take neighbouring elements, "
        "and halve their number instead of "
        "doubling the stride: `for (k = n / 2; k > 0; k /= 2) if (t < k) s[t] += s[t + k]`"
    )


def _doubles_its_stride(access: Access) -> bool:
    strides = {stride for p in access.patterns if (stride := _stride(p)) is not None}
    steps = sorted(stride // WORD for stride in strides if stride % WORD == 0)
    return sum(2 * step in steps for step in steps) >= _FEWEST_DOUBLINGS


def _first_lane_moves(access: Access) -> bool:
    """Returns whether the first lane of the block goes to several places."""
    first = [p for p in access.patterns if p.warp == 0 and p.active[0]]
    return len({int(p.addresses[0]) for p in first}) > 1


def _stride(pattern: WarpPattern) -> int | None:
    """Returns the bytes between successive active lanes, where they are equal."""
    addresses = pattern.addresses[pattern.active].tolist()
    steps = {after - before for before, after in pairwise(addresses)}
    return abs(steps.pop()) if len(steps) == 1 else None
