"""The model of CuTe DSL: swizzled layouts of shared memory, and what they are bound to.

Units, as nvidia-cutlass-dsl 4.8.1 lowers them (seen in its PTX): a swizzle that is composed with a
layout acts on element offsets, one that a pointer carries (`allocate_tensor(.., swizzle=)`,
`get_tensor(.., swizzle=)`, `recast_ptr(.., swizzle_=)`) on byte addresses.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import field, replace

from smemlint.analysis.python.cute_dsl.layouts import (
    ComposedValue,
    Cosize,
    LayoutValue,
    SwizzleValue,
    composed,
    layout_of,
    ordered,
    tiled,
)
from smemlint.analysis.python.cute_dsl.memory import (
    Allocator,
    Field,
    MemRange,
    Placed,
    Registers,
    SharedTensor,
    Steps,
    StructInstance,
    StructType,
    TileValue,
    as_range,
)
from smemlint.analysis.python.interpreter import LibraryModel
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    SEVERAL,
    UNKNOWN,
    DType,
    Function,
    Method,
    Symbol,
    Value,
)
from smemlint.facts import Certainty, LayoutUse, Span
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption

DTYPES = {
    "Float64": 64, "Float32": 32, "TFloat32": 32, "Float16": 16, "BFloat16": 16, "Float8E5M2": 8,
    "Float8E4M3FN": 8, "Float8E4M3B11FNUZ": 8, "Float8E8M0FNU": 8, "Int64": 64, "Int32": 32,
    "Int16": 16, "Int8": 8, "Uint64": 64, "Uint32": 32, "Uint16": 16, "Uint8": 8,
}  # fmt: skip
"""Types of `cutlass` -> bits."""
_METHODS = frozenset(("allocate_tensor", "get_tensor"))
_MOST_ALIGNMENT = 1 << 16
"""Bytes; the DSL takes no larger one."""
_REGISTERS = frozenset(
    ("make_rmem_tensor", "make_rmem_tensor_like", "make_fragment", "make_fragment_like")
)


@dataclass(eq=False)
class CuteModel(LibraryModel):
    """The model of `cutlass.cute`, with a record of the swizzles that were made and bound.

    Attributes:
        span_of, text_of: the place and text of a node.
        widths: expressions whose element type the class states, e.g. `self._dtype`.
        uses: the swizzles, in order; those bound to memory have units.
        kernel: the function that is interpreted.
        assumptions: what holds for all uses that are found.
        imported: the function of another file that a dotted name means at a node, if any.
        open: places of swizzles with numbers that are not known, and the function around each.
    """

    span_of: Callable[[ast.AST], Span]
    text_of: Callable[[ast.AST], str]
    widths: dict[str, DType] = field(default_factory=dict)
    uses: list[LayoutUse] = field(default_factory=list)
    kernel: str = ""
    assumptions: tuple[Assumption, ...] = ()
    imported: Callable[[str, ast.AST], Function | None] = lambda _, __: None
    open: dict[Span, str] = field(default_factory=dict)

    # ---- what the interpreter asks

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of a function of `cutlass`, or of a method of its values."""
        if isinstance(callee, Method):
            if callee.name == "allocate":
                return self._allocated(callee.owner, given)
            return self._bound(callee, given)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if callee.path == "math.log2":
            number = given.get(0, "")
            return math.log2(number) if isinstance(number, int) and number > 0 else UNKNOWN
        if not callee.path.startswith("cutlass."):
            return UNKNOWN
        name = callee.name
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](given)
        if name in _REGISTERS:
            return Registers()
        match name:
            case "make_swizzle":
                return self._swizzle(given, node)
            case "autovec_copy":
                self._copy(given, node)
            case "recast_ptr":
                self._on_pointer(given.get(1, "swizzle_"), None, given.get(2, "dtype"), None)
        return UNKNOWN

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns an element type, the function of another file, or the name itself."""
        if not symbol.path.startswith("cutlass."):
            return self.imported(symbol.path, node) or symbol
        bits = DTYPES.get(symbol.name)
        return DType(symbol.name, bits) if bits is not None else symbol

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a layout, a struct or an element type."""
        match owner, name:
            case DType(), "width":
                return owner.bits
            case ComposedValue(), "outer":
                return owner.layout if owner.layout is not None else UNKNOWN
            case ComposedValue(), "inner":
                return owner.swizzle
            case LayoutValue(is_tiled=False), "shape":
                return owner.shape
            case LayoutValue(is_tiled=False), "stride":
                return owner.stride
            case StructInstance(), _ if name in owner.type.fields:
                offset, value = owner.type.fields[name]
                place = Placed(None, 1) if offset is None else owner.place.behind(offset)
                return Field(value.dtype, place)
        if name in _METHODS or (name == "allocate" and isinstance(owner, Allocator)):
            return Method(owner, name)
        return self.widths.get(self.text_of(node), UNKNOWN)

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Binds an element type to a layout: `cute.struct.MemRange[dtype, cosize(layout)]`."""
        if not isinstance(owner, Symbol) or not isinstance(value, tuple) or len(value) != 2:
            return UNKNOWN
        element, number = value
        if owner.path.endswith("struct.MemRange"):
            if isinstance(number, Cosize):
                self._in_elements(number.of, element, None)
            if isinstance(element, DType):
                size = number * element.bits // 8 if isinstance(number, int) else None
                return MemRange(element, size, max(element.bits // 8, 1))
        if owner.path.endswith("struct.Align"):
            found = as_range(element)
            if found is not None and type(number) is int and 0 < number <= _MOST_ALIGNMENT:
                return replace(found, alignment=number)
        return UNKNOWN

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns a thread's number, a multiple of it left out, goes on to take every value."""
        if SEVERAL in (one, other):
            return SEVERAL
        if isinstance(one, Steps) and isinstance(other, int):
            keeps = isinstance(operation, ast.Add | ast.Sub)
            divides = isinstance(operation, ast.FloorDiv | ast.Mod) and other > 1
            return one if keeps or divides else UNKNOWN
        return UNKNOWN

    # ---- uses

    def _swizzle(self, given: BoundArguments, node: ast.Call) -> Value:
        numbers = [given.get(i, name) for i, name in enumerate("bms")]
        known = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]
        if len(known) < len(numbers):
            self.open.setdefault(self.span_of(node), self.kernel)
            return UNKNOWN
        triple = (known[0], known[1], known[2])
        spelled = " ".join(self.text_of(node).split())
        found = SwizzleValue(triple, self.span_of(node), spelled)
        self._use(found, "", None, 0, None, 0)
        return found

    def _allocated(self, owner: Value, given: BoundArguments) -> Value:
        """Evaluates `allocate(Storage, byte_alignment)`: a struct in shared memory, or other."""
        requested, alignment = given.get(0, "size_or_type"), given.get(1, "byte_alignment")
        if not isinstance(owner, Allocator):
            return UNKNOWN
        place = owner.place(alignment if type(alignment) is int else 1)
        if not isinstance(requested, StructType):
            return UNKNOWN
        return StructInstance(
            requested, replace(place, multiple=max(place.multiple, requested.alignment or 1))
        )

    def _bound(self, called: Method, given: BoundArguments) -> Value:
        """Evaluates `allocate_tensor` of an allocator, `get_tensor` of a field."""
        owner = called.owner
        place = owner.place if isinstance(owner, Field) else Placed(None, 1)
        if called.name == "allocate_tensor":
            dtype, layout = given.get(0, "element_type"), given.get(1, "layout")
            alignment, swizzle = given.get(2, "byte_alignment"), given.get(3, "swizzle")
        else:
            layout, swizzle = given.get(0, "layout"), given.get(1, "swizzle")
            dtype, alignment = given.get(2, "dtype"), UNKNOWN
            if isinstance(owner, Field) and not given.has(2, "dtype"):
                dtype = owner.dtype
        aligned = alignment if type(alignment) is int else None
        if isinstance(owner, Allocator):
            place = owner.place(aligned or 1)
        elif aligned is not None:
            place = Placed(None, aligned)
        if isinstance(layout, ComposedValue):
            self._in_elements(layout, dtype, aligned)
        else:
            plain = layout if isinstance(layout, LayoutValue) else None
            self._on_pointer(swizzle, plain, dtype, aligned)
        return _tensor(layout, swizzle, dtype, place)

    def _copy(self, given: BoundArguments, node: ast.Call) -> None:
        """Evaluates `autovec_copy` between registers and a tile of shared memory."""
        sides = [given.get(0, "src"), given.get(1, "dst")]
        tiles = [v for v in sides if isinstance(v, TileValue)]
        if len(tiles) != 1 or not any(isinstance(v, Registers) for v in sides):
            return
        (tile,) = tiles
        tensor = tile.tensor
        if not tile.vector or not tile.aligned:
            return
        figures = {"vector_bytes": tile.vector, "group": tensor.group, "aligned": tile.aligned}
        strides = [d for n, d in zip(tile.tiler, tensor.stride, strict=True) if n == 1]
        figures["pitch"] = min(strides, default=0) * tensor.element_bytes
        self.uses.append(
            LayoutUse(
                self.span_of(node),
                "cute-dsl-copy",
                tensor.spelled,
                self.kernel,
                swizzle=tensor.swizzle,
                parameters=tuple(figures.items()),
                units=tensor.units,
                element_bytes=tensor.element_bytes,
                certainty=Certainty.ASSUMED if self.assumptions else Certainty.PROVED,
                assumptions=self.assumptions,
            )
        )

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
            modes, size = layout.layout.static_modes(), bits // 8
            in_bytes = cute.Layout(tuple(n for n, _ in modes), tuple(d * size for _, d in modes))
            layout = replace(layout, layout=in_bytes)
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


