"""Coalescing, composition, complement and division of layouts, with CuTe's corner cases.

Source: CUTLASS 4.7, `cute/layout.hpp`; checked against the compiled headers (tests/oracle).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from smemlint.layout.cute.int_tuples import (
    IntTuple,
    ceil_div_shape,
    coalesce_shape,
    compact_strides,
    leaves,
    unwrap,
    wrap,
    zip2_by,
)
from smemlint.layout.cute.integers import (
    CuteError,
    DynamicInt,
    Integer,
    Underscore,
    absolute,
    ceil_div,
    is_static_value,
    minimum,
    sign,
    static,
)
from smemlint.layout.cute.layouts import Layout, Tiler, from_modes, make_layout

Modes = list[tuple[Integer, Integer]]


def coalesce(layout: Layout, profile: IntTuple = 1) -> Layout:
    """Returns the same function of the one-number coordinate with the fewest modes.

    A tuple as profile coalesces mode by mode; modes beyond it stay.
    """
    if isinstance(profile, tuple):
        modes = layout.modes()
        merged = [coalesce(m, p) for m, p in zip(modes, profile, strict=False)]
        return make_layout(*merged, *modes[len(profile) :])
    flat = layout.flat_modes()
    return _merged(flat[:-1], flat[-1])


def coalesce_unbounded(layout: Layout) -> Layout:
    """Coalesces so that the function beyond the domain stays, too: a last extent 1 becomes 2."""
    flat = layout.flat_modes()
    extent, stride = flat[-1]
    return _merged(flat[:-1], (2 if is_static_value(extent, 1) else extent, stride))


def _merged(modes: Modes, last: tuple[Integer, Integer]) -> Layout:
    """Merges from the back; dynamic numbers never merge."""
    merged = [last]
    for extent, stride in reversed(modes):
        front_extent, front_stride = merged[0]
        step = extent * stride
        if is_static_value(extent, 1):
            continue
        if len(merged) == 1 and is_static_value(front_extent, 1):
            merged[0] = (extent, stride)
        elif isinstance(front_extent, int) and isinstance(step, int) and _same(step, front_stride):
            merged[0] = (extent * front_extent, stride)
        else:
            merged.insert(0, (extent, stride))
    if len(merged) == 1 and is_static_value(merged[0][0], 1):
        return Layout(1, 0)
    return from_modes(merged)


def _same(a: Integer, b: Integer) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a == b


def filter_zeros(layout: Layout) -> Layout:
    """Returns the layout with extent 1 in all modes of stride 0."""

    def extents(shape: IntTuple, stride: IntTuple) -> IntTuple:
        if isinstance(shape, tuple) and isinstance(stride, tuple):
            return tuple(map(extents, shape, stride))
        return 1 if is_static_value(stride, 0) else shape

    return Layout(extents(layout.shape, layout.stride), layout.stride)


def filter_layout(layout: Layout) -> Layout:
    """Returns the layout without modes of stride 0 or extent 1: `filter`."""
    return coalesce(filter_zeros(layout))


def by_mode(
    operation: Callable[[Layout, Tiler], Layout], layout: Layout, tilers: Sequence[Tiler]
) -> Layout:
    """Returns an operation with a tiler a mode; the modes beyond them stay.

    Raises:
        CuteError: there are more tilers than modes.
    """
    modes = layout.modes()
    if len(tilers) > len(modes):
        raise CuteError(f"{len(tilers)} tilers for {len(modes)} modes")
    applied = [operation(m, t) for m, t in zip(modes, tilers, strict=False)]
    return make_layout(*applied, *modes[len(tilers) :])


# ---- composition


def composition(outer: Layout, inner: Tiler) -> Layout:
    """Returns the layout c -> outer(inner(c)), of the inner shape.

    A tuple composes mode by mode, and modes of `outer` beyond it are dropped; an integer n stands
    for `n:1`, an underscore for the whole mode.

    Raises:
        CuteError: static extents and strides do not divide.
    """
    if isinstance(inner, tuple):
        composed = by_mode(composition, outer, inner)
        return make_layout(*composed.modes()[: len(inner)])
    if isinstance(inner, Underscore):
        return outer
    flat = coalesce_unbounded(outer).flat_modes()
    if isinstance(inner, int | DynamicInt):
        return _composed(flat, inner, 1)
    return _composed(flat, inner.shape, inner.stride)


def _composed(outer: Modes, shape: IntTuple, stride: IntTuple) -> Layout:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return make_layout(*(_composed(outer, s, d) for s, d in zip(shape, stride, strict=True)))
    assert not isinstance(shape, tuple) and not isinstance(stride, tuple)
    if is_static_value(stride, 0):
        return Layout(shape, stride)
    if len(outer) == 1:
        return Layout(shape, stride * outer[0][1])
    return _walk(outer, shape, stride)


def _walk(outer: Modes, rest: Integer, step: Integer) -> Layout:
    """Returns the modes of `outer` that `rest` steps of `step` pass through.

    The last mode of `outer` is unbounded and takes what is left.
    """
    passed: Modes = []
    for extent, stride in outer[:-1]:
        if isinstance(extent, int) and isinstance(step, int) and step % extent and step >= extent:
            raise CuteError(f"a stride of {step} does not divide by the extent {extent}")
        available = ceil_div(extent, absolute(step))
        following = ceil_div(absolute(step), extent) * sign(step)
        if not is_static_value(available, 1) and not is_static_value(rest, 1):
            taken = minimum(available, rest)
            if isinstance(taken, int) and isinstance(rest, int) and rest % taken:
                raise CuteError(f"an extent of {rest} does not divide by {taken}")
            passed.append((taken, step * stride))
            rest = rest // taken
        step = following
    if not passed or not is_static_value(rest, 1):
        passed.append((rest, step * outer[-1][1]))
    return from_modes(passed)


# ---- complement


def complement(layout: Layout, cosize: IntTuple | None = None) -> Layout:
    """Returns the offsets up to `cosize` that the layout leaves out, as a layout of its own.

    A shape as `cosize` is rounded up to whole repetitions mode by mode.

    Raises:
        CuteError: the layout maps two coordinates to one offset, or has several dynamic strides.
    """
    used = filter_layout(layout)
    target = used.cosize if cosize is None else cosize
    if is_static_value(used.stride, 0):
        return Layout(coalesce_shape(target))
    modes = used.flat_modes()
    if len(modes) > 1:
        modes = sorted(modes, key=lambda mode: static(mode[1]))
    gaps: Modes = []
    current: Integer = 1
    for extent, stride in modes:
        gap = stride // current
        if is_static_value(gap, 0):
            raise CuteError(f"{layout} maps two coordinates to one offset")
        gaps.append((gap, current))
        current = stride * extent
    rest = coalesce_shape(unwrap(ceil_div_shape(target, current)))
    shape = (tuple(extent for extent, _ in gaps), rest)
    stride_ = (tuple(stride for _, stride in gaps), compact_strides(rest, current))
    return coalesce(Layout(shape, stride_))


# ---- division


def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Returns two modes: the elements that the tiler points to, and the tiles.

    A tuple divides mode by mode, and modes beyond it stay; an integer n stands for `n:1`.
    """
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, layout, tiler)
    if isinstance(tiler, Underscore):
        return layout
    tile = tiler if isinstance(tiler, Layout) else Layout(tiler)
    rest = complement(tile, coalesce(layout).shape)
    return composition(layout, make_layout(tile, rest))


