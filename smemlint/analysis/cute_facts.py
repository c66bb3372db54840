"""Facts of CuTe that both of its languages state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.facts import LayoutUse
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.facts import Span


ELEMENTWISE = "cute-elementwise"
"""The family of copies that CuTe makes element by element, whatever lies together."""


def elementwise_use(
    span: Span, kernel: str, source: cute.Tensor, destination: cute.Tensor
) -> LayoutUse | None:
    """Returns the fact of a `copy` without a policy that gives vectors up; None of all others.

    Slicing a swizzled tensor at coordinates of run time may leave strides whose sign only run time
    tells. A copy of such a layout assumes no alignment and moves one element at a time, where an
    atom or a copy that is told the alignment moves vectors (CUTLASS 4.7, `algorithm/copy.hpp`).

    Its parameters are `element_bytes` and `vector_bytes`, what could be moved at once.
    """
    tensors = (source, destination)
    swizzled = [t for t in tensors if t.is_shared and not t.layout.is_static]
    shapes_are_known = all(cute.is_static(t.shape) for t in tensors)
    if not swizzled or not shapes_are_known:
        return None
    bits = cute.vector_bits(source, destination, 128)
    if bits <= destination.bits:
        return None
    figures = (("element_bytes", destination.bits // 8), ("vector_bytes", bits // 8))
    return LayoutUse(span, ELEMENTWISE, str(swizzled[0].layout), kernel, parameters=figures)


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
