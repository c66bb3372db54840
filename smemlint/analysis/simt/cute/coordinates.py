"""CuTe's functions from coordinates to offsets and back, and those on the entries of tuples."""

from __future__ import annotations

from typing import Any

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.values import plain_layout_of, value_of
from smemlint.analysis.simt.domain.values import Cute, Value
from smemlint.layout import cute


def _tree(call: Call, index: int) -> cute.IntTuple:
    return call.convert.int_tuple(call.values[index])


def _shape_and_stride(call: Call) -> tuple[cute.IntTuple, cute.IntTuple]:
    """Returns the second and third argument; a shape alone is that of a compact layout."""
    shape = _tree(call, 1)
    return shape, _tree(call, 2) if len(call.values) > 2 else cute.compact_strides(shape)


@function("crd2idx")
def _offset(call: Call) -> Value:
    return value_of(cute.crd2idx(call.convert.coordinate(call.values[0]), *_shape_and_stride(call)))


@function("idx2crd")
def _coordinate(call: Call) -> Value:
    return value_of(cute.idx2crd(call.convert.integer(call.values[0]), *_shape_and_stride(call)))


@function("dice")
def _dice(call: Call) -> Value:
    """Evaluates `dice(coordinate, t)`: the entries that are not under an underscore."""
    coordinate = call.convert.coordinate(call.values[0])
    layout = plain_layout_of(call.values[1])
    if layout is None:
        return value_of(cute.dice_tuple(coordinate, _tree(call, 1)))
    both: Any = (cute.dice_tuple(coordinate, tree) for tree in (layout.shape, layout.stride))
    return Cute(cute.Layout(*both))


@function("replace")
def _replace(call: Call) -> Value:
    """Evaluates `replace<I>(t, x)`."""
    (at,) = call.static_types()
    items = call.payload(0)
    if not isinstance(items, tuple) or not 0 <= at < len(items):
        raise cute.CuteError("a mode of what is no tuple")
    return Cute((*items[:at], call.values[1], *items[at + 1 :]))


@function("unwrap")
def _unwrap(call: Call) -> Value:
    """Evaluates `unwrap(t)`: tuples of one entry are that entry."""
    found = call.values[0]
    while isinstance(found, Cute) and isinstance(found.payload, tuple) and len(found.payload) == 1:
        (found,) = found.payload
    return found
