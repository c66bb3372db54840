"""Lowers the expressions of Python kernels and of the host code that launches them to C trees.

Python's own meaning is kept where it differs from C's: `//` and `%` round down, `/` gives a
floating-point number, comparisons chain, and in Numba integers are 64-bit and negative indices
count from the end.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.jit.dialects import COORDINATES
from smemlint.frontend.python.jit.ir_builder import Builder, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycparser import c_ast

    from smemlint.frontend.python.imports import Imports
    from smemlint.frontend.python.jit.definitions import Definition

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_ROUNDED: dict[type[ast.operator], str] = {
    ast.FloorDiv: "__floor_divide", ast.Mod: "__floor_modulo",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "==", ast.IsNot: "!=",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "!",
}  # fmt: skip
AXES = "xyz"
_SIZES = frozenset(("shape", "size", "ndim", "strides", "nbytes", "itemsize"))


class CannotLower(Exception):
    """A construct that has no C tree."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


@dataclass(frozen=True, slots=True)
class LocalArray:
    """A shared or local array that the function declares; extents are Python expressions.

    Attributes:
        extents: of each dimension.
        is_dynamic: the launch decides its size.
        may_have_rows: the one extent may stand for several.
    """

    extents: tuple[ast.expr, ...]
    is_dynamic: bool
    may_have_rows: bool = False

    def extent(self, depth: int) -> ast.expr | None:
        """What an index counts up to; None where that is not declared."""
        is_known = not self.is_dynamic and depth < len(self.extents)
        return self.extents[depth] if is_known else None