def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Returns the logical division as `((tiles..),(rests.., untiled modes..))`."""
    divided = logical_divide(layout, tiler)
    return Layout(zip2_by(divided.shape, tiler), zip2_by(divided.stride, tiler))


def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Returns `((tiles..), rests..)`."""
    tile, rest = zipped_divide(layout, tiler).modes()
    return make_layout(tile, *unpacked(rest))


def flat_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Returns `(tiles.., rests..)`."""
    tile, rest = zipped_divide(layout, tiler).modes()
    return make_layout(*unpacked(tile), *unpacked(rest))


def unpacked(layout: Layout) -> tuple[Layout, ...]:
    """Returns the modes that `repeat<rank>(_)` keeps: a single one stays nested."""
    return layout.modes() if layout.rank > 1 else (layout,)


def zip_modes(layout: Layout) -> Layout:
    """Returns `((a,c),(b,d))` of `((a,b),(c,d))`: `zip`."""
    shapes, strides = wrap(layout.shape), wrap(layout.stride)
    return Layout(
        tuple(zip(*map(wrap, shapes), strict=True)), tuple(zip(*map(wrap, strides), strict=True))
    )


def domain_distribute(shape: IntTuple, count: int) -> Layout:
    """Returns a layout of up to `count` elements of a shape, taken where the extents divide it."""
    extents, rest = leaves(shape), count
    taken = []
    for extent in extents:
        common = gcd(static(extent), rest)
        taken.append(common)
        rest //= common
    return coalesce(Layout(tuple(taken), compact_strides(extents)))
