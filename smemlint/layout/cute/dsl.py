"""Copies that only CuTe's Python DSL has.

Source: nvidia-cutlass-dsl 4.8.1, `cutlass/cute/algorithm.py`; checked against its PTX.
"""

from __future__ import annotations

from smemlint.layout.cute.algebra import logical_divide
from smemlint.layout.cute.copy_traits import universal_copy
from smemlint.layout.cute.copying import Instruction, copy, copy_elements
from smemlint.layout.cute.integers import CuteError, greatest_common_divisor, static
from smemlint.layout.cute.inverses import max_alignment
from smemlint.layout.cute.layouts import Layout
from smemlint.layout.cute.tensors import Tensor, common_layout
from smemlint.layout.cute.tiled_copy import CopyAtom

MAX_VECTOR_BITS = 256


def autovec_copy(source: Tensor, destination: Tensor) -> list[Instruction]:
    """Returns the instructions of `cute.autovec_copy(source, destination)`.

    Unlike C++'s, it asks for the alignment of the pointers (`Tensor.alignment`, in bytes; at most
    2^M under a pointer swizzle).
    """
    if source.bits != destination.bits:
        raise CuteError(f"elements of {source.bits} bits are not copied to {destination.bits} bits")
    vector = common_layout(source, destination)
    elements = greatest_common_divisor(
        max_alignment(source.layout), max_alignment(destination.layout), static(vector.size)
    )
    bits = greatest_common_divisor(
        elements * source.bits,
        8 * pointer_alignment(source),
        8 * pointer_alignment(destination),
        MAX_VECTOR_BITS,
    )
    if static(vector.size) == 1 or bits % 8 or bits < source.bits:
        return copy_elements(source, destination)
    unit = Layout(bits // source.bits)

    def divided(layout: Layout) -> Layout:
        return logical_divide(logical_divide(layout, vector), unit)

    atom = CopyAtom(universal_copy(bits), source.bits)
    return copy(source.apply(divided), destination.apply(divided), atom)


def pointer_alignment(tensor: Tensor) -> int:
    """Returns the bytes that the DSL takes a pointer to be a multiple of; 0 for no limit."""
    if tensor.swizzle is None:
        return tensor.alignment
    return greatest_common_divisor(tensor.alignment, tensor.swizzle.group)
