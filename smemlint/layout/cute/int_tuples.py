"""Nested tuples of integers: shapes, strides and coordinates.

Source: CUTLASS 4.7, `cute/int_tuple.hpp`, `cute/stride.hpp`, `cute/underscore.hpp` and
`cute/algorithm/tuple_algorithms.hpp`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from smemlint.layout.cute.integers import (
    UNDERSCORE,
    CuteError,
    DynamicInt,
    Integer,
    Underscore,
    ceil_div,
    is_static_value,
)

IntTuple: TypeAlias = "int | DynamicInt | tuple[IntTuple, ...]"
Coordinate: TypeAlias = "int | DynamicInt | Underscore | tuple[Coordinate, ...]"
Order: TypeAlias = "IntTuple | Literal['left', 'right']"
"""Ranks of the modes, the fastest first; or `LayoutLeft` and `LayoutRight`."""

T = TypeVar("T")


# ---- structure


def wrap(tree: IntTuple) -> tuple[IntTuple, ...]:
    """Returns the modes of a tuple; a number is its own only mode."""
    return tree if isinstance(tree, tuple) else (tree,)


def unwrap(tree: Any) -> Any:
    """Returns what tuples of one entry contain."""
    while isinstance(tree, tuple) and len(tree) == 1:
        tree = tree[0]
    return tree


def leaves(tree: IntTuple) -> tuple[Integer, ...]:
    """Returns the integers of a nested tuple, in order."""
    if isinstance(tree, tuple):
        return tuple(leaf for entry in tree for leaf in leaves(entry))
    return (tree,)


def is_static(tree: Coordinate) -> bool:
    """Returns whether no integer in the tuple is dynamic."""
    if isinstance(tree, tuple):
        return all(map(is_static, tree))
    return not isinstance(tree, DynamicInt)


def is_congruent(a: Coordinate, b: Coordinate) -> bool:
    """Returns whether two tuples nest in the same way."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(is_congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def product(tree: IntTuple) -> Integer:
    """Returns the product of all integers; 1 of an empty tuple."""
    result: Integer = 1
    for leaf in leaves(tree):
        result = result * leaf
    return result


def product_each(shape: IntTuple) -> tuple[Integer, ...]:
    """Returns the size of every top-level mode."""
    return tuple(product(mode) for mode in wrap(shape))


def ceil_div_shape(target: IntTuple, divisor: Integer) -> tuple[Integer, ...]:
    """Divides a shape by a number that its modes consume from left to right."""
    quotients = []
    for extent in wrap(target):
        size = product(extent)
        quotients.append(ceil_div(size, divisor))
        divisor = ceil_div(divisor, size)
    return tuple(quotients)


def group_modes(tree: tuple[T, ...], begin: int, end: int) -> tuple[Any, ...]:
    """Puts the modes from `begin` to before `end` into one."""
    return (*tree[:begin], tree[begin:end], *tree[end:])


# ---- coordinates and offsets


def crd2idx(coordinate: Coordinate, shape: IntTuple, stride: IntTuple) -> Integer:
    """Returns the offset of a coordinate.

    A number for a nested shape is split colexicographically; the last mode takes what is left
    unreduced, so a coordinate beyond the size extrapolates along it.

    Raises:
        CuteError: coordinate and shape differ in structure.
    """
    if isinstance(coordinate, tuple):
        if not isinstance(shape, tuple) or not isinstance(stride, tuple):
            raise CuteError(f"coordinate {coordinate} for shape {shape}")
        if len(coordinate) != len(shape):
            raise CuteError(f"coordinate {coordinate} for shape {shape}")
        total: Integer = 0
        for c, s, d in zip(coordinate, shape, stride, strict=True):
            total = total + crd2idx(c, s, d)
        return total
    if isinstance(coordinate, Underscore):
        return 0
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        total, rest = 0, coordinate
        for s, d in zip(shape[:-1], stride[:-1], strict=True):
            extent = product(s)
            total = total + crd2idx(rest % extent, s, d)
            rest = rest // extent
        return total + crd2idx(rest, shape[-1], stride[-1]) if shape else total
    assert not isinstance(stride, tuple)
    return coordinate * stride


