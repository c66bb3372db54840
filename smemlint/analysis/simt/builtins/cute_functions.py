"""CuTe's functions on layouts and tensors; an element of a shared tensor is a shared access."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.builtins.cute_types import is_cute_name, uses_cute
from smemlint.analysis.simt.calls.operands import arguments_of
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.domain.ctypes import I64, ArrayType, CType, RecordType, StaticType
from smemlint.analysis.simt.domain.cute import (
    Swizzled,
    Tensor,
    composed,
    int_tuple,
    layout_of,
    made_layout,
    plain_layout,
    tiled,
    value_of,
)
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.swizzled import swizzled
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Cute,
    Pointer,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.pointers import lvalue_at_unknown_offset
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.facts import Certainty, LayoutUse
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.analysis.simt.evaluator import Evaluator

_MAKERS = frozenset(
    ("make_shape", "make_stride", "make_coord", "make_tuple", "make_tile", "make_step")
)
_POINTERS = frozenset(("make_smem_ptr", "make_gmem_ptr", "raw_pointer_cast", "recast_ptr"))
_QUERIES = frozenset(("size", "cosize", "rank", "shape", "stride", "get", "layout", "depth"))
_SAME = frozenset(
    ("as_position_independent_swizzle_tensor", "as_position_independent_swizzle_layout")
)
_ELEMENTS = frozenset(("data", "begin"))


# ---- functions


def call_cute(
    ev: Evaluator, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
) -> Value | None:
    """Returns the value of a function of CuTe's; None when the name is none."""
    if not uses_cute(ev) or not is_cute_name(ev, name):
        return None
    exprs = arguments_of(node)
    if name in _POINTERS:
        return _typed_pointer(ev, ev.evaluate(exprs[0]), arguments) if exprs else None
    if name in _MAKERS:
        return Cute(tuple(_coordinate(ev, e) for e in exprs))
    if name in ("make_layout", "composition", "tile_to_shape", "make_tensor", *_SAME):
        values = [ev.evaluate(e) for e in exprs]
        return _construct_layout(ev, name, arguments, values, node)
    if name in _QUERIES and exprs:
        value = ev.evaluate(exprs[0])
        return query(ev, name, arguments, value) if isinstance(value, Cute) else None
    if name == "recast" and arguments and exprs:
        value = ev.evaluate(exprs[0])
        kind = type_argument(ev, arguments[-1])
        if isinstance(value, Cute) and kind is not None:
            return _recast(ev, value, kind, node)
    return None


def _construct_layout(
    ev: Evaluator, name: str, arguments: tuple[str, ...], values: list[Value], node: c_ast.FuncCall
) -> Value:
    if name == "make_layout":
        return made_layout(values)
    if name == "tile_to_shape":
        return tiled(values)
    if name in _SAME and values:
        return values[0]
    if name == "composition" and len(values) == 2:
        return composed(values[0], values[1])
    if name == "make_tensor" and len(values) in (2, 3) and isinstance(values[0], Pointer):
        layout = values[1] if layout_of(values[1]) is not None else made_layout(values[1:])
        return _make_tensor(ev, values[0], layout, node)
    return Unknown(f"`{name}` is not followed here")


def _typed_pointer(ev: Evaluator, value: Value, arguments: tuple[str, ...]) -> Value:
    kind = type_argument(ev, arguments[0]) if arguments else None
    if kind is None or not isinstance(value, Pointer):
        return value
    return Pointer(value.object, value.offset, kind, value.is_volatile)


def query(ev: Evaluator, name: str, arguments: tuple[str, ...], value: Cute) -> Value | None:
    """`size<0>(x)` and its like."""
    index = [value_argument(ev, a) for a in arguments]
    path = [i.constant for i in index if isinstance(i, AffineInt) and i.constant is not None]
    if len(path) != len(index):
        return Unknown("a mode that is not known")
    if name == "layout":
        found = layout_of(value)
        return Cute(found) if found is not None and not path else None
    layout = plain_layout(value)
    if layout is None:
        return _query_tuple(ev, name, value, path)
    try:
        for mode in path:
            layout = layout.modes()[mode]
    except IndexError:
        return Unknown("a layout has no such mode")
    if name in ("shape", "stride", "get"):
        return value_of(layout.stride if name == "stride" else layout.shape)
    figures = {"size": layout.size, "cosize": layout.cosize, "rank": layout.rank}
    return number(cute.static(figures[name])) if name in figures else None


