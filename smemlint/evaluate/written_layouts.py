"""What a unit writes down of layouts outside its kernels: swizzles and TMA descriptors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.evaluate import tensor_maps, written_swizzles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.facts import LayoutUse
    from smemlint.frontend.cuda.unit import Unit

MENTION = re.compile(f"{written_swizzles.MENTION.pattern}|{tensor_maps.MENTION.pattern}")


def written_layouts(unit: Unit) -> Iterator[LayoutUse]:
    """All of them, in no order."""
    yield from written_swizzles.written_swizzles(unit)
    yield from tensor_maps.tensor_maps(unit)