def idx2crd(index: Integer, shape: IntTuple, stride: IntTuple) -> IntTuple:
    """Returns the coordinate that a compact layout gives to an offset, leaf by leaf.

    Only right for compact layouts; CuTe uses it for all thread layouts nevertheless.
    """
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return tuple(idx2crd(index, s, d) for s, d in zip(shape, stride, strict=True))
    assert not isinstance(shape, tuple) and not isinstance(stride, tuple)
    return 0 if is_static_value(shape, 1) else (index // stride) % shape


def colexicographic_index(coordinate: IntTuple, shape: IntTuple) -> Integer:
    """Returns the number of a coordinate, first mode fastest: `crd2idx(coord, shape)`."""
    if not isinstance(coordinate, tuple):
        return coordinate
    total: Integer = 0
    extent: Integer = 1
    for c, s in zip(coordinate, wrap(shape), strict=True):
        total = total + extent * colexicographic_index(c, s)
        extent = extent * product(s)
    return total


def split_coordinate(coordinate: Coordinate, shape: IntTuple) -> Coordinate:
    """Returns a coordinate with the nesting of a shape: `idx2crd(coord, shape)`."""
    if not isinstance(shape, tuple):
        return coordinate
    if isinstance(coordinate, tuple):
        return tuple(split_coordinate(c, s) for c, s in zip(coordinate, shape, strict=True))
    assert not isinstance(coordinate, Underscore)
    parts: list[Coordinate] = []
    for extent in shape[:-1]:
        size = product(extent)
        parts.append(split_coordinate(coordinate % size, extent))
        coordinate = coordinate // size
    return (*parts, split_coordinate(coordinate, shape[-1]))


# ---- slicing


def has_underscore(coordinate: Coordinate) -> bool:
    """Returns whether some mode is kept."""
    if isinstance(coordinate, tuple):
        return any(map(has_underscore, coordinate))
    return coordinate is UNDERSCORE


def is_all_underscore(coordinate: Coordinate) -> bool:
    """Returns whether every mode is kept."""
    if isinstance(coordinate, tuple):
        return all(map(is_all_underscore, coordinate))
    return coordinate is UNDERSCORE


def repeat_underscore(rank: int) -> Coordinate:
    """Returns that many underscores; a single one is no tuple, so that a mode stays nested."""
    return UNDERSCORE if rank == 1 else (UNDERSCORE,) * rank


def slice_tuple(coordinate: Coordinate, tree: Any) -> Any:
    """Returns the entries under an underscore; those of a nested tuple join their parent.

    Raises:
        CuteError: the structures differ.
    """
    return _select(coordinate, tree, keeps_underscores=True)


def dice_tuple(coordinate: Coordinate, tree: Any) -> Any:
    """Returns the entries that are not under an underscore, joined in the same way.

    Raises:
        CuteError: the structures differ.
    """
    return _select(coordinate, tree, keeps_underscores=False)


def _select(coordinate: Coordinate, tree: Any, *, keeps_underscores: bool) -> Any:
    if not isinstance(coordinate, tuple):
        return tree if (coordinate is UNDERSCORE) == keeps_underscores else ()
    if not isinstance(tree, tuple) or len(coordinate) != len(tree):
        raise CuteError(f"coordinate {coordinate} for {tree}")
    selected: list[Any] = []
    for c, entry in zip(coordinate, tree, strict=True):
        if isinstance(c, tuple):
            selected += _select(c, entry, keeps_underscores=keeps_underscores)
        elif (c is UNDERSCORE) == keeps_underscores:
            selected.append(entry)
    return tuple(selected)


def zip2_by(tree: Any, guide: Any) -> tuple[Any, Any]:
    """Gathers firsts and seconds of the pairs at the guide's leaves; surplus modes go second.

    Raises:
        CuteError: what stands at a leaf is no pair.
    """
    if isinstance(guide, tuple):
        pairs = [zip2_by(entry, g) for entry, g in zip(tree, guide, strict=False)]
        return tuple(a for a, _ in pairs), (*(b for _, b in pairs), *tree[len(guide) :])
    if len(tree) != 2:
        raise CuteError(f"{tree} is no pair")
    return tree[0], tree[1]


# ---- strides


def compact_strides(shape: IntTuple, start: Integer = 1, *, is_right: bool = False) -> IntTuple:
    """Returns the strides of a compact layout, first mode fastest unless `is_right`.

    A static extent 1 gets stride 0.
    """
    return _compact(shape, start, is_right)[0]


def _compact(shape: IntTuple, current: Integer, is_right: bool) -> tuple[IntTuple, Integer]:
    if not isinstance(shape, tuple):
        return (0, current) if is_static_value(shape, 1) else (current, current * shape)
    strides: list[IntTuple] = []
    for extent in reversed(shape) if is_right else shape:
        stride, current = _compact(extent, current, is_right)
        strides.append(stride)
    return tuple(reversed(strides)) if is_right else tuple(strides), current


def compact_order(shape: IntTuple, order: Order) -> IntTuple:
    """Returns the strides of a compact layout whose modes are ranked, the fastest lowest.

    Equal ranks start at the same stride; dynamic ranks count as large, from left to right. An
    entry of the order may stand for a nested mode, which then is compact in itself.
    """
    if isinstance(order, str):
        return compact_strides(shape, is_right=order == "right")
    ranks = leaves(order)
    largest = max((r for r in ranks if isinstance(r, int)), default=0)
    static = [r if isinstance(r, int) else largest + 1 + i for i, r in enumerate(ranks)]
    extents = _products_like(shape, order)
    remaining = iter(static)

    def strides(s: IntTuple, o: IntTuple) -> IntTuple:
        if isinstance(o, tuple):
            return tuple(strides(x, y) for x, y in zip(wrap(s), o, strict=True))
        own, start = next(remaining), 1
        faster: Integer = start
        for extent, rank in zip(extents, static, strict=True):
            faster = faster * extent if rank < own else faster
        return compact_strides(s, faster)

    return strides(shape, order)


def _products_like(shape: IntTuple, guide: IntTuple) -> tuple[Integer, ...]:
    if isinstance(guide, tuple):
        pairs = zip(wrap(shape), guide, strict=True)
        return tuple(size for s, g in pairs for size in _products_like(s, g))
    return (product(shape),)


def coalesce_shape(shape: IntTuple) -> IntTuple:
    """Merges neighbouring extents that are both static or both dynamic."""
    merged: list[Integer] = []
    for extent in leaves(shape):
        if merged and isinstance(merged[-1], int) == isinstance(extent, int):
            merged[-1] = merged[-1] * extent
        else:
            merged.append(extent)
    result: IntTuple = unwrap(tuple(merged))
    return result