def _query_tuple(ev: Evaluator, name: str, value: Cute, path: list[int]) -> Value | None:
    found: Value = value
    for mode in path:
        items = found.payload if isinstance(found, Cute) else None
        if not isinstance(items, tuple) or not 0 <= mode < len(items):
            return None
        found = items[mode]
    if name in ("get", "shape", "stride"):
        return found
    known = int_tuple(found)
    if known is None:
        return Unknown("a tuple that is known only at run time")
    if name == "size":
        return number(cute.static(cute.product(known)))
    return number(len(known) if isinstance(known, tuple) else 1) if name == "rank" else None


def variable_template(ev: Evaluator, name: str) -> Value | None:
    """Returns the value of `cosize_v<L>` and `sizeof_bits_v<T>`; None of all others."""
    last, arguments = ev.state.unit.template_arguments(name.rsplit("::", 1)[-1])
    kind = type_argument(ev, arguments[0]) if len(arguments) == 1 else None
    if last == "sizeof_bits_v" and kind is not None and kind.size:
        return number(8 * kind.size)
    if last == "cosize_v" and isinstance(kind, StaticType):
        layout = plain_layout(static_value(kind))
        return number(cute.static(layout.cosize)) if layout is not None else None
    return None


# ---- tensors


def _make_tensor(ev: Evaluator, pointer: Pointer, layout: Value, node: c_ast.Node) -> Value:
    """Returns a tensor in shared memory; elsewhere it is of no interest."""
    if pointer.object.space is not Space.SHARED:
        return Unknown("a tensor that is not in shared memory")
    found = layout_of(layout)
    size = pointer.target.size
    if found is None or not size:
        why = layout.reason if isinstance(layout, Unknown) else "the layout is not known"
        said = f"the layout of a tensor of `{pointer.object.name}` is not known: {why}"
        return ev.state.note_unfollowed(node, said)
    if not isinstance(found, Swizzled):
        return Cute(Tensor(pointer, found, offset_of(0)))
    use = _layout_use(ev, pointer, found, node)
    held = replace(pointer, object=_view(pointer.object, use))
    return Cute(Tensor(held, found.layout, offset_of(0), found.swizzle, found.units, use))


def _layout_use(ev: Evaluator, pointer: Pointer, found: Swizzled, node: c_ast.Node) -> LayoutUse:
    """Returns the fact of a swizzled layout over a pointer."""
    state = ev.state
    array, at = pointer.object.shared, pointer.offset.constant
    size = pointer.target.size
    unit = size if found.units == "bytes" else 1
    modes = found.layout.static_modes()
    extent = None
    if array is not None and array.bytes is not None and at is not None:
        extent = (array.bytes - at) // size * unit
    s = found.swizzle
    use = LayoutUse(
        state.unit.span(node),
        "cute",
        str(found),
        state.frames[0].name,
        (s.bits, s.base, s.shift),
        units=found.units,
        element_bytes=size,
        shape=tuple(extent for extent, _ in modes),
        stride=tuple(stride * unit for _, stride in modes),
        extent=extent,
        array=array,
        certainty=Certainty.ASSUMED,
        is_bound=True,
        base=at,
    )
    return state.layouts.setdefault(f"tensor {use.span} {found} {at}", use)


def _recast(ev: Evaluator, value: Cute, kind: CType, node: c_ast.Node) -> Value:
    """`recast<T>(tensor)`: wider elements lose what the swizzle does below them, as in CuTe."""
    tensor = value.payload
    if not isinstance(tensor, Tensor) or not kind.size or tensor.offset.constant != 0:
        return Unknown("a recast that is not followed")
    old, new = tensor.pointer.target.size, kind.size
    pointer = replace(tensor.pointer, target=kind)
    if old == new:
        return Cute(replace(tensor, pointer=pointer))
    factor = max(old, new) // min(old, new)
    try:
        if new > old:
            layout = cute.upcast(tensor.layout, factor)
        else:
            layout = cute.downcast(tensor.layout, factor)
        s = tensor.swizzle
        if s is not None and tensor.units == "elements":
            if new > old and tensor.use is not None and s.loses_bits_when_upcast(factor):
                torn = replace(
                    tensor.use,
                    span=ev.state.unit.span(node),
                    parameters=(("vector_bytes", new),),
                    is_bound=False,
                )
                ev.state.layouts.setdefault(f"recast {torn.span} {new}", torn)
            s = s.upcast(factor) if new > old else s.downcast(factor)
    except ValueError as error:
        return Unknown(f"CuTe refuses the recast: {error}")
    return Cute(replace(tensor, pointer=pointer, layout=layout, swizzle=s))