class Expressions:
    """Lowers expressions of one definition; what a call means, `lower_calls` knows.

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

    def expression(self, node: ast.expr) -> c_ast.Node:
        """The C tree of an expression; what has none becomes a call of its own text."""
        method = getattr(self, f"_lower_{type(node).__name__}", None)
        if method is not None:
            lowered: c_ast.Node = method(node)
            return lowered
        parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
        return self.opaque(node, parts)

    def opaque(self, node: ast.AST, parts: Sequence[ast.expr] = ()) -> c_ast.Node:
        """A call of something unknown: its operands are evaluated, its value is not known."""
        name = self.make.spelling(node).replace("::", ": :")
        return self.make.call(f"{name} ", [self.expression(p) for p in parts], node)

    # ---- leaves

    def _lower_Name(self, node: ast.Name) -> c_ast.Node:
        member = self.member(node)
        if member in ("warpsize", "laneid"):
            return self._constant_member(member, node)
        found = self.definition.lookup(node.id)
        if found is not None and not self.is_local(node.id):
            return self.make.name(found.unique, node)
        return self.make.name(node.id, node)

    def is_local(self, name: str) -> bool:
        """Whether the function itself gives the name a value."""
        own = self.definition
        return name in own.assigned or any(p.name == name for p in own.parameters)

    def _lower_Constant(self, node: ast.Constant) -> c_ast.Node:
        match node.value:
            case bool():
                return self.make.name(str(node.value).lower(), node)
            case None:
                return self.make.integer(0, node, wide=self.wide)
            case int():
                return self.make.integer(node.value, node, wide=self.wide)
            case float() | complex():
                return self.make.floating(node)
        return self.opaque(node)

    # ---- operators

    def _lower_BinOp(self, node: ast.BinOp) -> c_ast.Node:
        a, b = self.expression(node.left), self.expression(node.right)
        return self.operated(node.op, a, b, node)

    def operated(
        self, operator: ast.operator, a: c_ast.Node, b: c_ast.Node, node: ast.BinOp | ast.AugAssign
    ) -> c_ast.Node:
        """A binary operation with Python's meaning."""
        make, kind = self.make, type(operator)
        if kind in BINARY:
            return make.binary(BINARY[kind], a, b, node)
        if kind in _ROUNDED:
            return make.call(_ROUNDED[kind], [a, b], node)
        if kind is ast.Div:
            return make.binary("/", make.cast("double", a, node), b, node)
        exponent = integer(node.right) if isinstance(node, ast.BinOp) else None
        if kind is ast.Pow and isinstance(node, ast.BinOp) and exponent is not None:
            base = integer(node.left)
            if base is not None and 0 <= exponent < 63:
                return make.integer(base**exponent, node, wide=self.wide)
            if 1 <= exponent <= 4:
                found = a
                for _ in range(exponent - 1):
                    found = make.binary("*", found, self.expression(node.left), node)
                return found
        return make.call("** ", [a, b], node)

    def _lower_UnaryOp(self, node: ast.UnaryOp) -> c_ast.Node:
        return self.make.unary(_UNARY[type(node.op)], self.expression(node.operand), node)

    def _lower_BoolOp(self, node: ast.BoolOp) -> c_ast.Node:
        op = "&&" if isinstance(node.op, ast.And) else "||"
        found = self.expression(node.values[0])
        for value in node.values[1:]:
            found = self.make.binary(op, found, self.expression(value), node)
        return found

    def _lower_Compare(self, node: ast.Compare) -> c_ast.Node:
        found: c_ast.Node | None = None
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            op = _COMPARISONS.get(type(operator))
            if op is None:
                return self.opaque(node, [left, right])
            pair = self.make.binary(op, self.expression(left), self.expression(right), node)
            found = pair if found is None else self.make.binary("&&", found, pair, node)
            left = right
        assert found is not None
        return found

    def _lower_IfExp(self, node: ast.IfExp) -> c_ast.Node:
        from pycparser import c_ast

        made = c_ast.TernaryOp(
            self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        )
        return self.make.mark(made, node)

    def _lower_Tuple(self, node: ast.Tuple | ast.List) -> c_ast.Node:
        """A launch's shape; elsewhere such a value is of no use."""
        parts = node.elts
        if not 1 <= len(parts) <= 3 or any(isinstance(e, ast.Starred) for e in parts):
            return self.opaque(node, parts)
        return self.make.call("mk dim3", [self.expression(p) for p in parts], node)

    _lower_List = _lower_Tuple

    # ---- attributes

    def member(self, node: ast.expr) -> str:
        """The dialect's member that an expression names; empty for anything else."""
        if self.dialect is None:
            return ""
        return self.dialect.member(self.imports.resolve(node))

    def _lower_Attribute(self, node: ast.Attribute) -> c_ast.Node:
        member = self.member(node)
        if member in ("warpsize", "laneid"):
            return self._constant_member(member, node)
        base, _, axis = member.rpartition(".")
        if base in COORDINATES and axis in AXES:
            return self.make.coordinate(base, axis, node, wide=self.wide)
        head = node.value
        if isinstance(head, ast.Name) and node.attr in _SIZES:
            return self._of_shape(head.id, node)
        named = dotted(node)
        if named is not None:
            found = self.definition.lookup(named)
            if found is not None or self.definition.module_assigns(named):
                return self.make.name(found.unique if found is not None else named, node)
            return self.opaque(node)
        return self.opaque(node, [node.value])

    def _constant_member(self, member: str, node: ast.AST) -> c_ast.Node:
        if member == "warpsize":
            return self.make.integer(32, node, wide=self.wide)
        lane = self.make.call("__laneid", [], node)
        return self.make.cast("int64_t", lane, node) if self.wide else lane

    def _of_shape(self, name: str, node: ast.Attribute) -> c_ast.Node:
        array = self.arrays.get(name)
        if array is not None and not array.is_dynamic and node.attr == "size":
            found = self.expression(array.extents[0])
            for extent in array.extents[1:]:
                found = self.make.binary("*", found, self.expression(extent), node)
            return found
        return self.brought(f"{name}.{node.attr}", node)

    def brought(self, text: str, node: ast.AST) -> c_ast.Node:
        """A number that the argument brings along: one unknown for the whole kernel."""
        self.hidden.setdefault(text)
        return self.make.name(text, node)

    # ---- subscripts

    def _lower_Subscript(self, node: ast.Subscript) -> c_ast.Node:
        shape = node.value
        indices = indices_of(node)
        if isinstance(shape, ast.Attribute) and shape.attr in ("shape", "strides"):
            return self._extent(shape, indices, node)
        base = self.expression(shape)
        array = self.arrays.get(shape.id) if isinstance(shape, ast.Name) else None
        for depth, index in enumerate(indices):
            place = self.index(index, array.extent(depth) if array is not None else None)
            if isinstance(index, ast.Slice):
                address = self.make.unary("&", self.make.element(base, place, node), node)
                return address if depth == len(indices) - 1 else self.opaque(node)
            base = self.make.element(base, place, node)
        return base

    def index(self, index: ast.expr, extent: ast.expr | None) -> c_ast.Node:
        """An index as C takes it; a slice stands for where it begins."""
        if isinstance(index, ast.Slice):
            if index.step is not None:
                return self.opaque(index, [index.step])
            if index.lower is None:
                return self.make.integer(0, index, wide=self.wide)
            index = index.lower
        found = self.expression(index)
        if self.dialect is None or not self.dialect.wraps_negative_indices:
            return found
        if (isinstance(index, ast.Name) and extent is None) or integer(index) is not None:
            return found
        if extent is None:
            return self.opaque(index, [index]) if _is_negative(index) else found
        return self.make.call("__from_end", [found, self.expression(extent)], index)

    def _extent(
        self, shape: ast.Attribute, indices: list[ast.expr], node: ast.Subscript
    ) -> c_ast.Node:
        name = dotted(shape.value)
        at = integer(indices[0]) if len(indices) == 1 else None
        if name is None or at is None:
            return self.opaque(node)
        return self.extent_of(name, shape.attr, at, node)

    def extent_of(self, name: str, attribute: str, axis: int, node: ast.AST) -> c_ast.Node:
        """`name.shape[axis]`: of an own array what it is declared with."""
        array = self.arrays.get(name)
        if array is not None and attribute == "shape" and axis < len(array.extents):
            return self.expression(array.extents[axis])
        return self.brought(f"{name}.{attribute}[{axis}]", node)

    # ---- types

    def array_type(self, word: str, array: LocalArray) -> c_ast.Node:
        """The C type of a shared or local array."""
        if array.is_dynamic:
            return array_of(word, [None])
        return array_of(word, [self.expression(e) for e in array.extents])


def integer(node: ast.expr) -> int | None:
    """The value of an integer literal; None for anything else."""
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_number else None  # type: ignore[attr-defined]


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """A keyword argument of a call."""
    return next((k.value for k in node.keywords if k.arg == name), None)


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """The arguments that are written out, positional ones first."""
    positional = [a for a in node.args if not isinstance(a, ast.Starred)]
    return [*positional, *(k.value for k in node.keywords if k.arg is not None)]


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    """The indices of a subscript, those of a tuple one by one."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
