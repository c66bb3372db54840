"""CuTe's functions on tensors and pointers, see functions.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function, make_layout, plain_argument
from smemlint.analysis.simt.cute.identity import identity_tensor
from smemlint.analysis.simt.cute.tensors import (
    like_registers,
    make_tensor,
    register_tensor,
    with_use,
)
from smemlint.analysis.simt.cute.values import Origin, layout_of, plain_layout_of, tensor_of
from smemlint.analysis.simt.domain.ctypes import CType, PointerType
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    Cute,
    Object,
    Pointer,
    Space,
    Unknown,
    UnknownTensor,
    Value,
)
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.layout import cute


@function("make_tensor")
def _make_tensor(call: Call) -> Value:
    if call.types:
        return Cute(register_tensor(call.type_bits(0), _shape_or_layout(call, 0), _element(call)))
    pointer = call.values[0]
    if isinstance(pointer, Unknown):
        return pointer
    counted = tensor_of(pointer)
    if counted is not None and counted.space is cute.Space.COORDINATE:
        return Cute(replace(counted, layout=_shape_or_layout(call, 1)))
    if not isinstance(pointer, Pointer):
        raise cute.CuteError("a tensor of what is no pointer")
    given = call.values[1] if len(call.values) > 1 else None
    found = layout_of(given) if given is not None else None
    if isinstance(given, Unknown) and pointer.object.space is Space.SHARED:
        return UnknownTensor(given.reason)  # a layout, or a length, which says as little
    if found is None:
        found = _shape_or_layout(call, 1)
    return Cute(make_tensor(call.ev, pointer, found, call.node))


def _element(call: Call) -> Any:
    return type_argument(call.ev, call.types[0]) if call.types else None


def _shape_or_layout(call: Call, index: int) -> cute.Layout:
    plain = plain_layout_of(call.values[index]) if index < len(call.values) else None
    if plain is not None:
        return plain
    inner = Call(call.ev, "make_layout", (), call.values[index:], call.node)
    layout = plain_layout_of(make_layout(inner))
    assert layout is not None
    return layout


@function("make_fragment_like", "make_tensor_like", "make_rmem_tensor_like")
def _fragment_like(call: Call) -> Value:
    bits = call.type_bits(0) if call.types else 0
    tensor = tensor_of(call.values[0])
    is_fragment = call.name == "make_fragment_like"
    plain = plain_argument(call, 0)
    layout = cute.make_fragment_like(plain) if is_fragment else cute.make_layout_like(plain)
    if tensor is None:
        if not bits:
            return Cute(layout)
        return Cute(register_tensor(bits, layout, _element(call)))
    fragment = cute.make_register_tensor(bits or tensor.bits, layout)
    if bits:
        return Cute(register_tensor(bits, layout, _element(call)))
    return Cute(like_registers(tensor, fragment))


@function("make_identity_tensor", "make_counting_tensor")
def _coordinates(call: Call) -> Value:
    return Cute(identity_tensor(_shape_or_layout(call, 0)))


@function("recast")
def _recast(call: Call) -> Value:
    """Evaluates `recast<T>(tensor)`: wider elements lose what the swizzle does below them.

    A swizzle that is torn so is noted.

    Raises:
        CuteError: layouts and widths do not divide.
    """
    tensor, bits = call.tensor(0), call.type_bits(0)
    changed, ctype = tensor.recast(bits), _element(call)
    origin = tensor.origin
    if not isinstance(origin, Origin) or ctype is None:
        return Cute(changed)
    layout, use = tensor.layout, origin.use
    if isinstance(layout, cute.ComposedLayout) and use is not None and bits > tensor.bits:
        factor = bits // tensor.bits
        if layout.swizzle.loses_bits_when_upcast(factor):
            torn = replace(
                use,
                span=call.ev.state.unit.span(call.node),
                parameters=(("vector_bytes", bits // 8),),
                is_bound=False,
            )
            call.ev.state.layouts.setdefault(f"recast {torn.span} {bits // 8}", torn)
    pointer = replace(origin.pointer, target=ctype)
    return Cute(replace(changed, origin=Origin(pointer, use)))


@function("as_position_independent_swizzle_tensor")
def _independent(call: Call) -> Value:
    tensor = call.tensor(0)
    if tensor.swizzle is None:
        return call.values[0]
    return Cute(with_use(call.ev, cute.as_position_independent(tensor), call.node))


@function("domain_offset")
def _domain_offset(call: Call) -> Value:
    return Cute(call.tensor(1).domain_offset(call.convert.coordinate(call.values[0])))


@function("local_tile")
def _local_tile(call: Call) -> Value:
    projection = call.convert.coordinate(call.values[3]) if len(call.values) > 3 else None
    tiler, at = call.convert.tiler(call.values[1]), call.convert.coordinate(call.values[2])
    return Cute(cute.local_tile(call.tensor(0), tiler, at, projection))


@function("local_partition")
def _local_partition(call: Call) -> Value:
    projection = call.convert.coordinate(call.values[3]) if len(call.values) > 3 else None
    thread = call.convert.integer(call.values[2])
    return Cute(cute.local_partition(call.tensor(0), call.layout(1), thread, projection))


@function("make_smem_ptr", "make_gmem_ptr", "make_rmem_ptr", "raw_pointer_cast", "recast_ptr")
def _pointer(call: Call) -> Value:
    value = call.values[0]
    ctype = type_argument(call.ev, call.types[0]) if call.types else None
    if isinstance(value, Unknown) and call.name == "make_gmem_ptr":
        return _somewhere(call, ctype) or value
    if ctype is None or not isinstance(value, Pointer):
        return value
    return Pointer(value.object, value.offset, ctype, value.is_volatile)


def _somewhere(call: Call, ctype: CType | None) -> Pointer | None:
    """Returns a pointer into global memory whose value is not known; None for unknown elements."""
    if ctype is None:
        given = operand_of(call.ev, call.node.args[0]).type
        ctype = given.target if isinstance(given, PointerType) else None
    if ctype is None or not ctype.size:
        return None
    obj = Object("elements", ctype, Space.GLOBAL, call.ev.state.key(call.node, "elements"))
    return Pointer(obj, ORIGIN, ctype)
