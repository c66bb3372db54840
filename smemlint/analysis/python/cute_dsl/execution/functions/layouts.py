"""Functions of the DSL that make and calculate with layouts and integer tuples."""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import Call, function, reason_of
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    UnknownTensor,
    layout_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Value
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout
from smemlint.layout.cute.int_tuples import dice_tuple, slice_tuple
from smemlint.layout.swizzle import Swizzle

IDENTITY = Swizzle(0, 4, 3)


# ---- makers


@function("make_layout")
def make_layout(call: Call) -> Value:
    """Evaluates `make_layout(shape, stride=)`."""
    shape = numbers.extents(call.run, call.value(0, "shape"))
    if not call.has(1, "stride"):
        return Cute(cute.Layout(shape))
    return Cute(cute.Layout(shape, call.int_tuple(1, "stride")))


@function("make_identity_layout")
def make_identity_layout(call: Call) -> Value:
    """Evaluates `make_identity_layout(shape)`, whose values are coordinates: its shape."""
    return Cute(cute.Layout(call.int_tuple(0, "shape")))


@function("make_ordered_layout")
def make_ordered_layout(call: Call) -> Value:
    """Evaluates `make_ordered_layout(shape, order)`."""
    shape = numbers.extents(call.run, call.value(0, "shape"))
    return Cute(cute.make_ordered_layout(shape, call.int_tuple(1, "order")))


@function("make_layout_like")
def make_layout_like(call: Call) -> Value:
    """Evaluates `make_layout_like(layout)`."""
    return Cute(cute.make_layout_like(call.any_layout(0, "layout").plain))


@function("make_swizzle")
def make_swizzle(call: Call) -> Value:
    """Evaluates `make_swizzle(b, m, s)`; what C++ would refuse is silently the identity."""
    call.run.reached.add(call.run.span_of(call.node))
    b, m, s = (call.static(i, name) for i, name in enumerate("bms"))
    if b == 0 or Swizzle.why_invalid(b, m, s) is not None:
        return Cute(IDENTITY)
    return Cute(Swizzle(b, m, s))


@function("make_composed_layout")
def make_composed_layout(call: Call) -> Value:
    """Evaluates `make_composed_layout(inner, offset, outer)` of a swizzle: in elements."""
    inner = payload_of(call.value(0, "inner"))
    if not isinstance(inner, Swizzle):
        raise cute.CuteError(reason_of(call.value(0, "inner"), "its swizzle is not known"))
    outer = call.layout(2, "outer")
    return Cute(cute.ComposedLayout(inner, outer, call.static(1, "offset")))


@function("tile_to_shape")
def tile_to_shape(call: Call) -> Value:
    """Evaluates `tile_to_shape(atom, shape, order)`."""
    shape = numbers.extents(call.run, call.value(1, "trg_shape"))
    order = call.int_tuple(2, "order")
    return Cute(inside(call.any_layout(0, "atom"), lambda a: cute.tile_to_shape(a, shape, order)))


def inside(layout: AnyLayout, calculate: Callable[[cute.Layout], AnyLayout]) -> AnyLayout:
    """Returns what a function makes of the layout inside; an identity swizzle stays."""
    if isinstance(layout, cute.Layout):
        return calculate(layout)
    found = calculate(layout.layout)
    assert isinstance(found, cute.Layout)
    return cute.ComposedLayout(layout.swizzle, found, layout.offset)


# ---- algebra, of layouts and of tensors


def _of_either(call: Call, calculate: Callable[[cute.Layout], cute.Layout]) -> Value:
    """Applies a function to a layout, or to that of a tensor."""
    value = (
        call.given.positional[0] if call.given.positional else next(iter(call.given.named.values()))
    )
    payload = payload_of(value)
    if isinstance(payload, cute.Tensor):
        return Cute(payload.apply(calculate))
    if isinstance(payload, UnknownTensor):
        return value
    if isinstance(value, tuple | list | int):
        return Cute(calculate(cute.Layout(numbers.int_tuple(call.run, value))))
    found = layout_of(value)
    if found is None:
        raise cute.CuteError(reason_of(value, "no layout is known"))
    return Cute(inside(found, calculate))


