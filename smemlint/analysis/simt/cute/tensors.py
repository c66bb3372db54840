"""Making tensors of pointers: in shared, global and register memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.analysis.simt.cute.values import Origin
from smemlint.analysis.simt.domain.ctypes import I64, CType, FloatType
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Object,
    Pointer,
    Space,
    Unknown,
    offset_of,
)
from smemlint.facts import Certainty, LayoutUse
from smemlint.layout import cute
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.frontend import ir
    from smemlint.layout.cute import AnyLayout
    from smemlint.layout.swizzle import Swizzle

_SPACES = {Space.SHARED: cute.Space.SHARED, Space.LOCAL: cute.Space.REGISTER}


def make_tensor(
    ev: Evaluator, pointer: Pointer, layout: AnyLayout | cute.SmemAtom, node: ir.Node
) -> cute.Tensor:
    """Returns `make_tensor(pointer, layout)`; a flagged layout's swizzle goes to the pointer.

    Raises:
        CuteError: the width of an element is not known.
    """
    space = _SPACES.get(pointer.object.space, cute.Space.GLOBAL)
    bits = 8 * pointer.target.size
    if not bits:
        raise cute.CuteError(f"the elements of `{pointer.object.name}` have an unknown width")
    plain: AnyLayout = layout.layout if isinstance(layout, cute.SmemAtom) else layout
    swizzle = layout.swizzle if isinstance(layout, cute.SmemAtom) else None
    if swizzle is not None and swizzle.is_identity:
        swizzle = None
    trial = ev.state.trial
    if trial is not None and swizzle is None and trial.concerns(pointer):
        plain = trial.applied(plain)
    base = to_engine(pointer.offset, ev.state.domain) * 8
    origin = Origin(pointer)
    tensor = cute.Tensor(space, bits, plain, base, swizzle, origin)
    if space is not cute.Space.SHARED:
        return tensor
    return with_use(ev, tensor, node)


def with_use(ev: Evaluator, tensor: cute.Tensor, node: ir.Node) -> cute.Tensor:
    """Returns a shared tensor whose accesses know its layout, and its origin the swizzle."""
    origin = tensor.origin
    assert isinstance(origin, Origin)
    found: tuple[Swizzle, str] | None = None
    if isinstance(tensor.layout, cute.ComposedLayout):
        found = tensor.layout.swizzle, "elements"
    elif tensor.swizzle is not None:
        found = tensor.swizzle, "bytes"
    if not tensor.layout.plain.is_static:
        return tensor
    swizzle, units = found if found is not None else (None, "elements")
    use = _use(ev, tensor, origin.pointer, swizzle, units, node)
    if swizzle is None:
        pointer = replace(origin.pointer, object=_view(origin.pointer.object, use))
        return replace(tensor, origin=Origin(pointer))
    use = ev.state.layouts.setdefault(f"tensor {use.span} {use.spelled} {use.base}", use)
    pointer = replace(origin.pointer, object=_view(origin.pointer.object, use))
    return replace(tensor, origin=Origin(pointer, use))


def _use(
    ev: Evaluator,
    tensor: cute.Tensor,
    pointer: Pointer,
    swizzle: Swizzle | None,
    units: str,
    node: ir.Node,
) -> LayoutUse:
    """Returns the layout over a pointer as a fact."""
    array, at = pointer.object.shared, pointer.offset.constant
    size = pointer.target.size
    unit = size if units == "bytes" else 1
    modes = tensor.layout.plain.static_modes()
    extent = None
    if array is not None and array.bytes is not None and at is not None:
        extent = (array.bytes - at) // size * unit
    plain = tensor.layout.plain
    return LayoutUse(
        ev.state.unit.span(node),
        "cute",
        f"{swizzle} o {plain}" if swizzle is not None else str(plain),
        ev.state.frames[0].name,
        (swizzle.bits, swizzle.base, swizzle.shift) if swizzle is not None else None,
        units=units,
        element_bytes=size,
        shape=tuple(extent for extent, _ in modes),
        stride=tuple(stride * unit for _, stride in modes),
        extent=extent,
        array=array,
        certainty=Certainty.ASSUMED,
        is_bound=True,
        base=at,
        ranks=tuple(len(mode.static_modes()) for mode in plain.modes()),
    )


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


def register_tensor(bits: int, layout: cute.Layout, element: CType | None = None) -> cute.Tensor:
    """Returns a tensor in registers; what its elements hold is not followed."""
    kind = element if element is not None else FloatType("register", max(bits // 8, 1))
    obj = Object("registers", kind, Space.GLOBAL, "registers")
    origin = Origin(Pointer(obj, offset_of(0), kind))
    return replace(cute.make_register_tensor(bits, layout), origin=origin)


def like_registers(tensor: cute.Tensor, fragment: cute.Tensor) -> cute.Tensor:
    """Returns a fragment with elements of the tensor's type."""
    origin = tensor.origin
    kind = origin.pointer.target if isinstance(origin, Origin) else None
    if kind is not None and 8 * kind.size != fragment.bits:
        kind = None
    made = register_tensor(fragment.bits, fragment.layout.plain, kind)
    return replace(made, layout=fragment.layout)


def data_of(tensor: cute.Tensor) -> Pointer | Unknown:
    """Returns `tensor.data()`: the pointer to offset 0."""
    origin = tensor.origin
    if not isinstance(origin, Origin):
        return Unknown(Reason(ReasonCode.UNKNOWN_ADDRESS, "a tensor without a pointer"))
    from smemlint.analysis.simt.cute.run_time import from_engine

    byte = from_engine(tensor.base // 8)
    if isinstance(byte, Unknown):
        return byte
    pointer = origin.pointer
    return replace(pointer, offset=AffineInt(byte.base, I64, byte.terms, byte.form))
