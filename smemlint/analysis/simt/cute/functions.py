"""CuTe's functions on layouts and tensors: a table from names to the engine."""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.values import layout_of, plain_layout_of, value_of
from smemlint.analysis.simt.domain.values import (
    Cute,
    Value,
)
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.registration import registers

Handler = Callable[[Call], Value]


FUNCTIONS: dict[str, Handler] = {}


def function(*names: str) -> Callable[[Handler], Handler]:
    """Registers a handler under names of CuTe's functions."""
    return registers(FUNCTIONS, names)


# ---- tuples


@function("make_shape", "make_stride", "make_coord", "make_tuple", "make_tile", "make_step")
def _tuple(call: Call) -> Value:
    return Cute(call.values)


@function("select")
def _select(call: Call) -> Value:
    payload = call.payload(0)
    if isinstance(payload, tuple):
        return Cute(tuple(payload[i] for i in call.static_types()))
    modes = call.static_types()
    return _relayout(call, lambda layout: cute.make_layout(*map(layout.mode, modes)))


@function("take")
def _take(call: Call) -> Value:
    begin, end = call.static_types()
    payload = call.payload(0)
    if isinstance(payload, tuple):
        return Cute(payload[begin:end])
    return _relayout(call, lambda layout: cute.make_layout(*layout.modes()[begin:end]))


@function("repeat")
def _repeat(call: Call) -> Value:
    (count,) = call.static_types()
    return call.values[0] if count == 1 else Cute(call.values[:1] * count)


# ---- layouts


@function("make_layout")
def make_layout(call: Call) -> Value:
    """Returns the layout of a shape and perhaps strides, or of layouts side by side."""
    plains = [plain_layout_of(value) for value in call.values]
    layouts = [plain for plain in plains if plain is not None]
    if layouts and len(layouts) == len(plains):
        return Cute(cute.make_layout(*layouts))
    if len(call.values) > 2:
        raise cute.CuteError("more than a shape and a stride")
    shape = call.convert.int_tuple(call.values[0])
    if len(call.values) == 1:
        return Cute(cute.Layout(shape))
    if call.payload(1) in ("LayoutLeft", "LayoutRight"):
        is_right = call.payload(1) == "LayoutRight"
        return Cute(cute.Layout(shape, cute.compact_strides(shape, is_right=is_right)))
    return Cute(cute.Layout(shape, call.convert.int_tuple(call.values[1])))


@function("make_ordered_layout")
def _make_ordered_layout(call: Call) -> Value:
    shape = call.convert.int_tuple(call.values[0])
    return Cute(cute.make_ordered_layout(shape, call.convert.order(call.values[1])))


@function("make_layout_like")
def _make_layout_like(call: Call) -> Value:
    return Cute(cute.make_layout_like(plain_argument(call, 0)))


@function("make_composed_layout")
def _make_composed_layout(call: Call) -> Value:
    return _composed(call.payload(0), call)


def _composed(swizzle: object, call: Call) -> Value:
    if isinstance(call.payload(1), cute.PointerFlag) and isinstance(swizzle, Swizzle):
        return Cute(cute.SmemAtom(swizzle, call.layout(2)))
    offset = call.convert.integer(call.values[1])
    if not isinstance(swizzle, Swizzle) or not isinstance(offset, int):
        raise cute.CuteError("a composition of what is not known")
    return Cute(cute.compose_swizzle(swizzle, call.layout(2), offset))


@function("composition")
def _composition(call: Call) -> Value:
    outer = call.payload(0)
    if isinstance(outer, Swizzle):
        if len(call.values) == 3:
            return _composed(outer, call)
        return Cute(cute.compose_swizzle(outer, call.layout(1)))
    tiler = call.convert.tiler(call.values[1])
    return _relayout(call, lambda layout: cute.composition(layout, tiler))


@function("tile_to_shape")
def _tile_to_shape(call: Call) -> Value:
    shape = call.convert.int_tuple(call.values[1])
    order = call.convert.order(call.values[2]) if len(call.values) > 2 else "left"
    return _relayout(call, lambda layout: cute.tile_to_shape(layout, shape, order))