def _tensor(layout: Value, swizzle: Value, dtype: Value, place: Placed) -> Value:
    """Returns a tensor of known type and layout."""
    if not isinstance(dtype, DType) or dtype.bits < 8:
        return UNKNOWN
    units = "bytes"
    offset = 0
    if isinstance(layout, ComposedValue):
        swizzle, units, offset = layout.swizzle, "elements", layout.offset
        layout = layout.layout
    if not isinstance(layout, LayoutValue) or layout.is_tiled or offset:
        return UNKNOWN
    size = dtype.bits // 8
    if not isinstance(swizzle, SwizzleValue):
        known = swizzle is UNKNOWN or swizzle is None
        return SharedTensor(size, layout.shape, layout.stride, place) if known else UNKNOWN
    if Swizzle.why_invalid(*swizzle.triple) is not None:
        return SharedTensor(size, layout.shape, layout.stride, place)  # it is the identity
    return SharedTensor(
        size, layout.shape, layout.stride, place, swizzle.triple, units, swizzle.spelled
    )


def _tile(given: BoundArguments) -> Value:
    """Evaluates `local_tile(tensor, tiler, coordinates)` of a tensor without nested modes."""
    tensor, tiler, at = given.get(0, "input"), given.get(1, "tiler"), given.get(2, "coord")
    if not (
        isinstance(tensor, SharedTensor) and isinstance(at, tuple) and isinstance(tiler, tuple)
    ):
        return UNKNOWN
    extents = tuple(n for n in tiler if isinstance(n, int) and not isinstance(n, bool))
    if not len(extents) == len(tiler) == len(at) == len(tensor.shape):
        return UNKNOWN
    return TileValue(tensor, extents, at)


def _cosize(given: BoundArguments) -> Value:
    layout = given.get(0, "a")
    if isinstance(layout, LayoutValue) and not layout.is_tiled:
        return cute.static(layout.layout.cosize)
    return Cosize(layout) if isinstance(layout, ComposedValue) else UNKNOWN


_FUNCTIONS: dict[str, Callable[[BoundArguments], Value]] = {
    "const_expr": lambda given: given.get(0, ""),
    "make_layout": layout_of,
    "make_ordered_layout": ordered,
    "make_composed_layout": composed,
    "tile_to_shape": lambda given: tiled(given.get(0, "atom")),
    "SmemAllocator": lambda _: Allocator(),
    "thread_idx": lambda _: (Steps(), Steps(), Steps()),
    "lane_idx": lambda _: Steps(),
    "warp_idx": lambda _: Steps(),
    "local_tile": _tile,
    "cosize": _cosize,
}
"""Functions that record nothing."""
