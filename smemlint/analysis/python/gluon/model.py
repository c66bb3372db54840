"""What Gluon's names mean: a record of what a kernel does to shared memory.

Source: triton 3.9.0, experimental/gluon/language (`_layouts.py`, `_core.py`, `_semantic.py`).
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from math import prod
from typing import TYPE_CHECKING, Any

from smemlint.analysis.python.gluon.arguments import Given, integers, reason_of
from smemlint.analysis.python.gluon.layouts import REGISTER_LAYOUTS, SHARED_LAYOUTS, view_of
from smemlint.analysis.python.gluon.tensors import (
    MAKES_LIKE,
    MAKES_TENSORS,
    attribute_of,
    called,
    host_tensor,
    of_host,
    of_tensor,
    unified,
)
from smemlint.analysis.python.gluon.values import (
    AMD,
    DTYPES,
    Descriptor,
    HostDescriptor,
    HostTensor,
    Seen,
    Written,
)
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    Symbol,
    Tensor,
    Unknown,
    Value,
    is_known,
)
from smemlint.facts import LayoutUse, SharedArray, Span
from smemlint.layout.gluon import Nvmma, Padded, SharedLayout, Swizzled
from smemlint.layout.register_layouts import Blocked, DotOperand, Mma, RegisterLayout, Slice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(eq=False)
class GluonLibrary:
    """The meaning of Gluon's names, and a record of what was done to shared memory.

    Attributes:
        span_of: the place of a node.
        text_of: its text.
        elsewhere: places of allocations that other functions take, or that are reinterpreted.
        reached: places of all allocations that were followed, by any kernel.
    """

    span_of: Callable[[ast.AST], Span]
    text_of: Callable[[ast.AST], str]
    seen: list[Seen] = field(default_factory=list)
    arrays: list[SharedArray] = field(default_factory=list)
    layouts: list[LayoutUse] = field(default_factory=list)
    has_amd: bool = False
    kernel: str = ""
    reached: set[Span] = field(default_factory=set)
    elsewhere: set[Span] = field(default_factory=set)
    _is_paused: bool = False
    _known_arrays: dict[object, SharedArray] = field(default_factory=dict)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is recorded inside."""
        before = self._is_paused
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = before

    def named(self, value: Value, name: str) -> Value:
        """A new array gets the name of the first variable that holds it."""
        if isinstance(value, Descriptor) and not value.array.name:
            array = replace(value.array, name=name)
            self._known_arrays[array.span, array.element, array.bytes] = array
            self.arrays = [array if a is value.array else a for a in self.arrays]
            return replace(value, array=array)
        return value

    # ---- calls

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """See `follow.Library.call`."""
        if isinstance(callee, Method):
            return self._method(callee, arguments, named, node)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if ".amd." in callee.path:
            self.has_amd = True
            return AMD
        self.elsewhere |= {
            v.array.span for v in (*arguments, *named.values()) if isinstance(v, Descriptor)
        }
        given = Given(arguments, named)
        name = callee.name
        if name == "get_default_for" or name == "with_identity_for":
            name = callee.path.rsplit(".", 2)[-2] + "." + name
        maker = REGISTER_LAYOUTS.get(name)
        if maker is not None:
            made = maker(given)
            if made is AMD:
                self.has_amd = True
            return made
        if name in SHARED_LAYOUTS:
            return self._written(name, given, node)
        if name == "allocate_shared_memory":
            return self._allocate(given, node)
        if name == "from_tensor":
            tensor = given.get(0, "tensor")
            dtype = tensor.dtype if isinstance(tensor, HostTensor) else UNKNOWN
            return HostDescriptor(given.get(1, "block_shape"), given.get(2, "layout"), dtype)
        first = given.get(0, "input")
        if callee.path in MAKES_LIKE and isinstance(first, HostTensor):
            return of_host(first, callee.name, given)
        if callee.path in MAKES_TENSORS:
            return host_tensor(given)
        return called(name, given)

    def _written(self, name: str, given: Given, node: ast.Call) -> Value:
        family, make = SHARED_LAYOUTS[name]
        made = make(given)
        layout = made if isinstance(made, SharedLayout) else None
        reason = made.reason if isinstance(made, Unknown) else ""
        problem = "" if layout else reason or "the layout's parameters are not known"
        spelled = " ".join(self.text_of(node).split())
        return Written(layout, self.span_of(node), spelled, family, problem)

    def _allocate(self, given: Given, node: ast.Call) -> Value:
        self.reached.add(self.span_of(node))
        dtype, shape = given.get(0, "element_ty"), given.shape(1, "shape")
        written, value = given.get(2, "layout"), given.get(3, "value", None)
        if isinstance(written, Symbol | Unknown) and _is_barrier(node):
            return UNKNOWN
        known = dtype if isinstance(dtype, DType) else None
        if known is None and isinstance(written, Written) and isinstance(written.layout, Nvmma):
            known = DType(f"{written.layout.element_bits}-bit", written.layout.element_bits)
        array = self._array(node, known, shape, written)
        view, reason = view_of(written, known, shape)
        layout = written.layout if isinstance(written, Written) else None
        descriptor = Descriptor(array, known, shape, view, reason, layout, shape, known)
        if isinstance(written, Written) and isinstance(written.layout, SharedLayout):
            self._use(written, known, shape, array)
        if isinstance(value, Tensor):
            self._record(node, descriptor, value.layout, value.reason, is_store=True)
        return descriptor

    def _array(
        self, node: ast.Call, dtype: DType | None, shape: tuple[int, ...] | None, written: Value
    ) -> SharedArray:
        bits = dtype.bits if dtype is not None else 0
        layout = written.layout if isinstance(written, Written) else None
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
        written: Written,
        dtype: DType | None,
        shape: tuple[int, ...] | None,
        array: SharedArray,
    ) -> None:
        if shape is None or self._is_paused:
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

    def _method(
        self, method: Method, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        given = Given(arguments, named)
        owner = method.owner
        if isinstance(owner, Descriptor):
            return self._of_descriptor(owner, method.name, given, node)
        if isinstance(owner, HostTensor):
            return of_host(owner, method.name, given)
        if isinstance(owner, Tensor):
            return of_tensor(owner, method.name, given)
        return UNKNOWN

    def _of_descriptor(self, owner: Descriptor, name: str, given: Given, node: ast.Call) -> Value:
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
                self._record(node, owner, None, "", is_store=False, is_data_dependent=True)
                indices = given.get(0, "indices")
                return indices if isinstance(indices, Tensor) else Tensor()
            case "scatter":
                self._record(node, owner, None, "", is_store=True, is_data_dependent=True)
                return None
            case "index" | "slice" | "permute" | "reshape" | "reinterpret" | "_reinterpret":
                return self._viewed(owner, name, given)
            case "_keep_alive":
                return None
        return UNKNOWN

    def _viewed(self, owner: Descriptor, name: str, given: Given) -> Value:
        if name in ("reinterpret", "_reinterpret"):
            return self._reinterpreted(owner, given)
        if owner.view is None:
            shape = owner.shape[1:] if name == "index" and owner.shape is not None else None
            return replace(owner, shape=shape)
        try:
            match name:
                case "index":
                    position = given.get(0, "index")
                    # Whole buffers: an unknown position moves all lanes alike.
                    given_to: tuple[Any, ...] = (position if isinstance(position, int) else 0,)
                case "slice":
                    start, length = given.get(0, "start"), given.get(1, "length")
                    dim = given.get(2, "dim", 0)
                    if not all(isinstance(v, int) for v in (start, length, dim)):
                        return replace(
                            owner, shape=None, view=None, reason="a slice at an unknown place"
                        )
                    given_to = (start, length, dim)
                case "permute":
                    given_to = (given.shape(0, "order") or (),)
                case _:
                    given_to = (given.shape(0, "shape") or (),)
            view = getattr(owner.view, name)(*given_to)
        except (IndexError, ValueError) as error:
            return replace(owner, shape=None, view=None, reason=str(error))
        operations = (*owner.operations, (name, given_to))
        return replace(owner, shape=view.shape, view=view, operations=operations)

    def _reinterpreted(self, owner: Descriptor, given: Given) -> Value:
        dtype = given.get(0, "dtype", owner.dtype)
        shape = given.shape(1, "shape") if given.has(1, "shape") else owner.shape
        written = given.get(2, "layout", None)
        known = dtype if isinstance(dtype, DType) else None
        self.elsewhere.add(owner.array.span)
        if written is None:
            return replace(owner, dtype=known, shape=shape, view=None, reason="a reinterpretation")
        view, reason = view_of(written, known, shape)
        if view is not None and owner.view is not None and (owner.view.base or owner.view.start):
            view, reason = None, "a reinterpretation of a part"
        return Descriptor(owner.array, known, shape, view, reason)

    def _record(
        self,
        node: ast.AST,
        descriptor: Descriptor,
        layout: RegisterLayout | None,
        reason: str,
        *,
        is_store: bool,
        is_data_dependent: bool = False,
    ) -> None:
        self.has_amd |= AMD.reason in (reason, descriptor.reason)
        if self._is_paused:
            return
        text = " ".join(self.text_of(node).split())
        self.seen.append(
            Seen(self.span_of(node), text, is_store, descriptor, layout, reason, is_data_dependent)
        )

    # ---- attributes, subscripts, operators

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """See `follow.Library.attribute`."""
        if isinstance(owner, Symbol):
            if ".amd" in owner.path:
                self.has_amd = True
            bits = DTYPES.get(owner.name)
            return DType(owner.name, bits) if bits is not None else owner
        if isinstance(owner, Descriptor):
            if name == "shape":
                return list(owner.shape) if owner.shape is not None else UNKNOWN
            if name in ("dtype", "rank"):
                known = owner.dtype if name == "dtype" else owner.shape and len(owner.shape)
                return UNKNOWN if known is None else known
            return Method(owner, name) if name != "layout" else UNKNOWN
        if isinstance(owner, Tensor):
            return attribute_of(owner, name)
        if isinstance(owner, HostTensor):
            if name == "shape" and owner.shape is not None:
                return list(owner.shape)
            return owner.dtype if name == "dtype" else Method(owner, name)
        if isinstance(owner, HostDescriptor):
            if name in ("block_shape", "layout", "dtype"):
                return getattr(owner, name)
            shape = integers(owner.block_shape)
            return Tensor(shape) if name == "block_type" else UNKNOWN
        if isinstance(owner, Blocked | Mma) and name in {f.name for f in fields(owner)}:
            value = getattr(owner, name)
            return list(value) if isinstance(value, tuple) else value
        if isinstance(owner, Slice | DotOperand) and name in ("parent", "dim", "k_width"):
            return getattr(owner, name)
        if isinstance(owner, DType):
            parts: dict[str, Value] = {
                "primitive_bitwidth": owner.bits,
                "element_ty": owner,
                "name": owner.name,
            }
            return parts.get(name, UNKNOWN)
        if isinstance(owner, list):
            return Method(owner, name)
        if name == "value" and is_known(owner):
            return owner
        return UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """See `follow.Library.subscript`: `x[:, None]` expands a tensor."""
        if not isinstance(owner, Tensor):
            return UNKNOWN
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        shape, layout = owner.shape, owner.layout
        for dim, part in enumerate(parts):
            if isinstance(part, ast.Constant) and part.value is None:
                is_cut = isinstance(layout, Slice) and layout.dim == dim
                layout = layout.parent if isinstance(layout, Slice) and is_cut else None
                shape = (*shape[:dim], 1, *shape[dim:]) if shape is not None else None
        return Tensor(shape, layout, owner.dtype, owner.reason)

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """See `follow.Library.combined`: tensors of one layout give one."""
        del operation
        return unified([one, other])


def _is_barrier(node: ast.Call) -> bool:
    return "MBarrier" in ast.unparse(node)
