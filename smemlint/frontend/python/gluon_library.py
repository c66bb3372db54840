"""What Gluon's names mean: layouts, descriptors of shared memory, and tensors with their layouts.

Source: triton 3.9.0, experimental/gluon/language (`_layouts.py`, `_core.py`, `_semantic.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from smemlint.facts import LayoutUse, SharedArray, Span
from smemlint.frontend.python.abstract import (
    UNKNOWN,
    DType,
    Method,
    Symbol,
    Tensor,
    Unknown,
    Value,
    is_known,
)
from smemlint.layout.distributed import (
    Blocked,
    DotOperand,
    Linear,
    Mma,
    RegisterLayout,
    Slice,
)
from smemlint.layout.gluon import (
    Nvmma,
    Padded,
    SharedLayout,
    SharedLinear,
    Swizzled,
    default_nvmma,
    identity_bases,
)

if TYPE_CHECKING:
    from smemlint.layout.shared_view import SharedView

DTYPES = {
    "int8": 8, "uint8": 8, "float8e4nv": 8, "float8e5": 8, "float8e4b8": 8, "float8e4b15": 8,
    "float8e5b16": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16, "int32": 32,
    "uint32": 32, "float32": 32, "int64": 64, "uint64": 64, "float64": 64,
}  # fmt: skip
AMD = Unknown("warps of 64 lanes")
AUTOMATIC = Unknown("the compiler chooses the layout")
_MAKES_TENSORS = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "rand", "randn"))
_TRANSPARENT = frozenset(("constexpr", "to_tensor", "multiple_of", "max_contiguous", "assume"))
_ELEMENTWISE = frozenset(
    [
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "abs",
        "where",
        "maximum",
        "minimum",
        "fma",
        "cast",
        "floor",
        "ceil",
        "erf",
        "sigmoid",
        "clamp",
        "bitcast",
        "div_rn",
        "sqrt_rn",
        "fdiv",
        "add",
        "sub",
        "mul",
    ]
)
_LOADS = frozenset(("load", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"))


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A shared layout and where the source writes it."""

    layout: SharedLayout | None
    span: Span
    spelled: str
    family: str
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class HostDescriptor:
    """`TensorDescriptor.from_tensor(tensor, block_shape, layout)`: what kernels see of it."""

    block_shape: Value
    layout: Value
    dtype: Value = UNKNOWN


@dataclass(frozen=True, slots=True)
class HostTensor:
    """A tensor that host code makes, e.g. `torch.empty(m, n, dtype=torch.float16)`."""

    shape: tuple[int, ...] | None
    dtype: DType


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A shared memory descriptor.

    Attributes:
        array: the allocation.
        dtype: its element type; None where not known.
        shape: None where not known.
        view: where its elements lie; None where not known, with the reason.
    """

    array: SharedArray
    dtype: DType | None
    shape: tuple[int, ...] | None
    view: SharedView | None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A load or store of shared memory.

    Attributes:
        is_store: else a load.
        descriptor: what is accessed.
        layout: of the registers; None where not known.
        reason: why something is not known.
    """

    span: Span
    expression: str
    is_store: bool
    descriptor: Descriptor
    layout: RegisterLayout | None
    reason: str = ""
    is_data_dependent: bool = False


