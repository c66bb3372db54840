"""Facts of CuTe that both of its languages state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.facts import LayoutUse
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.facts import Span


def thread_layout_use(span: Span, kernel: str, threads: cute.Layout) -> LayoutUse:
    """Returns the fact of a static thread layout that is not compact.

    Its parameters are `size`, the number of its coordinates, and `inverted`, that of the threads
    for which `right_inverse` finds one.
    """
    inverted = cute.static(cute.right_inverse(threads).size)
    return LayoutUse(
        span,
        "cute-threads",
        str(threads),
        kernel,
        parameters=(("size", cute.static(threads.size)), ("inverted", inverted)),
        shape=tuple(extent for extent, _ in threads.static_modes()),
        stride=tuple(stride for _, stride in threads.static_modes()),
    )