def plain_argument(call: Call, index: int) -> cute.Layout:
    """Returns the layout that an argument is, without a swizzle."""
    layout = plain_layout_of(call.values[index])
    return layout if layout is not None else call.layout(index)


def _relayout(call: Call, change: Callable[[cute.Layout], cute.Layout]) -> Value:
    """Returns the first argument, a layout or a tensor, with another plain layout."""
    payload = call.payload(0)
    if isinstance(payload, cute.SmemAtom):
        return Cute(cute.SmemAtom(payload.swizzle, change(payload.layout)))
    if isinstance(payload, cute.Tensor | cute.ComposedLayout | cute.Layout):
        return Cute(payload.apply(change))
    return Cute(change(call.layout(0)))


_BY_TILER = {
    "logical_divide": cute.logical_divide,
    "zipped_divide": cute.zipped_divide,
    "tiled_divide": cute.tiled_divide,
    "flat_divide": cute.flat_divide,
    "logical_product": cute.logical_product,
    "zipped_product": cute.zipped_product,
    "tiled_product": cute.tiled_product,
    "flat_product": cute.flat_product,
}
_BY_LAYOUT = {"blocked_product": cute.blocked_product, "raked_product": cute.raked_product}
_ALONE = {
    "filter": cute.filter_layout,
    "filter_zeros": cute.filter_zeros,
    "flatten": cute.flatten,
    "right_inverse": cute.right_inverse,
    "left_inverse": cute.left_inverse,
}


@function(*_BY_TILER)
def _by_tiler(call: Call) -> Value:
    tiler = call.convert.tiler(call.values[1])
    return _relayout(call, lambda layout: _BY_TILER[call.name](layout, tiler))


@function(*_BY_LAYOUT)
def _by_layout(call: Call) -> Value:
    other = call.layout(1)
    return _relayout(call, lambda layout: _BY_LAYOUT[call.name](layout, other))


@function(*_ALONE)
def _alone(call: Call) -> Value:
    return _relayout(call, _ALONE[call.name])


@function("coalesce")
def _coalesce(call: Call) -> Value:
    profile = call.convert.int_tuple(call.values[1]) if len(call.values) > 1 else 1
    return _relayout(call, lambda layout: cute.coalesce(layout, profile))


@function("complement")
def _complement(call: Call) -> Value:
    target = call.convert.int_tuple(call.values[1]) if len(call.values) > 1 else None
    return _relayout(call, lambda layout: cute.complement(layout, target))


@function("append", "prepend")
def _append(call: Call) -> Value:
    """Adds a mode, or `append<N>(t)` as many of extent 1 as there are missing."""
    if not call.types:
        return _with_mode(call)
    (rank,) = call.static_types()
    if len(call.values) > 1:
        raise cute.CuteError("modes up to a rank that are no 1:0")
    change = cute.append if call.name == "append" else cute.prepend
    return _relayout(call, lambda layout: change(layout, rank))


def _with_mode(call: Call) -> Value:
    """Returns a tuple or a layout with one more entry, behind the others or before them."""
    is_behind = call.name == "append"
    payload, (first, more) = call.payload(0), call.values[:2]
    if layout_of(first) is None:
        items = payload if isinstance(payload, tuple) else (first,)
        return Cute((*items, more) if is_behind else (more, *items))
    mode = plain_argument(call, 1)

    def change(layout: cute.Layout) -> cute.Layout:
        modes = layout.modes()
        return cute.make_layout(*((*modes, mode) if is_behind else (mode, *modes)))

    return _relayout(call, change)


@function("recast_layout")
def _recast_layout(call: Call) -> Value:
    """Evaluates `recast_layout<Old, New>(layout)`."""
    old, new = call.type_bits(0), call.type_bits(1)
    found = layout_of(call.values[0])
    if found is None or isinstance(found, cute.SmemAtom):
        raise cute.CuteError("a layout is needed")
    return Cute(cute.recast_layout(found, old, new))