@dataclass(eq=False)
class GluonLibrary:
    """The meaning of Gluon's names, and a record of what was done to shared memory.

    Attributes:
        span_of: the place of a node.
        text_of: its text.
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
        given = _Given(arguments, named)
        name = callee.name
        if name == "get_default_for" or name == "with_identity_for":
            name = callee.path.rsplit(".", 2)[-2] + "." + name
        maker = _LAYOUTS.get(name)
        if maker is not None:
            made = maker(given)
            if made is AMD:
                self.has_amd = True
            return made
        if name in _SHARED_LAYOUTS:
            return self._written(name, given, node)
        if name == "allocate_shared_memory":
            return self._allocate(given, node)
        if name == "from_tensor":
            tensor = given.get(0, "tensor")
            dtype = tensor.dtype if isinstance(tensor, HostTensor) else UNKNOWN
            return HostDescriptor(given.get(1, "block_shape"), given.get(2, "layout"), dtype)
        if callee.path in _MAKES_TENSORS:
            return _host_tensor(given)
        return _other(name, given)

    def _written(self, name: str, given: _Given, node: ast.Call) -> Value:
        family, make = _SHARED_LAYOUTS[name]
        made = make(given)
        layout = made if isinstance(made, SharedLayout) else None
        reason = made.reason if isinstance(made, Unknown) else ""
        problem = "" if layout else reason or "the layout's parameters are not known"
        spelled = " ".join(self.text_of(node).split())
        return Written(layout, self.span_of(node), spelled, family, problem)

    def _allocate(self, given: _Given, node: ast.Call) -> Value:
        self.reached.add(self.span_of(node))
        dtype, shape = given.get(0, "element_ty"), given.shape(1, "shape")
        written, value = given.get(2, "layout"), given.get(3, "value", None)
        if isinstance(written, Symbol | Unknown) and _is_barrier(node):
            return UNKNOWN
        known = dtype if isinstance(dtype, DType) else None
        if known is None and isinstance(written, Written) and isinstance(written.layout, Nvmma):
            known = DType(f"{written.layout.element_bits}-bit", written.layout.element_bits)
        array = self._array(node, known, shape, written)
        view, reason = _view(written, known, shape)
        descriptor = Descriptor(array, known, shape, view, reason)
        if isinstance(written, Written) and isinstance(written.layout, SharedLayout):
            self._use(written, known, shape, array)
        if isinstance(value, Tensor):
            self._record(node, descriptor, value.layout, value.reason, is_store=True)
        return descriptor

    def _array(
        self, node: ast.Call, dtype: DType | None, shape: tuple[int, ...] | None, written: Value
    ) -> SharedArray:
        bits = dtype.bits if dtype is not None else 0
        total = None
        if shape is not None and bits:
            total = bits // 8
            for extent in shape:
                total *= extent
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
            if layout.rank <= len(shape) and sorted(layout.order) == list(range(layout.rank)):
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
        given = _Given(arguments, named)
        owner = method.owner
        if isinstance(owner, Descriptor):
            return self._of_descriptor(owner, method.name, given, node)
        if isinstance(owner, Tensor):
            return _of_tensor(owner, method.name, given)
        return UNKNOWN

    def _of_descriptor(self, owner: Descriptor, name: str, given: _Given, node: ast.Call) -> Value:
        match name:
            case "load":
                layout = given.get(0, "layout")
                found = layout if isinstance(layout, RegisterLayout) else None
                self._record(node, owner, found, _why(layout), is_store=False)
                return Tensor(owner.shape, found, owner.dtype, _why(layout))
            case "store":
                value = given.get(0, "value")
                found = value.layout if isinstance(value, Tensor) else None
                self._record(node, owner, found, _why(value), is_store=True)
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

    def _viewed(self, owner: Descriptor, name: str, given: _Given) -> Value:
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
                    view = owner.view.index(position if isinstance(position, int) else 0)
                case "slice":
                    start, length = given.get(0, "start"), given.get(1, "length")
                    dim = given.get(2, "dim", 0)
                    if not all(isinstance(v, int) for v in (start, length, dim)):
                        return replace(
                            owner, shape=None, view=None, reason="a slice at an unknown place"
                        )
                    view = owner.view.slice(start, length, dim)
                case "permute":
                    view = owner.view.permute(given.shape(0, "order") or ())
                case _:
                    view = owner.view.reshape(given.shape(0, "shape") or ())
        except (IndexError, ValueError) as error:
            return replace(owner, shape=None, view=None, reason=str(error))
        return replace(owner, shape=view.shape, view=view)

    def _reinterpreted(self, owner: Descriptor, given: _Given) -> Value:
        dtype = given.get(0, "dtype", owner.dtype)
        shape = given.shape(1, "shape") if given.has(1, "shape") else owner.shape
        written = given.get(2, "layout", None)
        known = dtype if isinstance(dtype, DType) else None
        if written is None:
            return replace(owner, dtype=known, shape=shape, view=None, reason="a reinterpretation")
        view, reason = _view(written, known, shape)
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
            return _tensor_attribute(owner, name)
        if isinstance(owner, HostTensor):
            if name == "shape" and owner.shape is not None:
                return list(owner.shape)
            return owner.dtype if name == "dtype" else UNKNOWN
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
        return _unified([one, other])


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """Arguments of a call."""

    positional: list[Value]
    named: dict[str, Value]

    def has(self, at: int, name: str) -> bool:
        """Whether the argument is given."""
        return at < len(self.positional) or name in self.named

    def get(self, at: int, name: str, default: Value = UNKNOWN) -> Value:
        """An argument by place or name."""
        if at < len(self.positional):
            return self.positional[at]
        return self.named.get(name, default)

    def shape(self, at: int, name: str) -> tuple[int, ...] | None:
        """An argument that is a sequence of integers."""
        return integers(self.get(at, name))

    def shapes(self, *names: str) -> list[tuple[int, ...]] | None:
        """Leading arguments that are all sequences of integers."""
        found = [self.shape(i, name) for i, name in enumerate(names)]
        return None if None in found else [f for f in found if f is not None]

    def is_clustered(self, start: int) -> bool:
        """Whether arguments from a place on, or named ones, spread the layout over several CTAs."""
        spread = [*self.positional[start:], *(self.named.get(n) for n in _CLUSTER_NAMES)]
        return any(not _is_one_cta(v) for v in spread)


_CLUSTER_NAMES = ("cga_layout", "ctas_per_cga", "block_bases")


def _is_one_cta(value: Value) -> bool:
    if value is None or value == [] or value == ():
        return True
    return isinstance(value, list | tuple) and all(v in (0, 1) for v in value)


def integers(value: Value) -> tuple[int, ...] | None:
    """A sequence of integers; None where it is none or not known."""
    if isinstance(value, list | tuple) and all(isinstance(v, int) for v in value):
        return tuple(value)
    return None


def bases(value: Value) -> tuple[tuple[int, ...], ...] | None:
    """A sequence of sequences of integers; None where it is none or not known."""
    if not isinstance(value, list | tuple):
        return None
    found = [integers(v) for v in value]
    return None if None in found else tuple(f for f in found if f is not None)


def _why(value: Value) -> str:
    if isinstance(value, Unknown | Tensor):
        return value.reason
    return ""


def _host_tensor(given: _Given) -> Value:
    """A tensor of `torch.empty(2, 3, dtype=torch.float16)` and the like."""
    dtype = given.named.get("dtype")
    if not isinstance(dtype, DType):
        return UNKNOWN
    extents = given.positional
    if len(extents) == 1 and isinstance(extents[0], tuple | list):
        extents = list(extents[0])
    return HostTensor(integers(extents), dtype)


def _is_barrier(node: ast.Call) -> bool:
    return "MBarrier" in ast.unparse(node)


def _view(
    written: Value, dtype: DType | None, shape: tuple[int, ...] | None
) -> tuple[SharedView | None, str]:
    if not isinstance(written, Written):
        return None, _why(written) or "its shared layout is not known"
    if written.layout is None:
        return None, written.problem
    if dtype is None:
        return None, "its element type is not known"
    if shape is None:
        return None, "its shape is not known"
    try:
        return written.layout.view(shape, dtype.bits), ""
    except ValueError as error:
        return None, str(error)


# ---- layouts


def _blocked(given: _Given) -> Value:
    parts = given.shapes("size_per_thread", "threads_per_warp", "warps_per_cta", "order")
    if parts is None:
        threads = given.shape(1, "threads_per_warp")
        return AMD if threads is not None and _product(threads) == 64 else UNKNOWN
    if given.is_clustered(4):
        return Unknown("the layout spans several CTAs")
    if _product(parts[1]) == 64:
        return AMD
    if len({len(p) for p in parts}) != 1:
        return UNKNOWN
    return Blocked(*parts)


def _slice(given: _Given) -> Value:
    dim, parent = given.get(0, "dim"), given.get(1, "parent")
    if isinstance(dim, int) and isinstance(parent, RegisterLayout) and 0 <= dim < parent.rank:
        return Slice(dim, parent)
    return parent if isinstance(parent, Unknown) else UNKNOWN


def _linear(given: _Given) -> Value:
    registers, lanes, warps = (
        bases(given.get(i, f"{n}_bases")) for i, n in enumerate(("reg", "lane", "warp"))
    )
    shape = given.shape(4, "shape")
    is_one = _is_one_cta(given.get(3, "block_bases", []))
    if shape is None or registers is None or lanes is None or warps is None or not is_one:
        return UNKNOWN
    return Linear(registers, lanes, warps, shape) if len(lanes) != 6 else AMD


def _mma(given: _Given) -> Value:
    parts = given.shapes("version", "warps_per_cta", "instr_shape")
    if parts is None or not parts[0] or given.is_clustered(3):
        return UNKNOWN
    return Mma(parts[0][0], parts[1], parts[2])


def _dot_operand(given: _Given) -> Value:
    operand, parent = given.get(0, "operand_index"), given.get(1, "parent")
    width = given.get(2, "k_width")
    if isinstance(parent, RegisterLayout) and isinstance(operand, int) and isinstance(width, int):
        return DotOperand(operand, parent, width)
    return parent if isinstance(parent, Unknown) else UNKNOWN


_LAYOUTS: dict[str, Callable[[_Given], Value]] = {
    "BlockedLayout": _blocked,
    "SliceLayout": _slice,
    "DistributedLinearLayout": _linear,
    "NVMMADistributedLayout": _mma,
    "DotOperandLayout": _dot_operand,
    "AutoLayout": lambda _: AUTOMATIC,
    "CoalescedLayout": lambda _: AUTOMATIC,
    "AMDMFMALayout": lambda _: AMD,
    "AMDWMMALayout": lambda _: AMD,
}


def _swizzled(given: _Given) -> Swizzled | Unknown:
    vec, per_phase, max_phase = (
        given.get(i, n) for i, n in enumerate(("vec", "per_phase", "max_phase"))
    )
    order = given.shape(3, "order")
    if order is None or not all(isinstance(n, int) for n in (vec, per_phase, max_phase)):
        return UNKNOWN
    if given.is_clustered(4):
        return Unknown("the layout spans several CTAs")
    return Swizzled(vec, per_phase, max_phase, order)


def _nvmma(given: _Given) -> Nvmma | Unknown:
    width, bits = given.get(0, "swizzle_byte_width"), given.get(1, "element_bitwidth")
    rank, flipped = given.get(2, "rank", 2), given.get(3, "transposed", False)
    if given.get(4, "fp4_padded", False) is not False or given.is_clustered(5):
        return Unknown("a padded fp4 layout, or one of several CTAs")
    if all(isinstance(v, int) for v in (width, bits, rank, flipped)):
        return Nvmma(width, bits, rank, bool(flipped))
    return UNKNOWN


def _default_nvmma(given: _Given) -> Nvmma | Unknown:
    shape, dtype = given.shape(0, "block_shape"), given.get(1, "dtype")
    flipped = given.get(2, "transposed", False)
    if shape is None or not isinstance(dtype, DType) or not isinstance(flipped, bool):
        return UNKNOWN
    if given.get(3, "fp4_padded", False) is not False or given.is_clustered(4):
        return UNKNOWN
    return default_nvmma(shape, dtype.bits, transposed=flipped)


def _pairs(value: Value) -> tuple[tuple[int, int], ...] | None:
    found = bases(value)
    if not found or any(len(p) != 2 or min(p) < 1 for p in found):
        return None
    return tuple((p[0], p[1]) for p in found)


def _padded(given: _Given) -> Padded | Unknown:
    pairs, found = (
        _pairs(given.get(0, "interval_padding_pairs")),
        bases(given.get(1, "offset_bases")),
    )
    shape = given.shape(3, "shape")
    if (
        pairs is None
        or found is None
        or shape is None
        or not _is_one_cta(given.get(2, "cga_layout", []))
    ):
        return UNKNOWN
    return Padded(pairs, found, shape)


def _identity_padded(given: _Given) -> Padded | Unknown:
    pairs, shape = _pairs(given.get(0, "interval_padding_pairs")), given.shape(1, "shape")
    order = given.shape(2, "order")
    if pairs is None or shape is None or order is None or given.is_clustered(3):
        return UNKNOWN
    if sorted(order) != list(range(len(shape))):
        return UNKNOWN
    return Padded(pairs, identity_bases(shape, order), shape)


def _shared_linear(given: _Given) -> SharedLinear | Unknown:
    found = bases(given.get(0, "offset_bases"))
    if found is None or not _is_one_cta(given.get(1, "block_bases", [])):
        return UNKNOWN
    return SharedLinear(found)


_SHARED_LAYOUTS: dict[str, tuple[str, Callable[[_Given], SharedLayout | Unknown]]] = {
    "SwizzledSharedLayout": ("triton-swizzled", _swizzled),
    "NVMMASharedLayout": ("nvmma", _nvmma),
    "NVMMASharedLayout.get_default_for": ("nvmma", _default_nvmma),
    "PaddedSharedLayout": ("triton-padded", _padded),
    "PaddedSharedLayout.with_identity_for": ("triton-padded", _identity_padded),
    "SharedLinearLayout": ("triton-linear", _shared_linear),
}


# ---- tensors


def _unified(values: Sequence[Value]) -> Value:
    """The tensor that elementwise operations on tensors and scalars give."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        return UNKNOWN
    ranked = [t for t in tensors if t.shape is not None]
    if len(ranked) < len(tensors):
        shape = None
    else:
        shape = ranked[0].shape
        for other in ranked[1:]:
            shape = _broadcast(shape, other.shape)
    layouts = {t.layout for t in tensors}
    layout = tensors[0].layout if len(layouts) == 1 else None
    return Tensor(
        shape, layout, tensors[0].dtype, next((t.reason for t in tensors if t.reason), "")
    )