@function("composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
def divide(call: Call) -> Value:
    """Evaluates `composition`, and the divisions of a layout or tensor by a tiler."""
    operation = getattr(cute, call.name)
    by = call.tiler(1, "rhs" if call.name == "composition" else "tiler")
    return _of_either(call, lambda layout: operation(layout, by))


@function("logical_product", "zipped_product", "tiled_product", "flat_product")
def product_of(call: Call) -> Value:
    """Returns products of a layout and a tiler."""
    operation = getattr(cute, call.name)
    by = call.tiler(1, "tiler")
    return _of_either(call, lambda layout: operation(layout, by))


@function("blocked_product", "raked_product")
def blocked(call: Call) -> Value:
    """Evaluates `blocked_product(block, tiler)` and `raked_product(block, tiler)`."""
    operation = getattr(cute, call.name)
    by = call.layout(1, "tiler")
    return _of_either(call, lambda layout: operation(layout, by))


@function("coalesce")
def coalesce(call: Call) -> Value:
    """Evaluates `coalesce(layout, target_profile=)`."""
    if not call.has(1, "target_profile"):
        return _of_either(call, lambda layout: cute.coalesce(layout))
    profile = call.int_tuple(1, "target_profile")
    return _of_either(call, lambda layout: cute.coalesce(layout, profile))


@function("right_inverse", "left_inverse", "filter_zeros", "filter")
def inverse(call: Call) -> Value:
    """Evaluates inverses, and layouts without strides of 0."""
    operation = {"filter": cute.filter_layout}.get(call.name) or getattr(cute, call.name)
    return _of_either(call, operation)


@function("complement")
def complement(call: Call) -> Value:
    """Evaluates `complement(layout, cotarget)`."""
    return Cute(cute.complement(call.layout(0, "input"), call.int_tuple(1, "cotarget")))


@function("flatten")
def flatten(call: Call) -> Value:
    """Evaluates `flatten` of a layout, tensor or tuple."""
    value = call.value(0, "a")
    if isinstance(value, tuple | list):
        return tuple(_leaves(value))
    return value if isinstance(value, int) else _of_either(call, cute.flatten)


def _leaves(value: Value) -> list[Value]:
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


@function("group_modes")
def group_modes(call: Call) -> Value:
    """Evaluates `group_modes(x, begin, end)`."""
    value = call.value(0, "input")
    begin = call.static(1, "begin")
    if isinstance(value, tuple | list):
        end = call.static(2, "end", len(value))
        return (*value[:begin], tuple(value[begin:end]), *value[end:])
    payload = payload_of(value)
    if isinstance(payload, UnknownTensor):
        return value
    rank = call.any_layout(0, "input").rank
    end = call.static(2, "end", rank)
    return _of_either(call, lambda layout: cute.group(layout, begin, rank if end < 0 else end))


@function("append", "prepend", "append_ones", "prepend_ones")
def append(call: Call) -> Value:
    """Evaluates `append(x, element, up_to_rank=)` of a tuple or layout."""
    value = call.value(0, "input")
    is_front = call.name.startswith("prepend")
    if call.name.endswith("_ones"):
        rank = call.static(1, "up_to_rank", 0)
        return _of_either(
            call, lambda a: (cute.prepend if is_front else cute.append)(a, rank or a.rank + 1)
        )
    if isinstance(value, tuple | list):
        extra: Value = call.value(1, "elem")
        count = call.static(2, "up_to_rank", len(value) + 1) - len(value)
        more = (extra,) * max(count, 0)
        return (*more, *value) if is_front else (*value, *more)
    extra_layout = call.layout(1, "elem")

    def extended(layout: cute.Layout) -> cute.Layout:
        modes = layout.modes()
        return cute.make_layout(*((extra_layout, *modes) if is_front else (*modes, extra_layout)))

    return _of_either(call, extended)


@function("select")
def select(call: Call) -> Value:
    """Evaluates `select(x, mode)`: some modes of a tuple, layout or tensor."""
    chosen = call.value(1, "mode")
    assert isinstance(chosen, list | tuple)
    modes = [m for m in chosen if isinstance(m, int)]
    value = call.value(0, "input")
    if isinstance(value, tuple | list):
        return tuple(value[m] for m in modes)
    return _of_either(call, lambda a: cute.make_layout(*(a.mode(m) for m in modes)))


@function("get")
def get(call: Call) -> Value:
    """Evaluates `get(x, mode)`: one mode of a tuple, layout or tensor."""
    return mode_of(call.value(0, "input"), call.value(1, "mode"))


def mode_of(value: Value, mode: Value) -> Value:
    """Returns one mode of a tuple, layout or tensor by a path of indexes."""
    path = mode if isinstance(mode, list | tuple) else [mode]
    found: Value = value
    for index in path:
        assert isinstance(index, int)
        if isinstance(found, tuple | list):
            found = found[index]
        elif isinstance(payload_of(found), cute.Tensor):
            tensor = payload_of(found)
            assert isinstance(tensor, cute.Tensor)
            found = Cute(tensor.mode(index))
        elif isinstance(found, int) and index == 0:
            continue
        else:
            layout = layout_of(found)
            if layout is None:
                raise cute.CuteError(reason_of(found, "no layout is known"))
            found = Cute(inside(layout, lambda a, i=index: a.mode(i)))  # type: ignore[misc]
    return found


@function("slice_")
def slice_(call: Call) -> Value:
    """Evaluates `slice_(x, coordinate)` of a tuple, layout or tensor."""
    value, at = call.value(0, "src"), call.coordinate(1, "coord")
    if isinstance(value, tuple | list):
        return call.result(slice_tuple(at, numbers.int_tuple(call.run, value)))
    payload = payload_of(value)
    if isinstance(payload, UnknownTensor):
        return value
    if isinstance(payload, cute.Tensor):
        return Cute(payload.slice(at))
    layout = call.any_layout(0, "src")
    found, offset = cute.slice_layout(layout, at)
    if isinstance(layout, cute.ComposedLayout) and isinstance(found, cute.Layout):
        moved = layout.offset if offset == 0 else 0
        return Cute(cute.ComposedLayout(layout.swizzle, found, moved))
    return Cute(found)


@function("dice")
def dice(call: Call) -> Value:
    """Evaluates `dice(x, coordinate)` of a tuple."""
    return call.result(dice_tuple(call.coordinate(1, "dicer"), call.int_tuple(0, "src")))


@function("recast_layout")
def recast_layout(call: Call) -> Value:
    """Evaluates `recast_layout(new_bits, old_bits, layout)`."""
    layout = call.any_layout(2, "src_layout")
    new, old = call.static(0, "new_type_bits"), call.static(1, "old_type_bits")
    return Cute(cute.recast_layout(layout, old, new))
