"""What Gluon's names mean: a record of what a kernel does to shared memory.

Source: triton 3.9.0, experimental/gluon/language (`_layouts.py`, `_core.py`, `_semantic.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field, fields, replace
from math import prod

from smemlint.analysis.python.element_types import (
    DTYPES,
    TORCH_CONSTRUCTORS,
    TORCH_LIKE_CONSTRUCTORS,
)
from smemlint.analysis.python.gluon.arguments import reason_of
from smemlint.analysis.python.gluon.layouts import REGISTER_LAYOUTS, SHARED_LAYOUTS, view_of
from smemlint.analysis.python.gluon.tensor_memory import TENSOR_MEMORY, TensorMemory
from smemlint.analysis.python.gluon.tensors import (
    attribute_of,
    call_tensor_function,
    elementwise,
    host_tensor,
    of_host,
    of_tensor,
)
from smemlint.analysis.python.gluon.values import (
    AMD,
    Descriptor,
    HostDescriptor,
    HostTensor,
    LayoutLiteral,
    Tensor,
    TileAccess,
    ViewArguments,
)
from smemlint.analysis.python.interpreter import RecordingModel
from smemlint.analysis.python.interpreter.arguments import BoundArguments, integers
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    Scope,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.facts import LayoutUse, SharedArray, Span
from smemlint.frontend.heuristics import is_barrier_allocation, names_amd_module
from smemlint.layout.gluon import Nvmma, Padded, SharedLayout, Swizzled
from smemlint.layout.memdesc import SharedView
from smemlint.layout.register_layouts import Blocked, DotOperand, Mma, RegisterLayout, Slice
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

_NO_PARAMETERS = Reason(ReasonCode.UNKNOWN_LAYOUT, "the layout's parameters are not known")
_NO_SLICE = Reason(ReasonCode.UNKNOWN_VALUE, "a slice at an unknown place")
_REINTERPRETED = Reason(ReasonCode.UNKNOWN_LAYOUT, "a reinterpretation")
_PART_REINTERPRETED = Reason(ReasonCode.UNKNOWN_LAYOUT, "a reinterpretation of a part")


@dataclass(eq=False)
class GluonModel(RecordingModel):
    """The model of Gluon's names, with a record of what a kernel does to shared memory.

    Attributes:
        span_of, text_of: the place and the text of a node.
        accesses, arrays, layouts: of the kernel, in order.
        has_amd: the kernel uses something of AMD GPUs.
        warps: that execute it; None where not known.
        reached: places of all allocations that were executed, by any kernel.
        elsewhere: places of allocations that other functions take, or that are reinterpreted.
    """

    span_of: Callable[[ast.AST], Span]
    text_of: Callable[[ast.AST], str]
    accesses: list[TileAccess] = field(default_factory=list)
    arrays: list[SharedArray] = field(default_factory=list)
    layouts: list[LayoutUse] = field(default_factory=list)
    has_amd: bool = False
    kernel: str = ""
    warps: int | None = None
    reached: set[Span] = field(default_factory=set)
    elsewhere: set[Span] = field(default_factory=set)
    _known_arrays: dict[tuple[Span, str, int | None], SharedArray] = field(default_factory=dict)

    def named(self, value: Value, name: str) -> Value:
        """Gives a new array the name of the first variable that it is assigned to."""
        if isinstance(value, Descriptor) and not value.array.name:
            array = replace(value.array, name=name)
            self._known_arrays[array.span, array.element, array.bytes] = array
            self.arrays = [array if a is value.array else a for a in self.arrays]
            return replace(value, array=array)
        return value

    # ---- calls

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of a function of Gluon or torch, or of a method of their values."""
        if isinstance(callee, Method):
            return self._call_method(callee, given, node)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if names_amd_module(callee.path):
            self.has_amd = True
            return AMD
        self.elsewhere |= {v.array.span for v in given.values() if isinstance(v, Descriptor)}
        name = callee.name
        if name in ("get_default_for", "with_identity_for"):
            name = callee.path.rsplit(".", 2)[-2] + "." + name
        if name in REGISTER_LAYOUTS:
            layout = REGISTER_LAYOUTS[name](given)
            self.has_amd |= layout is AMD
            return layout
        if name in SHARED_LAYOUTS:
            return self._construct_layout(name, given, node)
        if name == "allocate_shared_memory":
            return self._allocate(given, node)
        if name in TENSOR_MEMORY:
            return TENSOR_MEMORY[name](given)
        return _call_host(callee, given)

    def _construct_layout(self, name: str, given: BoundArguments, node: ast.Call) -> Value:
        family, construct = SHARED_LAYOUTS[name]
        found = construct(given)
        layout = found if isinstance(found, SharedLayout) else None
        problem = (found.reason or _NO_PARAMETERS) if isinstance(found, Unknown) else None
        spelled = " ".join(self.text_of(node).split())
        return LayoutLiteral(layout, self.span_of(node), spelled, family, problem)

    def _allocate(self, given: BoundArguments, node: ast.Call) -> Value:
        self.reached.add(self.span_of(node))
        dtype, shape = given.get(0, "element_ty"), given.shape(1, "shape")
        written, value = given.get(2, "layout"), given.get(3, "value", None)
        if isinstance(written, Symbol | Unknown) and is_barrier_allocation(ast.unparse(node)):
            return UNKNOWN
        known = dtype if isinstance(dtype, DType) else None
        if (
            known is None
            and isinstance(written, LayoutLiteral)
            and isinstance(written.layout, Nvmma)
        ):
            known = DType(f"{written.layout.element_bits}-bit", written.layout.element_bits)
        array = self._array(node, known, shape, written)
        view, reason = view_of(written, known, shape)
        layout = written.layout if isinstance(written, LayoutLiteral) else None
        descriptor = Descriptor(array, known, shape, view, reason, layout, shape, known)
        if isinstance(written, LayoutLiteral) and isinstance(written.layout, SharedLayout):
            self._use(written, known, shape, array)
        if isinstance(value, Tensor):
            self._record(node, descriptor, value.layout, value.reason, is_store=True)
        return descriptor

    def _array(
        self, node: ast.Call, dtype: DType | None, shape: tuple[int, ...] | None, written: Value
    ) -> SharedArray:
        bits = dtype.bits if dtype is not None else 0
        layout = written.layout if isinstance(written, LayoutLiteral) else None
        total = None
        if shape is not None and bits:
            total = (layout.size(shape) if layout is not None else prod(shape)) * bits // 8
        element = dtype.name if dtype is not None else ""
        span = self.span_of(node)
        if (span, element, total) not in self._known_arrays:
            alignment = 1024 if getattr(written, "family", "") == "nvmma" else 16
            array = SharedArray("", span, element, bits // 8, (), 0, total, alignment)
            self._known_arrays[span, element, total] = array
        array = self._known_arrays[span, element, total]
        if array not in self.arrays:
            self.arrays.append(array)
        return array

    def _use(
        self,
        written: LayoutLiteral,
        dtype: DType | None,
        shape: tuple[int, ...] | None,
        array: SharedArray,
    ) -> None:
        if shape is None or self.is_paused:
            return
        layout = written.layout
        parameters: list[tuple[str, int]] = []
        if isinstance(layout, Swizzled):
            parameters = [(n, getattr(layout, n)) for n in ("vec", "per_phase", "max_phase")]
            if 0 < layout.rank <= len(shape) and sorted(layout.order) == list(range(layout.rank)):
                parameters.append(("row", layout.row(shape)))
        elif isinstance(layout, Nvmma):
            parameters = [
                ("swizzle_byte_width", layout.swizzle_bytes),
                ("element_bitwidth", layout.element_bits),
            ]
        elif isinstance(layout, Padded):
            for interval, padding in layout.pairs:
                parameters += [("interval", interval), ("padding", padding)]
        self.layouts.append(
            LayoutUse(
                written.span,
                written.family,
                written.spelled,
                self.kernel,
                parameters=tuple(parameters),
                units="elements",
                element_bytes=dtype.bits // 8 if dtype is not None else 0,
                shape=shape,
                alignment=array.alignment,
                array=array,
            )
        )

    # ---- methods

    def _call_method(self, method: Method, given: BoundArguments, node: ast.Call) -> Value:
        owner = method.owner
        if isinstance(owner, Descriptor):
            return self._of_descriptor(owner, method.name, given, node)
        if isinstance(owner, HostTensor):
            return of_host(owner, method.name, given)
        if isinstance(owner, Tensor):
            return of_tensor(owner, method.name, given)
        if isinstance(owner, TensorMemory):
            return owner.call(method.name, given, self.warps)
        return UNKNOWN

    def _of_descriptor(
        self, owner: Descriptor, name: str, given: BoundArguments, node: ast.Call
    ) -> Value:
        match name:
            case "load":
                layout = given.get(0, "layout")
                found = layout if isinstance(layout, RegisterLayout) else None
                self._record(node, owner, found, reason_of(layout), is_store=False)
                return Tensor(owner.shape, found, owner.dtype, reason_of(layout))
            case "store":
                value = given.get(0, "value")
                found = value.layout if isinstance(value, Tensor) else None
                self._record(node, owner, found, reason_of(value), is_store=True)
                return None
            case "gather":
                self._record(node, owner, None, None, is_store=False, is_data_dependent=True)
                indices = given.get(0, "indices")
                return indices if isinstance(indices, Tensor) else Tensor()
            case "scatter":
                self._record(node, owner, None, None, is_store=True, is_data_dependent=True)
                return None
            case "index" | "slice" | "permute" | "reshape" | "reinterpret" | "_reinterpret":
                return self._viewed(owner, name, given)
            case "_keep_alive":
                return None
        return UNKNOWN

    def _viewed(self, owner: Descriptor, name: str, given: BoundArguments) -> Value:
        if name in ("reinterpret", "_reinterpret"):
            return self._reinterpreted(owner, given)
        if owner.view is None:
            shape = owner.shape[1:] if name == "index" and owner.shape is not None else None
            return replace(owner, shape=shape)
        arguments = _view_arguments(name, given)
        if arguments is None:
            return replace(owner, shape=None, view=None, reason=_NO_SLICE)
        try:
            view: SharedView = getattr(owner.view, name)(*arguments)
        except (IndexError, ValueError) as error:
            return replace(
                owner, shape=None, view=None, reason=Reason(ReasonCode.UNKNOWN_LAYOUT, str(error))
            )
        operations = (*owner.operations, (name, arguments))
        return replace(owner, shape=view.shape, view=view, operations=operations)

    def _reinterpreted(self, owner: Descriptor, given: BoundArguments) -> Value:
        dtype = given.get(0, "dtype", owner.dtype)
        shape = given.shape(1, "shape") if given.has(1, "shape") else owner.shape
        written = given.get(2, "layout", None)
        known = dtype if isinstance(dtype, DType) else None
        self.elsewhere.add(owner.array.span)
        if written is None:
            return replace(owner, dtype=known, shape=shape, view=None, reason=_REINTERPRETED)
        view, reason = view_of(written, known, shape)
        if view is not None and owner.view is not None and (owner.view.base or owner.view.start):
            view, reason = None, _PART_REINTERPRETED
        return Descriptor(owner.array, known, shape, view, reason)

    def _record(
        self,
        node: ast.AST,
        descriptor: Descriptor,
        layout: RegisterLayout | None,
        reason: Reason | None,
        *,
        is_store: bool,
        is_data_dependent: bool = False,
    ) -> None:
        self.has_amd |= any(
            r is not None and r.code is ReasonCode.OTHER_HARDWARE
            for r in (reason, descriptor.reason)
        )
        if self.is_paused:
            return
        text = " ".join(self.text_of(node).split())
        access = TileAccess(
            self.span_of(node), text, is_store, descriptor, layout, reason, is_data_dependent
        )
        self.accesses.append(access)

    # ---- attributes, subscripts, operators

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns the element type of this name, or the name itself."""
        if names_amd_module(symbol.path):
            self.has_amd = True
        bits = DTYPES.get(symbol.name)
        return DType(symbol.name, bits) if bits is not None else symbol

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a tensor, a descriptor, a layout or an element type."""
        for types, attribute in _ATTRIBUTES:
            if isinstance(owner, types):
                return attribute(owner, name)
        return owner if name == "value" and is_known(owner) else UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Returns `x[:, None]`: a tensor with another dimension of extent 1."""
        if not isinstance(owner, Tensor):
            return UNKNOWN
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        shape, layout = owner.shape, owner.layout
        for dim, part in enumerate(parts):
            if isinstance(part, ast.Constant) and part.value is None:
                is_sliced = isinstance(layout, Slice) and layout.dim == dim
                layout = layout.parent if isinstance(layout, Slice) and is_sliced else None
                shape = (*shape[:dim], 1, *shape[dim:]) if shape is not None else None
        return Tensor(shape, layout, owner.dtype, owner.reason)

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns the tensor that an elementwise operator gives."""
        return elementwise([one, other])

    def unary(self, operation: ast.unaryop, operand: Value) -> Value:
        """Returns a tensor like the operand."""
        return operand if isinstance(operand, Tensor) else UNKNOWN


def _call_host(callee: Symbol, given: BoundArguments) -> Value:
    """Returns the result of a function that neither is a layout nor touches shared memory."""
    first = given.get(0, "input")
    if callee.name == "from_tensor":
        tensor = given.get(0, "tensor")
        dtype = tensor.dtype if isinstance(tensor, HostTensor) else UNKNOWN
        return HostDescriptor(given.get(1, "block_shape"), given.get(2, "layout"), dtype)
    if callee.path in TORCH_LIKE_CONSTRUCTORS and isinstance(first, HostTensor):
        return of_host(first, callee.name, given)
    return (
        host_tensor(given)
        if callee.path in TORCH_CONSTRUCTORS
        else call_tensor_function(callee.name, given)
    )


def _view_arguments(name: str, given: BoundArguments) -> ViewArguments | None:
    """Returns the arguments of `SharedView`'s method of this name; None where one is unknown."""
    match name:
        case "index":
            position = given.get(0, "index")
            # Whole buffers: an unknown position moves all lanes alike.
            return (position if isinstance(position, int) else 0,)
        case "slice":
            start, length = given.get(0, "start"), given.get(1, "length")
            dim = given.get(2, "dim", 0)
            if isinstance(start, int) and isinstance(length, int) and isinstance(dim, int):
                return (start, length, dim)
            return None
        case "permute":
            return (given.shape(0, "order") or (),)
    return (given.shape(0, "shape") or (),)


# ---- attributes by the type of their owner


def _of_descriptor(owner: Descriptor, name: str) -> Value:
    match name:
        case "shape":
            return [*owner.shape] if owner.shape is not None else UNKNOWN
        case "dtype":
            return owner.dtype if owner.dtype is not None else UNKNOWN
        case "rank":
            return len(owner.shape) if owner.shape is not None else UNKNOWN
        case "layout":
            return UNKNOWN
    return Method(owner, name)


def _of_host_tensor(owner: HostTensor, name: str) -> Value:
    if name == "shape" and owner.shape is not None:
        return [*owner.shape]
    return owner.dtype if name == "dtype" else Method(owner, name)


def _of_host_descriptor(owner: HostDescriptor, name: str) -> Value:
    match name:
        case "block_shape":
            return owner.block_shape
        case "layout":
            return owner.layout
        case "dtype":
            return owner.dtype
        case "block_type":
            return Tensor(integers(owner.block_shape))
    return UNKNOWN


def _of_register_layout(owner: RegisterLayout, name: str) -> Value:
    readable: tuple[str, ...] = ()
    if isinstance(owner, Blocked | Mma):
        readable = tuple(f.name for f in fields(owner))
    elif isinstance(owner, Slice | DotOperand):
        readable = tuple(n for n in ("parent", "dim", "k_width") if hasattr(owner, n))
    if name not in readable:
        return UNKNOWN
    value: Value = getattr(owner, name)
    return [*value] if isinstance(value, tuple) else value


def _of_dtype(owner: DType, name: str) -> Value:
    attributes: Scope = {"primitive_bitwidth": owner.bits, "element_ty": owner, "name": owner.name}
    return attributes.get(name, UNKNOWN)


_ATTRIBUTES: tuple[tuple[type, Callable[..., Value]], ...] = (
    (Descriptor, _of_descriptor),
    (Tensor, attribute_of),
    (TensorMemory, attribute_of),
    (HostTensor, _of_host_tensor),
    (HostDescriptor, _of_host_descriptor),
    (RegisterLayout, _of_register_layout),
    (DType, _of_dtype),
)
