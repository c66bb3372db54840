"""What an access costs whichever neighbours the compiler makes one instruction of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from smemlint.analysis.pricing import Group
from smemlint.facts import Certainty, FusionBounds, WarpPattern


def fusion_bounds(
    groups: Iterable[Group],
    price: Callable[[Sequence[Group]], Sequence[WarpPattern]],
    certainty: Certainty,
) -> FusionBounds | None:
    """Returns the fewest and the most ways that a site has, and what it costs at least.

    Args:
        groups: of the site; those with a `narrowest` may become other instructions.
        price: gives their patterns.
        certainty: of what all of it takes for granted.

    Returns:
        None where one of the ways cannot be priced, or is free of conflicts.
    """
    least = most = spent = ideal = 0.0
    for group in groups:
        if not group.count:
            continue
        found = []
        for way in _ways(group):
            patterns = price([way])
            if not all(p.ideal for p in patterns):
                return None
            share = group.width / way.width  # a wider one is issued once for several
            took = share * sum(p.wavefronts * p.count for p in patterns)
            needed = share * sum(p.profiler_ideal * p.count for p in patterns)
            found.append((max(p.ways for p in patterns), took, needed))
        least = max(least, min(ways for ways, _, _ in found))
        most = max(most, max(ways for ways, _, _ in found))
        _, took, needed = min(found, key=lambda way: way[1] - way[2])
        spent, ideal = spent + took, ideal + needed
    return FusionBounds(least, most, spent, ideal, certainty) if least > 1 else None


def _ways(group: Group) -> Iterator[Group]:
    """Yields an instruction as it is, and as wide as the alignment of its lanes lets it become.

    Lanes that stand at different places of their slots have no wider instruction; where in the
    slot they stand only rotates the banks.
    """
    yield group
    width = group.narrowest
    lanes = group.addresses[group.mask]
    while 0 < width <= group.widest:
        places = lanes % width
        if width != group.width and np.all(places == places[0]):
            addresses = np.where(group.mask, group.addresses - int(places[0]), 0)
            yield replace(group, addresses=addresses, width=width, spare=0)
        width *= 2