# ---- elements


def evaluate_tensor_call(ev: Evaluator, tensor: Tensor, node: c_ast.FuncCall) -> Value:
    """Returns the element or slice that `t(i, j)` or `t(_, k)` gives."""
    exprs = arguments_of(node)
    if any(_is_slice(e) for e in exprs):
        return slice_tensor(ev, tensor, exprs)
    place = tensor_element(ev, tensor, exprs, node)
    return place if isinstance(place, Unknown) else read_lvalue(ev, place, node)


def called_tensor(ev: Evaluator, node: c_ast.FuncCall) -> Tensor | None:
    """The tensor that a call names, which `t(i, j)` is an element of; None of all others."""
    return tensor_named(ev, node.name) if isinstance(node.name, c_ast.ID) else None


def tensor_named(ev: Evaluator, node: c_ast.Node) -> Tensor | None:
    """Returns the tensor that a name stands for."""
    binding = ev.state.lookup(node.name) if node.__class__ is c_ast.ID else None
    if binding.__class__ is not Variable:
        return None
    target = getattr(binding.type, "target", binding.type)
    if target.__class__ is not StaticType or not isinstance(target.value, Cute):
        return None
    if not isinstance(target.value.payload, Tensor):
        return None
    value = ev.evaluate(node)  # it may have been assigned anew
    held = value.payload if isinstance(value, Cute) else None
    return held if isinstance(held, Tensor) else None


def _coordinate(ev: Evaluator, node: c_ast.Node) -> Value:
    return Cute("_") if _is_slice(node) else ev.evaluate(node)


def tensor_element(
    ev: Evaluator, tensor: Tensor, exprs: list[c_ast.Node], node: c_ast.Node
) -> LValue | Unknown:
    """Returns the place of an element: layout, then swizzle, then bytes."""
    values = [_coordinate(ev, e) for e in exprs]
    inside = _layout_offset(
        ev, values[0] if len(values) == 1 else Cute(tuple(values)), tensor.layout
    )
    if not isinstance(inside, Unknown):
        inside = ev.state.domain.add(tensor.offset, inside)
    at = inside if isinstance(inside, Unknown) else _swizzled_byte(ev, tensor, inside)
    if isinstance(at, Unknown):
        return lvalue_at_unknown_offset(ev, tensor.pointer, at)
    held = tensor.pointer
    return LValue(held.object, at, held.target, held.is_volatile)


def _swizzled_byte(ev: Evaluator, tensor: Tensor, inside: AffineInt) -> AffineInt | Unknown:
    """Returns the byte where an offset of the layout is kept."""
    moved: AffineInt | Unknown = inside
    if tensor.swizzle is not None and tensor.units == "elements":
        moved = swizzled(inside, tensor.swizzle)
    if isinstance(moved, Unknown):
        return moved
    wide = AffineInt(moved.base, I64, moved.terms, moved.form)
    step = ev.state.domain.multiply(wide, AffineInt(tensor.pointer.target.size, I64))
    if isinstance(step, Unknown):
        return step
    at = ev.state.domain.add(tensor.pointer.offset, step)
    if tensor.swizzle is not None and tensor.units == "bytes":
        return swizzled(at, tensor.swizzle)
    return at


