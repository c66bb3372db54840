"""Attributes and subscripts of the DSL's values."""

from __future__ import annotations

import ast
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import is_of_warps, is_uniform, reason_of
from smemlint.analysis.python.cute_dsl.execution.functions.atoms import operation_of
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import (
    coordinate_at,
    item_of,
    pointer_of,
)
from smemlint.analysis.python.cute_dsl.execution.recording.elements import (
    access_element,
    elements_of,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.storage import Storage, StorageField, field_of
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Architecture,
    Cute,
    Namespace,
    Number,
    Opaque,
    OpValue,
    Origin,
    Pointer,
    ThreadSlice,
    TmaInfo,
    UnknownTensor,
    WithoutLanes,
)
from smemlint.analysis.python.interpreter.objects import fields_of
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    DType,
    Instance,
    Method,
    Symbol,
    Unknown,
    Value,
)
from smemlint.analysis.simt.cute.run_time import from_engine
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.reasons import Reason, ReasonCode

_NO_SWIZZLE = Swizzle(0, 4, 3)
"""Of pointers without one, as nvidia-cutlass-dsl 4.8.1 prints it."""


def attribute(run: Execution, owner: Value, name: str) -> Value:
    """Returns an attribute of a value of the DSL; a method where it has none of that name."""
    match owner:
        case Cute(payload=payload):
            found = _of_payload(run, payload, name)
            return found if found is not None else Method(owner, name)
        case str() | int() if name == "value":  # of a member of an `Enum`
            return owner
        case DType():
            return {"width": owner.bits, "bits": owner.bits}.get(name, Method(owner, name))
        case Opaque():
            return Opaque(f"{owner.name}.{name}")
        case Architecture(capability=(major, minor)) if name in ("major", "minor"):
            return major if name == "major" else minor
        case Class() if name == "__annotations__" and not _has_annotations(owner):
            return owner.members.setdefault(name, {})
        case Class() if name == "__name__":
            return owner.node.name
        case Class() if name == "__dict__":
            return dict(owner.members.items())
        case Namespace() | TmaInfo():
            return owner.attributes.get(name, UNKNOWN)
        case Unknown():
            return replace(owner)
        case Instance() | Class() if name == "_fields":
            return fields_of(owner.type if isinstance(owner, Instance) else owner)
        case Instance() if name in owner.attributes:
            text = f"the attribute `{name}` is not known"
            return Unknown.because(ReasonCode.UNKNOWN_VALUE, text)
        case Instance(type=made) if any(
            is_of_warps(base) for part in made.linearization for base in part.libraries
        ):
            return Opaque(name)
    return Method(owner, name)


def _has_annotations(owner: Class) -> bool:
    """Returns whether the body of a class annotates members, which are not followed."""
    return any(isinstance(statement, ast.AnnAssign) for statement in owner.node.body)


def _of_payload(run: Execution, payload: object, name: str) -> Value | None:
    match payload:
        case cute.Tensor():
            return _of_tensor(run, payload, name)
        case UnknownTensor():
            return _of_unknown_tensor(payload, name)
        case cute.Layout() | cute.ComposedLayout():
            return _of_layout(run, payload, name)
        case Pointer():
            named: dict[str, Value] = {
                "dtype": payload.origin.dtype,
                "value_type": payload.origin.dtype,
                "alignment": payload.alignment,
                "max_alignment": payload.alignment,
                "type": Cute(payload),
                "swizzle_type": Cute(payload.swizzle or _NO_SWIZZLE),
                "llvm_ptr": Cute(payload) if payload.space is cute.Space.SHARED else None,
            }
            return named.get(name)
        case Swizzle():
            parts = {"num_bits": payload.bits, "num_base": payload.base, "num_shift": payload.shift}
            return parts.get(name)
        case Storage():
            return field_of(run, payload, name)
        case StorageField():
            return Cute(payload.pointer) if name == "ptr" else None
        case ThreadSlice() | WithoutLanes() if name == "thr_idx" and payload.thread is not None:
            return numbers.value_of(run, payload.thread)
        case ThreadSlice():
            return _of_payload(run, payload.tiled, name)
        case cute.CopyAtom() if name == "op":
            operation = operation_of(payload.op)
            return Cute(operation) if operation is not None else None
        case OpValue():
            return payload.named.get(name)
        case cute.TiledMma():
            return _of_mma(run, payload, name)
        case cute.TiledCopy():
            return _of_copy(run, payload, name)
    return None


def _of_tensor(run: Execution, tensor: cute.Tensor, name: str) -> Value | None:
    origin = tensor.origin
    match name:
        case "layout":
            return Cute(tensor.layout)
        case "shape":
            return numbers.value_of(run, tensor.shape)
        case "stride":
            return numbers.value_of(run, tensor.layout.plain.stride)
        case "element_type" | "dtype" if isinstance(origin, Origin):
            return origin.dtype
        case "iterator" if isinstance(origin, Origin):
            return Cute(pointer_of(tensor))
        case "memspace":
            return Symbol(f"cutlass.cute.AddressSpace.{tensor.space.value}")
        case "leading_dim":
            return leading_mode(tensor.layout.plain)
        case "type":
            return Opaque("type")
    return None