def _broadcast(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(max(a, b) for a, b in zip(one, other, strict=True))


def _tensor(shape: Value, layout: Value, dtype: Value = None) -> Tensor:
    return Tensor(
        integers(shape),
        layout if isinstance(layout, RegisterLayout) else None,
        dtype if isinstance(dtype, DType) else None,
        layout.reason if isinstance(layout, Unknown) else "",
    )


def _other(name: str, given: _Given) -> Value:
    """Calls of names that are no layouts."""
    first = given.get(0, "")
    match name:
        case "arange":
            start, end = given.get(0, "start"), given.get(1, "end")
            is_known_range = isinstance(start, int) and isinstance(end, int)
            shape: Value = [end - start] if is_known_range else UNKNOWN
            return _tensor(shape, given.get(2, "layout", AUTOMATIC), DType("int32", 32))
        case "full":
            return _tensor(first, given.get(3, "layout", AUTOMATIC), given.get(2, "dtype"))
        case "zeros":
            return _tensor(first, given.get(2, "layout", AUTOMATIC), given.get(1, "dtype"))
        case "full_like" | "zeros_like":
            return first
        case "convert_layout":
            shape = first.shape if isinstance(first, Tensor) else UNKNOWN
            return _tensor(shape, given.get(1, "layout"), getattr(first, "dtype", None))
        case "set_auto_layout":
            shape = first.shape if isinstance(first, Tensor) else UNKNOWN
            return _tensor(shape, given.get(1, "layout"))
        case "expand_dims":
            return Tensor()
        case "sum" | "max" | "min" | "reduce" | "xor_sum":
            return _of_tensor(first, name, _Given(given.positional[1:], given.named))
        case "warpgroup_mma" | "mma_v2":
            return given.get(2, "acc")
        case "warpgroup_mma_wait":
            deps = given.get(1, "deps", first)
            return deps[0] if isinstance(deps, list | tuple) and len(deps) == 1 else deps
        case "warpgroup_mma_init":
            return first
        case "cdiv" | "next_power_of_2":
            return _number(name, given.positional)
        case "static_range" | "range":
            ends = given.positional[:3]
            is_static = name == "static_range" and ends and all(isinstance(v, int) for v in ends)
            return range(*ends) if is_static else UNKNOWN
    if name in _TRANSPARENT:
        return first
    if name in _LOADS:
        # The pointers' type is not known here; their layout is the result's.
        return replace(first, dtype=None) if isinstance(first, Tensor) else UNKNOWN
    if name in _ELEMENTWISE:
        return _unified(given.positional)
    return UNKNOWN


def _number(name: str, values: Sequence[Any]) -> Value:
    if not values or not all(isinstance(v, int) and v > 0 for v in values):
        return UNKNOWN
    if name == "next_power_of_2":
        return 1 << (values[0] - 1).bit_length()
    return -(-values[0] // values[1]) if len(values) > 1 else UNKNOWN


def _of_tensor(owner: Value, name: str, given: _Given) -> Value:
    if not isinstance(owner, Tensor):
        return UNKNOWN
    if name == "to":
        dtype = given.get(0, "dtype")
        return replace(owner, dtype=dtype if isinstance(dtype, DType) else None)
    if name in ("sum", "max", "min", "reduce", "xor_sum"):
        axis = given.get(0, "axis", None)
        if isinstance(axis, int) and owner.shape is not None and 0 <= axis < len(owner.shape):
            layout = Slice(axis, owner.layout) if owner.layout is not None else None
            return Tensor(owner.shape[:axis] + owner.shape[axis + 1 :], layout, owner.dtype)
        return UNKNOWN
    if name in _ELEMENTWISE:
        return _unified([owner, *given.positional])
    return Tensor()


def _tensor_attribute(owner: Tensor, name: str) -> Value:
    if name == "shape":
        return list(owner.shape) if owner.shape is not None else UNKNOWN
    if name == "dtype":
        return owner.dtype or UNKNOWN
    return Method(owner, name)


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
