"""Lowers the expressions of Python kernels and of the host code that launches them to C trees.

Python's own meaning is kept where it differs from C's: `//` and `%` round down, `/` gives a
floating-point number, comparisons chain, and in Numba integers are 64-bit and negative indices
count from the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from smemlint.frontend.python.ctree import Builder, array_of, pointer_to
from smemlint.frontend.python.dialects import COORDINATES, element_type
from smemlint.frontend.python.imports import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycparser import c_ast

    from smemlint.frontend.python.definitions import Definition
    from smemlint.frontend.python.imports import Imports

_BINARY: dict[type, str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.LeftShift: "<<", cst.RightShift: ">>",
    cst.BitAnd: "&", cst.BitOr: "|", cst.BitXor: "^",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*",
    cst.LeftShiftAssign: "<<", cst.RightShiftAssign: ">>", cst.BitAndAssign: "&",
    cst.BitOrAssign: "|", cst.BitXorAssign: "^",
}  # fmt: skip
_ROUNDED: dict[type, str] = {
    cst.FloorDivide: "__floor_divide", cst.FloorDivideAssign: "__floor_divide",
    cst.Modulo: "__floor_modulo", cst.ModuloAssign: "__floor_modulo",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">", cst.GreaterThanEqual: ">=",
    cst.Equal: "==", cst.NotEqual: "!=", cst.Is: "==", cst.IsNot: "!=",
}  # fmt: skip
_UNARY: dict[type, str] = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "!"}
_AXES = "xyz"
_SIZES = frozenset(("shape", "size", "ndim", "strides", "nbytes", "itemsize"))


class CannotLower(Exception):
    """A construct that has no C tree."""

    def __init__(self, node: cst.CSTNode, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


@dataclass(frozen=True, slots=True)
class LocalArray:
    """A shared or local array that the function declares; extents are Python expressions."""

    extents: tuple[cst.BaseExpression, ...]
    is_dynamic: bool


class Expressions:
    """Lowers expressions of one definition.

    Args:
        definition: the function.
        imports: of its module.
        make: builds the nodes.
    """

    def __init__(self, definition: Definition, imports: Imports, make: Builder) -> None:
        self.definition = definition
        self.imports = imports
        self.make = make
        self.dialect = definition.dialect
        self.wide = self.dialect is None or self.dialect.has_wide_integers
        self.arrays: dict[str, LocalArray] = {}
        self.hidden: dict[str, None] = {}  # what only an argument's shape tells

    def expression(self, node: cst.BaseExpression) -> c_ast.Node:
        """The C tree of an expression; what has none becomes a call of its own text."""
        method = getattr(self, f"_lower_{type(node).__name__}", None)
        if method is not None:
            lowered: c_ast.Node = method(node)
            return lowered
        parts = [p for p in node.children if isinstance(p, cst.BaseExpression)]
        return self.opaque(node, parts)

    def opaque(self, node: cst.CSTNode, parts: Sequence[cst.BaseExpression] = ()) -> c_ast.Node:
        """A call of something unknown: its operands are evaluated, its value is not known."""
        name = self.make.spelling(node).replace("::", ": :")
        return self.make.call(f"{name} ", [self.expression(p) for p in parts], node)

    # ---- leaves

    def _lower_Name(self, node: cst.Name) -> c_ast.Node:
        if node.value in ("True", "False"):
            return self.make.name(node.value.lower(), node)
        if node.value == "None":
            return self.make.integer(0, node, wide=self.wide)
        member = self.member(node)
        if member in ("warpsize", "laneid"):
            return self._constant_member(member, node)
        found = self.definition.lookup(node.value)
        if found is not None and not self.is_local(node.value):
            return self.make.name(found.unique, node)
        return self.make.name(node.value, node)

    def is_local(self, name: str) -> bool:
        """Whether the function itself gives the name a value."""
        own = self.definition
        return name in own.assigned or any(p.name.value == name for p in own.parameters)

    def _lower_Integer(self, node: cst.Integer) -> c_ast.Node:
        return self.make.integer(integer(node), node, wide=self.wide)

    def _lower_Float(self, node: cst.Float) -> c_ast.Node:
        return self.make.floating(node)

    def _lower_Imaginary(self, node: cst.Imaginary) -> c_ast.Node:
        return self.make.floating(node)

    def _lower_SimpleString(self, node: cst.SimpleString) -> c_ast.Node:
        return self.opaque(node)

    # ---- operators

    def _lower_BinaryOperation(self, node: cst.BinaryOperation) -> c_ast.Node:
        a, b = self.expression(node.left), self.expression(node.right)
        return self.operated(type(node.operator), a, b, node, node.right)

    def operated(
        self,
        operator: type,
        a: c_ast.Node,
        b: c_ast.Node,
        node: cst.CSTNode,
        right: cst.BaseExpression,
    ) -> c_ast.Node:
        """A binary operation with Python's meaning."""
        make = self.make
        if operator in _BINARY:
            return make.binary(_BINARY[operator], a, b, node)
        if operator in _ROUNDED:
            return make.call(_ROUNDED[operator], [a, b], node)
        if operator in (cst.Divide, cst.DivideAssign):
            return make.binary("/", make.cast("double", a, node), b, node)
        if operator in (cst.Power, cst.PowerAssign) and isinstance(right, cst.Integer):
            exponent = integer(right)
            if 1 <= exponent <= 4 and isinstance(node, cst.BinaryOperation):
                found = a
                for _ in range(exponent - 1):
                    found = make.binary("*", found, self.expression(node.left), node)
                return found
            left = getattr(node, "left", None)
            if isinstance(left, cst.Integer) and exponent < 63:
                return make.integer(integer(left) ** exponent, node, wide=self.wide)
        return make.call("** ", [a, b], node)

    def _lower_UnaryOperation(self, node: cst.UnaryOperation) -> c_ast.Node:
        operand = self.expression(node.expression)
        return self.make.unary(_UNARY[type(node.operator)], operand, node)

    def _lower_BooleanOperation(self, node: cst.BooleanOperation) -> c_ast.Node:
        op = "&&" if isinstance(node.operator, cst.And) else "||"
        return self.make.binary(op, self.expression(node.left), self.expression(node.right), node)

    def _lower_Comparison(self, node: cst.Comparison) -> c_ast.Node:
        found: c_ast.Node | None = None
        left = node.left
        for part in node.comparisons:
            op = _COMPARISONS.get(type(part.operator))
            if op is None:
                return self.opaque(node, [left, part.comparator])
            pair = self.make.binary(
                op, self.expression(left), self.expression(part.comparator), node
            )
            found = pair if found is None else self.make.binary("&&", found, pair, node)
            left = part.comparator
        assert found is not None
        return found

    def _lower_IfExp(self, node: cst.IfExp) -> c_ast.Node:
        from pycparser import c_ast

        made = c_ast.TernaryOp(
            self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        )
        return self.make.mark(made, node)

    def _lower_Tuple(self, node: cst.Tuple | cst.List) -> c_ast.Node:
        """A launch's shape; elsewhere such a value is of no use."""
        parts = [e.value for e in node.elements]
        if not 1 <= len(parts) <= 3 or any(
            isinstance(e, cst.StarredElement) for e in node.elements
        ):
            return self.opaque(node, parts)
        return self.make.call("mk dim3", [self.expression(p) for p in parts], node)

    _lower_List = _lower_Tuple

    # ---- attributes

    def member(self, node: cst.BaseExpression) -> str:
        """The dialect's member that an expression names; empty for anything else."""
        if self.dialect is None:
            return ""
        return self.dialect.member(self.imports.resolve(node))

    def _lower_Attribute(self, node: cst.Attribute) -> c_ast.Node:
        member = self.member(node)
        if member in ("warpsize", "laneid"):
            return self._constant_member(member, node)
        base, _, axis = member.rpartition(".")
        if base in COORDINATES and axis in _AXES:
            return self.make.coordinate(base, axis, node, wide=self.wide)
        head = node.value
        if isinstance(head, cst.Name) and node.attr.value in _SIZES:
            return self._of_shape(head.value, node)
        if dotted(node) is not None:
            return self.opaque(node)
        return self.opaque(node, [node.value])

    def _constant_member(self, member: str, node: cst.CSTNode) -> c_ast.Node:
        if member == "warpsize":
            return self.make.integer(32, node, wide=self.wide)
        lane = self.make.call("__laneid", [], node)
        return self.make.cast("int64_t", lane, node) if self.wide else lane

    def _of_shape(self, name: str, node: cst.Attribute) -> c_ast.Node:
        array = self.arrays.get(name)
        if array is not None and not array.is_dynamic and node.attr.value == "size":
            found = self.expression(array.extents[0])
            for extent in array.extents[1:]:
                found = self.make.binary("*", found, self.expression(extent), node)
            return found
        return self._hidden(f"{name}.{node.attr.value}", node)

    def _hidden(self, text: str, node: cst.CSTNode) -> c_ast.Node:
        """A number that the argument brings along: one unknown for the whole kernel."""
        self.hidden.setdefault(text)
        return self.make.name(text, node)

    # ---- subscripts

    def _lower_Subscript(self, node: cst.Subscript) -> c_ast.Node:
        shape = node.value
        indices = self.indices(node)
        if isinstance(shape, cst.Attribute) and shape.attr.value in ("shape", "strides"):
            return self._extent(shape, indices, node)
        base = self.expression(shape)
        array = self.arrays.get(shape.value) if isinstance(shape, cst.Name) else None
        for depth, index in enumerate(indices):
            extent = None
            if array is not None and not array.is_dynamic and depth < len(array.extents):
                extent = array.extents[depth]
            place = self._index(index, extent)
            if isinstance(index, cst.Slice):
                address = self.make.unary("&", self.make.element(base, place, node), node)
                return address if depth == len(indices) - 1 else self.opaque(node)
            base = self.make.element(base, place, node)
        return base

    def indices(self, node: cst.Subscript) -> list[cst.BaseExpression | cst.Slice]:
        """The indices of a subscript, those of a tuple one by one."""
        found: list[cst.BaseExpression | cst.Slice] = []
        for element in node.slice:
            inner = element.slice
            if isinstance(inner, cst.Slice):
                found.append(inner)
            elif not isinstance(inner, cst.Index):
                continue
            elif isinstance(inner.value, cst.Tuple) and len(node.slice) == 1:
                found += [e.value for e in inner.value.elements]
            else:
                found.append(inner.value)
        return found

    def _index(
        self, index: cst.BaseExpression | cst.Slice, extent: cst.BaseExpression | None
    ) -> c_ast.Node:
        """An index as C takes it; a slice stands for where it begins."""
        if isinstance(index, cst.Slice):
            if index.step is not None:
                return self.opaque(index, [index.step])
            if index.lower is None:
                return self.make.integer(0, index, wide=self.wide)
            index = index.lower
        found = self.expression(index)
        if self.dialect is None or not self.dialect.wraps_negative_indices:
            return found
        if isinstance(index, cst.Integer | cst.Name):
            if not isinstance(index, cst.Name) or extent is None:
                return found
        elif extent is None:
            return self.opaque(index, [index]) if _is_negative(index) else found
        return self.make.call("__from_end", [found, self.expression(extent)], index)

    def _extent(
        self,
        shape: cst.Attribute,
        indices: list[cst.BaseExpression | cst.Slice],
        node: cst.Subscript,
    ) -> c_ast.Node:
        name = dotted(shape.value)
        if name is None or len(indices) != 1 or not isinstance(indices[0], cst.Integer):
            return self.opaque(node)
        at = integer(indices[0])
        array = self.arrays.get(name)
        if array is not None and shape.attr.value == "shape" and at < len(array.extents):
            return self.expression(array.extents[at])
        return self._hidden(f"{name}.{shape.attr.value}[{at}]", node)

    # ---- calls

    def _lower_Call(self, node: cst.Call) -> c_ast.Node:
        arguments = [a.value for a in node.args if not a.star]
        if isinstance(node.func, cst.Subscript) and len(self.indices(node.func)) >= 2:
            return self._launch(node.func, arguments, node)
        if self.dialect is not None:
            found = self._builtin(self.member(node.func), node, arguments)
            if found is not None:
                return found
        resolved = self.imports.resolve(node.func)
        found = self._python_builtin(resolved, arguments, node)
        if found is not None:
            return found
        if isinstance(node.func, cst.Name):
            definition = self.definition.lookup(node.func.value)
            if definition is not None and definition.is_kernel and len(arguments) >= 2:
                shared = keyword(node, "shared_mem")
                parts = [node.func, *arguments[:2], *([shared] if shared is not None else [])]
                return self._launched(parts, arguments[2:3], node)
            callee = self.expression(node.func)
            return self.make.call_of(callee, [self.expression(a) for a in arguments], node)
        wrapped = self._wrapped(node)
        if wrapped is not None:
            return wrapped
        return self.opaque(node, arguments)

    def _wrapped(self, node: cst.Call) -> c_ast.Node | None:
        """`cuda.jit(f)` is `f`."""
        if len(node.args) == 1 and isinstance(node.args[0].value, cst.Name):
            found = self.definition.lookup(node.args[0].value.value)
            if found is not None and found.is_kernel:
                return self.make.name(found.unique, node)
        return None

    def _launch(
        self, head: cst.Subscript, arguments: list[cst.BaseExpression], node: cst.Call
    ) -> c_ast.Node:
        """`k[grid, block, stream, shared](..)`."""
        config = [i for i in self.indices(head) if isinstance(i, cst.BaseExpression)]
        shared = config[3:4]
        return self._launched([head.value, *config[:2], *shared], arguments, node)

    def _launched(
        self,
        parts: Sequence[cst.BaseExpression],
        arguments: Sequence[cst.BaseExpression],
        node: cst.Call,
    ) -> c_ast.Node:
        passed = list(arguments)
        if len(passed) == 1 and isinstance(passed[0], cst.Tuple):  # cupyx passes one tuple
            passed = [e.value for e in passed[0].elements]
        head = self.make.call("__launch", [self.expression(p) for p in parts], node)
        return self.make.call_of(head, [self.expression(a) for a in passed], node)

    def _builtin(
        self, member: str, node: cst.Call, arguments: list[cst.BaseExpression]
    ) -> c_ast.Node | None:
        dialect, make = self.dialect, self.make
        assert dialect is not None
        if not member:
            return None
        if member in dialect.functions:
            lowered = [self.expression(a) for a in arguments]
            return make.call(dialect.functions[member], lowered, node)
        if member in dialect.atomics:
            return self._atomic(dialect.atomics[member], arguments, node)
        if member in ("grid", "gridsize"):
            count = (
                integer(arguments[0]) if arguments and isinstance(arguments[0], cst.Integer) else 0
            )
            if count == 1:
                return self.global_index(member, 0, node)
        if member == "range":
            return None
        return self.opaque(node, arguments)

    def global_index(self, member: str, axis: int, node: cst.CSTNode) -> c_ast.Node:
        """One coordinate of `grid(n)` or `gridsize(n)`."""
        make, wide, name = self.make, self.wide, _AXES[axis]
        block = make.coordinate("blockDim", name, node, wide=wide)
        first = "blockIdx" if member == "grid" else "gridDim"
        scaled = make.binary("*", make.coordinate(first, name, node, wide=wide), block, node)
        if member == "gridsize":
            return scaled
        thread = make.coordinate("threadIdx", name, node, wide=wide)
        return make.binary("+", scaled, thread, node)

    def _atomic(
        self, function: str, arguments: list[cst.BaseExpression], node: cst.Call
    ) -> c_ast.Node:
        if len(arguments) < 3:
            return self.opaque(node, arguments)
        array, index, *values = arguments
        indices: list[cst.BaseExpression | cst.Slice] = [index]
        if isinstance(index, cst.Tuple):
            indices = [e.value for e in index.elements]
        known = self.arrays.get(array.value) if isinstance(array, cst.Name) else None
        place = self.expression(array)
        for depth, part in enumerate(indices):
            inside = known is not None and not known.is_dynamic and depth < len(known.extents)
            extent = known.extents[depth] if known is not None and inside else None
            place = self.make.element(place, self._index(part, extent), node)
        address = self.make.unary("&", place, node)
        return self.make.call(function, [address, *map(self.expression, values)], node)

    def _python_builtin(
        self, resolved: str, arguments: list[cst.BaseExpression], node: cst.Call
    ) -> c_ast.Node | None:
        lowered = [self.expression(a) for a in arguments] if resolved in _PYTHON else []
        match resolved:
            case "min" | "max" if len(lowered) >= 2:
                found = lowered[0]
                for other in lowered[1:]:
                    found = self.make.call(resolved, [found, other], node)
                return found
            case "abs" if len(lowered) == 1:
                return self.make.call("abs", lowered, node)
            case "int" if len(lowered) == 1:
                return self.make.cast("int64_t" if self.wide else "int", lowered[0], node)
            case "float" if len(lowered) == 1:
                return self.make.cast("double", lowered[0], node)
            case "len" if isinstance(arguments[0], cst.Name):
                name = arguments[0].value
                array = self.arrays.get(name)
                if array is not None and array.extents:
                    return self.expression(array.extents[0])
                return self._hidden(f"{name}.shape[0]", node)
        word = element_type(resolved) if "." in resolved else None
        if word is not None and len(arguments) == 1:
            return self.make.cast(word, self.expression(arguments[0]), node)
        return None

    # ---- types

    def array_type(self, word: str, array: LocalArray) -> c_ast.Node:
        """The C type of a shared or local array."""
        if array.is_dynamic:
            return array_of(word, [None])
        return array_of(word, [self.expression(e) for e in array.extents])

    def parameter_type(self, name: str) -> c_ast.Node:
        """A pointer with one star for each index that the body gives it; a number without any."""
        depth = 0
        for node in self.definition.own_nodes():
            if isinstance(node, cst.Subscript) and dotted(node.value) == name:
                depth = max(depth, len(self.indices(node)))
            elif isinstance(node, cst.Call) and self.member(node.func) in (
                self.dialect.atomics if self.dialect is not None else ()
            ):
                first = node.args[0].value if node.args else None
                if first is not None and dotted(first) == name:
                    depth = max(depth, 1)
        return pointer_to("int64_t", depth)


_PYTHON = frozenset(("min", "max", "abs", "int", "float"))


def integer(node: cst.Integer) -> int:
    """The value of a literal; `CannotLower` for one with more digits than Python reads."""
    try:
        return int(node.value.replace("_", ""), 0)
    except ValueError:
        raise CannotLower(node, "a number of thousands of digits") from None


def keyword(node: cst.Call, name: str) -> cst.BaseExpression | None:
    """A keyword argument of a call."""
    for argument in node.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument.value
    return None


def _is_negative(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
