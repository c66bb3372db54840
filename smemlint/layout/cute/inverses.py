"""Inverses, null spaces, common vectors and changes of the unit of layouts.

Source: CUTLASS 4.7, `cute/layout.hpp`, `cute/swizzle_layout.hpp` and `cute/layout_composed.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from smemlint.layout.cute.algebra import coalesce, composition, logical_divide
from smemlint.layout.cute.int_tuples import compact_strides, leaves
from smemlint.layout.cute.integers import (
    CuteError,
    DynamicInt,
    Integer,
    ceil_div,
    exact_div,
    greatest_common_divisor,
    is_static_value,
    sign,
    static,
)
from smemlint.layout.cute.layouts import (
    AnyLayout,
    ComposedLayout,
    Layout,
    compose_swizzle,
    from_modes,
    make_layout,
)
from smemlint.layout.swizzle import Swizzle

# ---- inverses


def right_inverse(layout: Layout) -> Layout:
    """Returns the largest layout r with layout(r(i)) == i; dynamic strides are left out."""
    chain: list[tuple[Integer, Integer]] = [(1, 0)]
    current: Integer = 1
    for stride, extent, position in sorted(_positions(layout), key=lambda mode: mode[0]):
        if is_static_value(current, stride):
            chain.append((extent, position))
            current = extent * stride
    return coalesce(from_modes(chain))


def left_inverse(layout: Layout) -> Layout:
    """Returns the layout l with l(layout(i)) == i, if the layout is injective.

    Raises:
        CuteError: a stride is dynamic or does not divide by the ones before it.
    """
    for _, stride in coalesce(layout).flat_modes():
        static(stride)
    modes = sorted(_positions(layout), key=lambda mode: mode[0])
    shape: list[int] = []
    stride_: list[Integer] = [0]
    for stride, _, position in modes:
        if stride == 0:
            continue
        if stride % prod(shape):
            raise CuteError(f"{layout} has no left inverse: {stride} does not divide")
        shape.append(stride // prod(shape))
        stride_.append(position)
    return coalesce(Layout((*shape, modes[-1][1]), tuple(stride_)))


def _positions(layout: Layout) -> list[tuple[int, Integer, Integer]]:
    """Returns the static stride, extent and weight of every mode, coalesced."""
    position: Integer = 1
    modes: list[tuple[int, Integer, Integer]] = []
    for extent, stride in coalesce(layout).flat_modes():
        if isinstance(stride, int):
            modes.append((stride, extent, position))
        position = position * extent
    return modes


def nullspace(layout: AnyLayout) -> Layout:
    """Returns the modes of static stride 0 as a layout of the domain; `1:0` of a swizzled one."""
    if isinstance(layout, ComposedLayout):
        return Layout(1, 0)
    extents, strides = leaves(layout.shape), leaves(layout.stride)
    weights = leaves(compact_strides(extents))
    kept = [i for i, stride in enumerate(strides) if is_static_value(stride, 0)]
    if not kept:
        return Layout(1, 0)
    return from_modes([(extents[i], weights[i]) for i in kept])


# ---- vectors


def max_common_vector(a: AnyLayout, b: AnyLayout) -> int:
    """Returns how many elements lie together in both layouts, in units that no swizzle tears."""
    first, second = _ordered(a, b)
    common = coalesce(composition(first.plain, right_inverse(second.plain)))
    extent, stride = common.flat_modes()[0]
    size = extent if isinstance(extent, int) and is_static_value(stride, 1) else 1
    return min([size, *_groups(a, b)])


def max_common_layout(a: AnyLayout, b: AnyLayout) -> Layout:
    """Returns the coordinates of the longest run of elements that lie together in both layouts."""
    first, second = _ordered(a, b)
    inverse = right_inverse(second.plain)
    extent, stride = coalesce(composition(first.plain, inverse)).flat_modes()[0]
    if not isinstance(extent, int) or not is_static_value(stride, 1):
        return Layout(1, 0)
    return composition(inverse, Layout(min([extent, *_groups(a, b)])))


def _ordered(a: AnyLayout, b: AnyLayout) -> tuple[AnyLayout, AnyLayout]:
    """Orders two layouts: a swizzled one goes before a plain one."""
    return (b, a) if isinstance(b, ComposedLayout) and isinstance(a, Layout) else (a, b)


def _groups(a: AnyLayout, b: AnyLayout) -> list[int]:
    """Counts the elements that each swizzle keeps together; two equal swizzles part none."""
    swizzles = [layout.swizzle for layout in (a, b) if isinstance(layout, ComposedLayout)]
    if len(swizzles) == 2 and swizzles[0] == swizzles[1]:
        return []
    return [swizzle.group for swizzle in swizzles]


def max_alignment(layout: AnyLayout) -> int:
    """Returns how many elements every offset is statically known to be a multiple of, by runs.

    Dynamic strides are taken to divide by anything.
    """
    if isinstance(layout, ComposedLayout):
        offset = layout.offset
        if isinstance(offset, DynamicInt):
            lowest = 1
        else:
            bits = offset if isinstance(offset, int) else offset.possible
            lowest = bits & -bits
        return greatest_common_divisor(layout.swizzle.group, lowest, max_alignment(layout.layout))
    modes: list[tuple[Integer, Integer]] = [
        (s if isinstance(s, int) else 1, d if isinstance(d, int) else 0)
        for s, d in coalesce(layout).flat_modes()
    ]
    flat = from_modes(modes)
    runs, rest = logical_divide(flat, right_inverse(flat)).modes()
    strides = [static(stride) for _, stride in rest.flat_modes()]
    return greatest_common_divisor(static(runs.size), *strides)


# ---- units


def upcast(layout: Layout, factor: int) -> Layout:
    """Returns the layout in units of `factor` elements.

    Raises:
        CuteError: a static stride and the factor do not divide.
    """

    def wider(extent: Integer, stride: Integer) -> tuple[Integer, Integer]:
        if is_static_value(stride, 0):
            return extent, stride
        if isinstance(stride, DynamicInt):
            return extent, exact_div(stride, factor)
        if stride % factor and factor % stride:
            raise CuteError(f"a stride of {stride} and the factor {factor} do not divide")
        size = abs(stride)
        return ceil_div(extent, -(-factor // size)), sign(stride) * -(-size // factor)

    return _by_leaf(layout, wider)


def downcast(layout: Layout, factor: int) -> Layout:
    """Returns the layout in units of which `factor` make an element.

    Raises:
        CuteError: no mode has stride 1: elements are not adjacent.
    """
    if not any(stride in (1, -1) for _, stride in layout.flat_modes() if isinstance(stride, int)):
        raise CuteError(f"{layout} has no mode of stride 1")

    def narrower(extent: Integer, stride: Integer) -> tuple[Integer, Integer]:
        if is_static_value(stride, 1) or is_static_value(stride, -1):
            return extent * factor, stride
        return extent, stride * factor

    return _by_leaf(layout, narrower)


def _by_leaf(layout: Layout, one: Callable[[Integer, Integer], tuple[Integer, Integer]]) -> Layout:
    shape, stride = layout.shape, layout.stride
    if isinstance(shape, tuple) or isinstance(stride, tuple):
        return make_layout(*(_by_leaf(mode, one) for mode in layout.modes()))
    return Layout(*one(shape, stride))


def recast_layout(layout: AnyLayout, old_bits: int, new_bits: int) -> AnyLayout:
    """Returns a layout of `old_bits` wide elements in elements of `new_bits`.

    Raises:
        CuteError: strides, the swizzle's offset or the widths do not divide.
    """
    if old_bits == new_bits:
        return layout
    common = greatest_common_divisor(old_bits, new_bits)
    wider, narrower = new_bits // common, old_bits // common
    if isinstance(layout, Layout):
        result = upcast(layout, wider) if wider > 1 else layout
        return downcast(result, narrower) if narrower > 1 else result
    offset = layout.offset
    if isinstance(offset, int | DynamicInt):
        offset = exact_div(offset, wider) * narrower
    else:
        offset = offset // wider * narrower
    plain = recast_layout(layout.layout, old_bits, new_bits)
    swizzle = recast_swizzle(layout.swizzle, old_bits, new_bits)
    return compose_swizzle(swizzle, plain.plain, offset)


def recast_swizzle(swizzle: Swizzle, old_bits: int, new_bits: int) -> Swizzle:
    """Returns a swizzle of `old_bits` wide units in units of `new_bits`.

    Raises:
        CuteError: the ratio is no power of two, or CuTe rejects the result.
    """
    common = greatest_common_divisor(old_bits, new_bits)
    try:
        return swizzle.upcast(new_bits // common).downcast(old_bits // common)
    except ValueError as error:
        raise CuteError(str(error)) from error
