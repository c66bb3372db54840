"""Making tensors of pointers: in shared, global and register memory."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.cute_facts import tensor_use
from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.analysis.simt.cute.values import Origin
from smemlint.analysis.simt.domain.ctypes import I64, CType, FloatType
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Object,
    Pointer,
    Space,
    Unknown,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.facts import LayoutUse
from smemlint.frontend import ir
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout
from smemlint.reasons import ReasonCode

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
    offset = pointer.offset.constant
    if trial is not None and trial.concerns(pointer.object.shared, offset):
        plain, swizzle = trial.applied(plain, swizzle)
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
    obj, at = origin.pointer.object, origin.pointer.offset.constant
    array, extent = obj.shared, None
    if array is not None and array.bytes is not None and at is not None:
        extent = array.bytes - at
    kernel = ev.state.frames[0].name
    span = ev.state.unit.span(node)
    use = tensor_use(span, kernel, tensor, array, at, extent=extent, is_bound=True)
    if use is None:
        return tensor
    if use.swizzle is None:
        pointer = replace(origin.pointer, object=_view(obj, use))
        return replace(tensor, origin=Origin(pointer))
    use = ev.state.layouts.setdefault(f"tensor {use.span} {use.spelled} {use.base}", use)
    pointer = replace(origin.pointer, object=_view(obj, use))
    return replace(tensor, origin=Origin(pointer, use))


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


REGISTERS = "registers"
"""Name and key of what all tensors in registers point into."""


def register_tensor(bits: int, layout: cute.Layout, element: CType | None = None) -> cute.Tensor:
    """Returns a tensor in registers; what its elements hold is not followed."""
    ctype = element if element is not None else FloatType("register", max(bits // 8, 1))
    obj = Object(REGISTERS, ctype, Space.GLOBAL, REGISTERS)
    origin = Origin(Pointer(obj, ORIGIN, ctype))
    return replace(cute.make_register_tensor(bits, layout), origin=origin)


def like_registers(tensor: cute.Tensor, fragment: cute.Tensor) -> cute.Tensor:
    """Returns a fragment with elements of the tensor's type."""
    origin = tensor.origin
    ctype = origin.pointer.target if isinstance(origin, Origin) else None
    if ctype is not None and 8 * ctype.size != fragment.bits:
        ctype = None
    result = register_tensor(fragment.bits, fragment.layout.plain, ctype)
    return replace(result, layout=fragment.layout)


def data_of(tensor: cute.Tensor) -> Pointer | Unknown:
    """Returns `tensor.data()`: the pointer to offset 0."""
    origin = tensor.origin
    if not isinstance(origin, Origin):
        return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a tensor without a pointer")
    from smemlint.analysis.simt.cute.run_time import from_engine

    byte = from_engine(tensor.base // 8)
    if isinstance(byte, Unknown):
        return byte
    pointer = origin.pointer
    return replace(pointer, offset=AffineInt(byte.base, I64, byte.terms, byte.form))