@function("group_modes", "group")
def _group(call: Call) -> Value:
    begin, end = call.static_types()
    return _relayout(call, lambda layout: cute.group(layout, begin, end))


@function("get_nonswizzle_portion")
def _plain_portion(call: Call) -> Value:
    return Cute(plain_argument(call, 0))


@function("get_swizzle_portion")
def _swizzle_portion(call: Call) -> Value:
    payload = call.payload(0)
    if isinstance(payload, cute.Tensor):
        payload = payload.layout
    if isinstance(payload, cute.ComposedLayout | cute.SmemAtom):
        return Cute(payload.swizzle)
    return Cute(Swizzle(0, 4, 3))


@function("as_position_independent_swizzle_layout")
def _independent_layout(call: Call) -> Value:
    return call.values[0]


@function("print", "print_layout", "print_tensor", "print_latex")
def _print(call: Call) -> Value:
    """Prints what its arguments are; of tensors their layout, or elements for debugging."""
    return value_of(0)


# ---- queries


@function("size", "cosize", "rank", "depth", "shape", "stride", "get", "layout", "tensor")
def query(call: Call) -> Value:
    """Returns `size<0>(x)` and its like."""
    path = call.static_types()
    payload = call.payload(0)
    if isinstance(payload, cute.TiledMma | cute.TiledCopy):
        return _query_tiled(call.name, payload, path)
    if call.name == "tensor":
        return Cute(call.tensor(0).mode(*path) if path else call.tensor(0))
    found = layout_of(call.values[0])
    if found is None:
        return _query_tuple(call, path)
    if call.name == "layout" and not path:
        return Cute(found)
    plain = found.layout if isinstance(found, cute.SmemAtom) else found.plain
    layout = plain.mode(*path)
    match call.name:
        case "layout":
            if isinstance(found, cute.SmemAtom):
                return Cute(cute.SmemAtom(found.swizzle, layout))
            return Cute(found.apply(lambda whole: whole.mode(*path)))
        case "get" if isinstance(call.payload(0), cute.Tensor | cute.Layout):
            return Cute(layout)
        case "shape" | "get":
            return value_of(layout.shape)
        case "stride":
            return value_of(layout.stride)
        case "size":
            return value_of(layout.size)
        case "cosize":
            return value_of(layout.cosize)
    return value_of(layout.rank)


def _query_tuple(call: Call, path: tuple[int, ...]) -> Value:
    found: Value = call.values[0]
    for mode in path:
        items = found.payload if isinstance(found, Cute) else None
        if not isinstance(items, tuple):
            if mode == 0:
                continue  # a number is its own only mode
            raise cute.CuteError("a mode of what is no tuple")
        if not 0 <= mode < len(items):
            raise cute.CuteError("a tuple has no such mode")
        found = items[mode]
    if call.name in ("get", "shape", "stride"):
        return found
    tree = call.convert.int_tuple(found)
    if call.name == "size":
        return value_of(cute.product(tree))
    if call.name == "rank":
        return value_of(len(cute.wrap(tree)))
    raise cute.CuteError(f"`{call.name}` of a tuple")


def _query_tiled(name: str, tiled: cute.TiledMma | cute.TiledCopy, path: tuple[int, ...]) -> Value:
    if name != "size":
        raise cute.CuteError(f"`{name}` of a tiled copy or MMA")
    if not path:
        return value_of(tiled.threads)
    if isinstance(tiled, cute.TiledMma):
        return value_of(tiled.thread_layout.mode(*path).size)
    return value_of(tiled.thread_value.mode(*path).size)


@function("tile_size", "tile_shape")
def _tile_size(call: Call) -> Value:
    payload = call.payload(0)
    if not isinstance(payload, cute.TiledMma):
        raise cute.CuteError("the tile of what is no TiledMMA")
    sizes = tuple(payload.tile_size(i) for i in range(3))
    path = call.static_types()
    return value_of(sizes[path[0]] if path else sizes)