def leading_mode(layout: cute.Layout) -> Value:
    """Returns the mode whose stride is 1; unknown where there is none."""
    for at, stride in enumerate(cute.wrap(layout.stride)):
        if 1 in cute.leaves(stride):
            return at
    return UNKNOWN


def _of_unknown_tensor(tensor: UnknownTensor, name: str) -> Value | None:
    if name in ("element_type", "dtype", "value_type"):
        return (
            tensor.dtype
            if tensor.dtype is not None
            else Unknown.because(ReasonCode.NOT_MODELLED, tensor.reason)
        )
    if name == "iterator":
        return Cute(tensor)
    if name in ("shape", "layout", "stride", "leading_dim"):  # alike in all threads
        return Unknown(Reason(ReasonCode.NOT_MODELLED, tensor.reason), is_uniform=True)
    return None


def _of_layout(
    run: Execution, layout: cute.Layout | cute.ComposedLayout, name: str
) -> Value | None:
    match name:
        case "shape":
            return numbers.value_of(run, layout.shape)
        case "stride":
            return numbers.value_of(run, layout.plain.stride)
        case "outer":
            return Cute(layout.plain)
        case "inner" if isinstance(layout, cute.ComposedLayout):
            return Cute(layout.swizzle)
        case "offset" if isinstance(layout, cute.ComposedLayout) and isinstance(layout.offset, int):
            return layout.offset
        case "max_alignment":
            return cute.max_alignment(layout)
        case "is_normal":
            return False
    return None


def _of_mma(run: Execution, mma: cute.TiledMma, name: str) -> Value | None:
    match name:
        case "shape_mnk":
            return mma.op.shape
        case "size":
            return mma.threads
        case "permutation_mnk":
            return tuple(numbers.value_of(run, p) for p in mma.permutation)
        case "thr_layout_vmnk":
            return Cute(mma.thread_layout)
        case "thr_id":
            return Cute(mma.op.threads)
        case "tv_layout_A_tiled" | "tv_layout_B_tiled" | "tv_layout_C_tiled":
            operand: cute.Operand = name[10]  # type: ignore[assignment]
            return Cute(mma.thread_value(operand))
        case "tv_layout_A" | "tv_layout_B" | "tv_layout_C":
            return Cute({"A": mma.op.a, "B": mma.op.b, "C": mma.op.c}[name[-1]])
        case "op":
            return Opaque("operation")
    return None


def _of_copy(run: Execution, tiled: cute.TiledCopy, name: str) -> Value | None:
    match name:
        case "size":
            return tiled.threads
        case "layout_tv_tiled":
            return Cute(tiled.thread_value)
        case "layout_src_tv_tiled":
            return Cute(tiled.layout_of("S"))
        case "layout_dst_tv_tiled":
            return Cute(tiled.layout_of("D"))
        case "tiler_mn":
            return numbers.value_of(run, tiled.tiler)
    return None


# ---- subscripts


def _loaded(run: Execution, tensor: cute.Tensor | UnknownTensor, key: Value) -> Value:
    """Returns an element that is read: one number if all threads read the same address."""
    if run.kernel is None or tensor.space not in (cute.Space.GLOBAL, cute.Space.SHARED):
        return DATA
    is_one = is_uniform(key)
    if is_one and isinstance(tensor, cute.Tensor):
        try:
            at = from_engine(tensor.address_of(numbers.coordinate(run, key)))
        except cute.CuteError:
            return DATA
        is_one = isinstance(at, AffineInt) and at.is_uniform
    if not is_one:
        return DATA
    return Number(run.fresh("a number in memory", nonnegative=False))


def subscript(run: Execution, owner: Value, key: Value, node: ast.AST) -> Value:
    """Returns `owner[key]`; an element of a tensor in shared memory is loaded."""
    if isinstance(owner, Cute):
        owner = Cute(elements_of(owner.payload))
    match owner:
        case Cute(payload=cute.Tensor() | UnknownTensor() as tensor):
            run.reach(node, tensor)
            part = item_of(run, tensor, key)
            if part is not None:
                return Cute(part)
            if tensor.space is cute.Space.GLOBAL and isinstance(key, Unknown):
                reason = reason_of(key, "which part of a tensor it is, is not known")
                return Cute(UnknownTensor(tensor.space, reason))  # or an element
            if tensor.space is cute.Space.COORDINATE and isinstance(tensor, cute.Tensor):
                return coordinate_at(run, tensor, key)
            access_element(run, tensor, key, AccessKind.LOAD, node)
            return _loaded(run, tensor, key)
        case Cute(payload=cute.Layout() | cute.ComposedLayout() as layout) if isinstance(key, int):
            return Cute(layout.plain.mode(key))
        case Opaque():
            return Opaque(f"{owner.name}[]")
        case Unknown():
            return replace(owner, is_uniform=owner.is_uniform and is_uniform(key))
        case Number():
            return owner
    return UNKNOWN
