"""What a unit writes down of layouts outside its kernels: swizzles and TMA descriptors."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.analysis.simt import written_swizzles
from smemlint.analysis.simt.launches import tensor_maps
from smemlint.facts import LayoutUse
from smemlint.frontend.program import Unit


def written_layouts(unit: Unit) -> Iterator[LayoutUse]:
    """Yields all of them, in no order."""
    yield from written_swizzles.written_swizzles(unit)
    yield from tensor_maps.tensor_maps(unit)
