"""What CuTe DSL's names mean, as far as swizzled layouts of shared memory go.

Units, as nvidia-cutlass-dsl 4.8.1 lowers them (seen in its PTX): a swizzle that is composed with a
layout acts on element offsets, one that a pointer carries (`allocate_tensor(.., swizzle=)`,
`get_tensor(.., swizzle=)`, `recast_ptr(.., swizzle_=)`) on byte addresses.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from smemlint.facts import Certainty, LayoutUse, Span
from smemlint.frontend.python.abstract import UNKNOWN, DType, Method, Symbol, Value, is_known

DTYPES = {
    "Float64": 64, "Float32": 32, "TFloat32": 32, "Float16": 16, "BFloat16": 16, "Float8E5M2": 8,
    "Float8E4M3FN": 8, "Float8E4M3B11FNUZ": 8, "Float8E8M0FNU": 8, "Int64": 64, "Int32": 32,
    "Int16": 16, "Int8": 8, "Uint64": 64, "Uint32": 32, "Uint16": 16, "Uint8": 8,
}  # fmt: skip
"""Types of `cutlass` -> bits."""
_METHODS = frozenset(("allocate_tensor", "get_tensor"))
Modes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SwizzleValue:
    """`make_swizzle(b, m, s)` with known numbers, and where it stands."""

    triple: tuple[int, int, int]
    span: Span
    spelled: str


@dataclass(frozen=True, slots=True, eq=False)
class LayoutValue:
    """A layout by its flat modes; of a tiled one only those of the atom are known."""

    shape: Modes
    stride: Modes
    is_tiled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ComposedValue:
    """`make_composed_layout(swizzle, offset, layout)`."""

    swizzle: SwizzleValue
    offset: int
    layout: LayoutValue | None


@dataclass(frozen=True, slots=True, eq=False)
class Cosize:
    """`cosize(layout)`: how a `cute.struct` says which layout a field is for."""

    of: ComposedValue


@dataclass(eq=False)
class CuteLibrary:
    """The meaning of `cutlass.cute`, and a record of the swizzles that were made and bound.

    Attributes:
        span_of, text_of: the place and text of a node.
        widths: expressions whose element type the class states, e.g. `self._dtype`.
        uses: the swizzles, in order; those bound to memory have units.
        kernel: the function that is followed.
        assumptions: what holds for all uses that are found.
        loops: see `follow.Library`.
        open: places of swizzles with numbers that are not known, and the function around each.
    """

    span_of: Callable[[ast.AST], Span]
    text_of: Callable[[ast.AST], str]
    widths: dict[str, DType] = field(default_factory=dict)
    uses: list[LayoutUse] = field(default_factory=list)
    kernel: str = ""
    assumptions: tuple[str, ...] = ()
    loops: int = 0
    open: dict[Span, str] = field(default_factory=dict)

    # ---- what the follower asks

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """See `follow.Library.call`."""
        given = _Given(arguments, named)
        if isinstance(callee, Method):
            return self._bound(callee.name, given)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if callee.path == "math.log2":
            number = given.get(0, "")
            return math.log2(number) if isinstance(number, int) and number > 0 else UNKNOWN
        if not callee.path.startswith("cutlass."):
            return UNKNOWN
        match callee.name:
            case "const_expr":
                return given.get(0, "")
            case "make_swizzle":
                return self._swizzle(given, node)
            case "make_layout":
                return _layout(given)
            case "make_ordered_layout":
                return _ordered(given)
            case "make_composed_layout":
                return _composed(given)
            case "tile_to_shape":
                return _tiled(given.get(0, "atom"))
            case "cosize":
                whole = given.get(0, "a")
                return Cosize(whole) if isinstance(whole, ComposedValue) else UNKNOWN
            case "recast_ptr":
                self._on_pointer(given.get(1, "swizzle_"), None, given.get(2, "dtype"), None)
        return UNKNOWN

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """See `follow.Library.attribute`."""
        match owner, name:
            case Symbol(), "":
                bits = DTYPES.get(owner.name) if owner.path.startswith("cutlass.") else None
                return DType(owner.name, bits) if bits is not None else owner
            case DType(), "width":
                return owner.bits
            case ComposedValue(), "outer":
                return owner.layout if owner.layout is not None else UNKNOWN
            case ComposedValue(), "inner":
                return owner.swizzle
            case LayoutValue(is_tiled=False), "shape" | "stride":
                return getattr(owner, name)
        if name in _METHODS:
            return Method(owner, name)
        return self.widths.get(self.text_of(node), UNKNOWN)

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """`cute.struct.MemRange[dtype, cosize(layout)]` binds the layout to an element type."""
        is_field = isinstance(owner, Symbol) and owner.path.endswith("struct.MemRange")
        if is_field and isinstance(value, tuple) and len(value) == 2:
            dtype, size = value
            if isinstance(size, Cosize):
                self._in_elements(size.of, dtype, None)
        return UNKNOWN

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Nothing is known of what an operator makes of a layout."""
        return UNKNOWN

    # ---- uses

    def _swizzle(self, given: _Given, node: ast.Call) -> Value:
        numbers = [given.get(i, name) for i, name in enumerate("bms")]
        if not all(type(n) is int for n in numbers):
            self.open.setdefault(self.span_of(node), self.kernel)
            return UNKNOWN
        triple = (numbers[0], numbers[1], numbers[2])
        spelled = " ".join(self.text_of(node).split())
        found = SwizzleValue(triple, self.span_of(node), spelled)
        self._use(found, "", None, 0, None, 0)
        return found

    def _bound(self, method: str, given: _Given) -> Value:
        """A tensor of shared memory: `allocate_tensor` of an allocator, `get_tensor` of a field."""
        if method == "allocate_tensor":
            dtype, layout = given.get(0, "element_type"), given.get(1, "layout")
            alignment, swizzle = given.get(2, "byte_alignment"), given.get(3, "swizzle")
        else:
            layout, swizzle = given.get(0, "layout"), given.get(1, "swizzle")
            dtype, alignment = given.get(2, "dtype"), UNKNOWN
        aligned = alignment if type(alignment) is int else None
        if isinstance(layout, ComposedValue):
            self._in_elements(layout, dtype, aligned)
        else:
            plain = layout if isinstance(layout, LayoutValue) else None
            self._on_pointer(swizzle, plain, dtype, aligned)
        return UNKNOWN

    def _in_elements(self, layout: ComposedValue, dtype: Value, alignment: int | None) -> None:
        bits = dtype.bits if isinstance(dtype, DType) else 0
        self._use(layout.swizzle, "elements", layout.layout, bits, alignment, layout.offset)

    def _on_pointer(
        self, swizzle: Value, layout: LayoutValue | None, dtype: Value, alignment: int | None
    ) -> None:
        bits = dtype.bits if isinstance(dtype, DType) else 0
        if not isinstance(swizzle, SwizzleValue):
            return
        if layout is not None and bits >= 8:
            in_bytes = tuple(d * (bits // 8) for d in layout.stride)
            layout = replace(layout, stride=in_bytes)
        else:
            layout = None
        self._use(swizzle, "bytes", layout, bits, alignment, 0)

    def _use(
        self,
        swizzle: SwizzleValue,
        units: str,
        layout: LayoutValue | None,
        bits: int,
        alignment: int | None,
        offset: int,
    ) -> None:
        self.uses.append(
            LayoutUse(
                swizzle.span,
                "cute-dsl",
                swizzle.spelled,
                self.kernel,
                swizzle=swizzle.triple,
                units=units,
                element_bytes=bits // 8,
                shape=layout.shape if layout is not None else (),
                stride=layout.stride if layout is not None else (),
                offset=offset,
                alignment=alignment,
                certainty=Certainty.ASSUMED if self.assumptions else Certainty.PROVED,
                assumptions=self.assumptions,
                is_bound=bool(units) and layout is not None and not layout.is_tiled,
            )
        )


@dataclass(frozen=True, slots=True)
class _Given:
    """The arguments of a call."""

    arguments: list[Value]
    named: dict[str, Value]

    def get(self, index: int, name: str) -> Value:
        """By position or name."""
        if index < len(self.arguments):
            return self.arguments[index]
        return self.named.get(name, UNKNOWN)


def _flat(value: Value) -> Modes | None:
    """The modes of a shape or stride of known numbers, nesting dissolved."""
    if type(value) is int:
        return (value,)
    if not isinstance(value, tuple | list) or not is_known(value):
        return None
    parts = [_flat(v) for v in value]
    return None if None in parts else tuple(n for part in parts if part for n in part)


def _layout(given: _Given) -> Value:
    """`make_layout(shape, stride=)`; without strides the first mode is the fastest."""
    shape = _flat(given.get(0, "shape"))
    if shape is None:
        return UNKNOWN
    if "stride" not in given.named:
        return LayoutValue(shape, _compact(shape, range(len(shape))))
    stride = _flat(given.named["stride"])
    if stride is None or len(stride) != len(shape):
        return UNKNOWN
    return LayoutValue(shape, stride)


def _ordered(given: _Given) -> Value:
    """`make_ordered_layout(shape, order=)`: compact, the smallest order is the fastest."""
    shape, order = _flat(given.get(0, "shape")), _flat(given.get(1, "order"))
    if shape is None or order is None or len(order) != len(shape):
        return UNKNOWN
    return LayoutValue(shape, _compact(shape, order))


def _compact(shape: Modes, order: Modes | range) -> Modes:
    strides = [0] * len(shape)
    step = 1
    for mode in sorted(range(len(shape)), key=lambda k: order[k]):
        strides[mode] = step
        step *= shape[mode]
    return tuple(strides)


def _composed(given: _Given) -> Value:
    inner, offset, outer = given.get(0, "inner"), given.get(1, "offset"), given.get(2, "outer")
    if not isinstance(inner, SwizzleValue) or type(offset) is not int:
        return UNKNOWN
    return ComposedValue(inner, offset, outer if isinstance(outer, LayoutValue) else None)


def _tiled(atom: Value) -> Value:
    """The atom repeated: how it lies inside itself stays, its extent does not."""
    if isinstance(atom, LayoutValue):
        return replace(atom, is_tiled=True)
    if isinstance(atom, ComposedValue):
        layout = replace(atom.layout, is_tiled=True) if atom.layout is not None else None
        return replace(atom, layout=layout)
    return UNKNOWN
