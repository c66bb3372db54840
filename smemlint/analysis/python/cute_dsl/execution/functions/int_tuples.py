"""Functions of the DSL that return numbers and integer tuples."""

from __future__ import annotations

from typing import Any

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import Call, function, reason_of
from smemlint.analysis.python.cute_dsl.execution.functions.layouts import mode_of
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    UnknownTensor,
    layout_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Value
from smemlint.layout import cute
from smemlint.layout.cute.int_tuples import ceil_div_shape, split_coordinate


def _of_mode(call: Call) -> Value:
    value = call.given.positional[0] if call.given.positional else call.value(0, "a")
    mode = call.given.named.get("mode")
    if not mode:
        return value
    return mode_of(value, mode)


def _shape_of(call: Call, value: Value) -> Any:
    if isinstance(value, int | tuple | list) or layout_of(value) is None:
        payload = payload_of(value)
        if isinstance(payload, UnknownTensor):
            raise cute.CuteError(payload.reason)
        if isinstance(payload, cute.TiledCopy | cute.TiledMma):
            return payload.threads
        return numbers.int_tuple(call.run, value)
    layout = layout_of(value)
    assert layout is not None
    return layout.shape


@function("size")
def size(call: Call) -> Value:
    """Evaluates `size(x, mode=)`."""
    return call.result(cute.product(_shape_of(call, _of_mode(call))))


@function("shape")
def shape(call: Call) -> Value:
    """Evaluates `shape(x, mode=)`."""
    return call.result(_shape_of(call, _of_mode(call)))


@function("rank")
def rank(call: Call) -> Value:
    """Evaluates `rank(x, mode=)`."""
    return len(cute.wrap(_shape_of(call, _of_mode(call))))


@function("cosize")
def cosize(call: Call) -> Value:
    """Evaluates `cosize(layout, mode=)`, which ignores the swizzle."""
    value = _of_mode(call)
    layout = layout_of(value)
    if layout is None:
        raise cute.CuteError(reason_of(value, "no layout is known"))
    return call.result(layout.plain.cosize)


@function("size_in_bytes")
def size_in_bytes(call: Call) -> Value:
    """Evaluates `size_in_bytes(dtype, layout)`."""
    layout = call.any_layout(1, "layout")
    return call.result((layout.plain.cosize * call.dtype(0, "dtype").bits + 7) // 8)


@function("depth")
def depth(call: Call) -> Value:
    """Evaluates `depth(x)`."""

    def of(tree: Any) -> int:
        return 1 + max(map(of, tree), default=0) if isinstance(tree, tuple) else 0

    return of(_shape_of(call, call.value(0, "a")))


@function("product")
def product(call: Call) -> Value:
    """Evaluates `product(tuple)`."""
    return call.result(cute.product(call.int_tuple(0, "a")))


@function("product_each")
def product_each(call: Call) -> Value:
    """Evaluates `product_each(tuple)`."""
    return call.result(cute.product_each(call.int_tuple(0, "a")))


@function("product_like")
def product_like(call: Call) -> Value:
    """Evaluates `product_like(tuple, profile)`."""

    def like(tree: Any, profile: Any) -> Any:
        if isinstance(profile, tuple):
            return tuple(map(like, tree, profile))
        return cute.product(tree)

    return call.result(like(call.int_tuple(0, "a"), call.int_tuple(1, "target_profile")))


@function("ceil_div")
def ceil_div(call: Call) -> Value:
    """Evaluates `ceil_div(a, b)` of numbers or tuples, by mode."""
    a, b = call.int_tuple(0, "input"), call.tiler(1, "tiler")

    def divide(x: Any, y: Any) -> Any:
        if isinstance(y, tuple):
            modes = cute.wrap(x)
            return (*map(divide, modes, y), *modes[len(y) :])
        if isinstance(y, cute.Layout):
            y = y.size
        return ceil_div_shape(x, y) if isinstance(x, tuple) else cute.ceil_div(x, y)

    return call.result(divide(a, b))


@function("round_up")
def round_up(call: Call) -> Value:
    """Evaluates `round_up(a, b)` of numbers or tuples, by mode."""

    def up(x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(
                up(i, j)
                for i, j in zip(x, y if isinstance(y, tuple) else (y,) * len(x), strict=True)
            )
        return cute.ceil_div(x, y) * y

    return call.result(up(call.int_tuple(0, "a"), call.int_tuple(1, "b")))


@function("shape_div")
def shape_div(call: Call) -> Value:
    """Evaluates `shape_div(a, b)` of numbers."""
    return call.result(cute.ceil_div(call.integer(0, "lhs"), call.integer(1, "rhs")))


@function("crd2idx")
def crd2idx_(call: Call) -> Value:
    """Evaluates `crd2idx(coordinate, layout or shape)`."""
    value = call.value(1, "layout")
    found = layout_of(value)
    layout = found if found is not None else call.layout(1, "layout")
    return call.result(layout(call.coordinate(0, "coord")))


@function("idx2crd")
def idx2crd(call: Call) -> Value:
    """Evaluates `idx2crd(index, shape)`."""
    shape = _shape_of(call, call.value(1, "shape"))
    return call.result(split_coordinate(call.coordinate(0, "idx"), shape))


@function("repeat_like")
def repeat_like(call: Call) -> Value:
    """Evaluates `repeat_like(x, profile)`."""

    def like(profile: Value) -> Value:
        if isinstance(profile, tuple | list):
            return tuple(like(p) for p in profile)
        return call.value(0, "x")

    target = call.value(1, "target")
    return like(
        numbers.value_of(call.run, _shape_of(call, target)) if isinstance(target, Cute) else target
    )


@function("repeat", "repeat_as_tuple")
def repeat(call: Call) -> Value:
    """Evaluates `repeat(x, n)`."""
    count = call.static(1, "n")
    if count == 1 and call.name == "repeat":
        return call.value(0, "x")
    return (call.value(0, "x"),) * min(count, 32)


@function("is_static")
def is_static(call: Call) -> Value:
    """Evaluates `is_static(x)`."""
    return cute.is_static(_shape_of(call, call.value(0, "x")))


@function("max_common_vector")
def max_common_vector(call: Call) -> Value:
    """Evaluates `max_common_vector(a, b)`."""
    return cute.max_common_vector(call.any_layout(0, "a"), call.any_layout(1, "b"))


@function("max_common_layout")
def max_common_layout(call: Call) -> Value:
    """Evaluates `max_common_layout(a, b)`."""
    return Cute(cute.max_common_layout(call.any_layout(0, "a"), call.any_layout(1, "b")))


@function("make_layout_tv")
def make_layout_tv(call: Call) -> Value:
    """Evaluates `make_layout_tv(threads, values)`: the tiler and the thread-value layout."""
    threads, values = call.layout(0, "thr_layout"), call.layout(1, "val_layout")
    mn = cute.raked_product(threads, values)
    tv = cute.composition(cute.right_inverse(mn), cute.Layout((threads.size, values.size)))
    return call.result((cute.product_each(mn.shape), tv))