def _layout_offset(ev: Evaluator, coordinate: Value, layout: cute.Layout) -> AffineInt | Unknown:
    """Returns the layout's offset of a coordinate: a number, or a tuple with one entry a mode."""
    if isinstance(coordinate, Cute) and isinstance(coordinate.payload, tuple):
        modes = layout.modes()
        if len(coordinate.payload) != len(modes):
            return Unknown(f"a coordinate of another rank than {layout}")
        total: AffineInt | Unknown = AffineInt(0, I64)
        for part, mode in zip(coordinate.payload, modes, strict=True):
            step = _layout_offset(ev, part, mode)
            if isinstance(total, Unknown) or isinstance(step, Unknown):
                return total if isinstance(total, Unknown) else step
            total = ev.state.domain.add(total, step)
        return total
    if isinstance(coordinate, Unknown):
        return coordinate
    if not isinstance(coordinate, AffineInt):
        return Unknown("a coordinate is not a number")
    return _layout_offset_of_number(ev, coordinate, layout)


def _layout_offset_of_number(
    ev: Evaluator, coordinate: AffineInt, layout: cute.Layout
) -> AffineInt | Unknown:
    modes = cute.coalesce(layout).static_modes()
    total: AffineInt | Unknown = AffineInt(0, I64)
    rest: Value = AffineInt(coordinate.base, I64, coordinate.terms, coordinate.form)
    for k, (extent, stride) in enumerate(modes):
        part = rest
        if k + 1 < len(modes):
            part = apply_binary(ev, "%", rest, number(extent, I64), _NOWHERE)
            rest = apply_binary(ev, "/", rest, number(extent, I64), _NOWHERE)
        if isinstance(part, Unknown):
            return part
        assert isinstance(part, AffineInt) and isinstance(total, AffineInt)
        step = ev.state.domain.multiply(part, number(stride, I64))
        if isinstance(step, Unknown):
            return step
        total = ev.state.domain.add(total, step)
    return total


def slice_tensor(ev: Evaluator, tensor: Tensor, exprs: list[c_ast.Node]) -> Value:
    """`t(_, k)`: the modes that stay, with what is fixed added before the swizzle."""
    modes = tensor.layout.modes()
    if len(exprs) != len(modes):
        return Unknown(f"a slice of another rank than {tensor.layout}")
    kept: list[cute.Layout] = []
    offset: AffineInt | Unknown = tensor.offset
    for expr, mode in zip(exprs, modes, strict=True):
        if _is_slice(expr):
            kept.append(mode)
            continue
        step = _layout_offset(ev, ev.evaluate(expr), mode)
        if isinstance(step, Unknown) or isinstance(offset, Unknown):
            return step if isinstance(step, Unknown) else offset
        offset = ev.state.domain.add(offset, step)
    if isinstance(offset, Unknown):
        return offset
    layout = kept[0] if len(kept) == 1 else cute.make_layout(*kept)
    return Cute(replace(tensor, layout=layout, offset=offset))


# ---- members


def call_cute_method(ev: Evaluator, callee: c_ast.StructRef, node: c_ast.FuncCall) -> Value | None:
    """Returns the value of a method of a tensor or array; None of all others."""
    tensor = tensor_named(ev, callee.name)
    name, arguments = ev.state.unit.template_arguments(callee.field.name)
    if tensor is not None:
        if name in _ELEMENTS:
            return tensor.pointer
        found = query(ev, name, arguments, Cute(tensor)) if name in _QUERIES else None
        if found is not None:
            return found
        return unfollowed_call(ev, ev.state.source_text(callee), node)
    if uses_cute(ev) and name in _ELEMENTS and callee.type == ".":
        place = ev.lvalue(callee.name)
        array = _array_member(place.type) if isinstance(place, LValue) else None
        if isinstance(place, LValue) and array is not None:
            return Pointer(place.object, place.offset, array.element, place.volatile)
    return None


_NOWHERE = c_ast.Constant("int", "0")


def _view(obj: Object, use: LayoutUse) -> Object:
    """Returns the object, to be reached through a swizzle."""
    return Object(
        obj.name,
        obj.type,
        obj.space,
        obj.key,
        shared=obj.shared,
        is_volatile=obj.is_volatile,
        origin=obj.origin or obj,
        layout=use,
    )


def _is_slice(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ID) and node.name in ("_", "cute::_")


def _array_member(kind: CType) -> ArrayType | None:
    """Returns the array of a class that is nothing but an array."""
    if not isinstance(kind, RecordType) or kind.record is not None or len(kind.members) != 1:
        return None
    only = kind.members[0]
    return only.type if not only.name and isinstance(only.type, ArrayType) else None
