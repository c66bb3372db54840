"""Facts of CuTe that both of its languages state."""

from __future__ import annotations

from smemlint.facts import Certainty, LayoutUse, SharedArray, Span
from smemlint.layout import cute

ELEMENTWISE = "cute-elementwise"
"""The family of copies that CuTe makes element by element, whatever lies together."""


def tensor_use(
    span: Span,
    kernel: str,
    tensor: cute.Tensor,
    array: SharedArray | None,
    base: int | None,
    *,
    extent: int | None = None,
    is_bound: bool = False,
) -> LayoutUse | None:
    """Returns the layout of a shared tensor as a fact; None of a layout that is not static.

    Args:
        span: of the call that makes the tensor.
        kernel: that it stands in.
        tensor: the tensor.
        array: that it points into; None if not known.
        base: byte of the array where it begins; None if not known.
        extent: bytes of what is addressed.
        is_bound: see `LayoutUse`.
    """
    plain = tensor.layout.plain
    if not plain.is_static:
        return None
    swizzle, units = tensor.swizzle, "bytes" if tensor.swizzle is not None else "elements"
    if isinstance(tensor.layout, cute.ComposedLayout):
        swizzle, units = tensor.layout.swizzle, "elements"
    size = max(tensor.bits // 8, 1)
    unit = size if units == "bytes" else 1
    modes = plain.static_modes()
    return LayoutUse(
        span,
        "cute",
        f"{swizzle} o {plain}" if swizzle is not None else str(plain),
        kernel,
        (swizzle.bits, swizzle.base, swizzle.shift) if swizzle is not None else None,
        units=units,
        element_bytes=size,
        shape=tuple(extent for extent, _ in modes),
        stride=tuple(stride * unit for _, stride in modes),
        extent=extent // size * unit if extent is not None else None,
        array=array,
        certainty=Certainty.ASSUMED,
        is_bound=is_bound,
        base=base,
        ranks=tuple(len(mode.static_modes()) for mode in plain.modes()),
    )


def elementwise_use(
    span: Span, kernel: str, source: cute.Tensor, destination: cute.Tensor
) -> LayoutUse | None:
    """Returns the fact of a `copy` without a policy that gives vectors up; None of all others.

    Slicing a swizzled tensor at coordinates of run time may leave strides whose sign only run time
    tells. A copy of such a layout assumes no alignment and moves one element at a time, where an
    atom or a copy that is given the alignment moves vectors (CUTLASS 4.7, `algorithm/copy.hpp`).

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
