"""What an access costs a kernel: its share of the wavefronts that a block takes.

A loop whose number of iterations is not known counts as `OPEN_LOOP_TRIPS` of them: what is inside
outweighs what a block does once, and neither is left out.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

from smemlint.finding import MINOR_SHARE, Cost
from smemlint.hardware.arch import LANES
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from smemlint.facts import Access, KernelFacts

OPEN_LOOP_TRIPS = 16
"""Iterations that a loop of unknown length counts as."""


@dataclass(frozen=True, slots=True)
class Total:
    """Wavefronts of shared memory that a block takes, as far as they are known.

    Attributes:
        wavefronts: that it takes.
        ideal: that it would take without bank conflicts.
        is_complete: every access of the kernel is decided.
    """

    wavefronts: float
    ideal: float
    is_complete: bool

    @property
    def efficiency(self) -> float:
        """Ideal wavefronts for each that is taken, at most 1."""
        return min(self.ideal / self.wavefronts, 1.0) if self.wavefronts else 1.0


def executions(access: Access) -> int:
    """Returns how many warp instructions of the access count for a block."""
    return access.instructions * (OPEN_LOOP_TRIPS if access.repeats else 1)


def wavefronts(access: Access) -> tuple[float, float]:
    """Returns the wavefronts that a block takes at an access, and their ideal; 0 where unknown.

    Where the compiler may make other instructions of it, they are those of the cheapest.
    """
    if access.bounds is not None:
        times = OPEN_LOOP_TRIPS if access.repeats else 1
        return access.bounds.wavefronts * times, access.bounds.ideal * times
    if access.wavefronts is None or access.ideal is None or not access.certainty.is_decided:
        return 0.0, 0.0
    times = executions(access)
    spent = access.wavefronts.mean * times
    return spent, min(access.ideal.mean * times, spent)


@lru_cache(maxsize=4)
def total(kernel: KernelFacts) -> Total:
    """Returns the wavefronts of all accesses of a kernel instance.

    Each of the kernel's findings asks for it, one kernel after the other.
    """
    figures = [wavefronts(access) for access in kernel.accesses]
    known = all(a.wavefronts is not None and a.certainty.is_decided for a in kernel.accesses)
    is_complete = known and not kernel.not_analysed
    return Total(sum(s for s, _ in figures), sum(i for _, i in figures), is_complete)


def cost_of(access: Access, kernel: KernelFacts) -> Cost | None:
    """Returns what an access costs; None where its figures are not known."""
    spent, ideal = wavefronts(access)
    all_of_it = total(kernel).wavefronts
    worst = access.worst
    if not spent or worst is None:
        return None
    block = access.instance.block if access.instance.origin and access.warps else None
    warps = -(-prod(block) // LANES) if block is not None else 0
    return Cost(
        spent,
        ideal,
        (spent - ideal) / all_of_it,
        access.repeats,
        access.instructions / max(access.warps, 1),
        int(access.addressing(worst).sum()),
        access.warps if warps else 0,
        warps,
        not access.repeats and spent - ideal <= _most_minor(kernel),
    )


@lru_cache(maxsize=4)
def _most_minor(kernel: KernelFacts) -> float:
    """Returns the most wavefronts that an access may waste and still be minor.

    Accesses in loops of unknown length are none: nobody knows what they cost.
    """
    figures = (wavefronts(access) for access in kernel.accesses if not access.repeats)
    wastes = sorted(spent - ideal for spent, ideal in figures if spent > ideal)
    limit = MINOR_SHARE * total(kernel).wavefronts
    most = together = 0.0
    for waste, equal in groupby(wastes):
        together += waste * len(list(equal))
        if together >= limit:
            break
        most = waste
    return most
