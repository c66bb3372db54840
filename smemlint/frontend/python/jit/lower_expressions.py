"""Lowers the expressions of Python kernels and of the host code that launches them to C trees.

Python's own meaning is kept where it differs from C's: `//` and `%` round down, `/` gives a
floating-point number, comparisons chain, and in Numba integers are 64-bit and negative indices
count from the end.
"""

from __future__ import annotations

import ast

from smemlint.frontend import ir
from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.jit.dialects import AXES, COORDINATES
from smemlint.frontend.python.jit.lowering import Lowering, lowers
from smemlint.frontend.python.jit.syntax import indices_of, integer
from smemlint.frontend.python.python2 import rounds_down

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_ROUNDED: dict[type[ast.operator], type[ir.FloorDivision | ir.FloorModulo]] = {
    ast.FloorDiv: ir.FloorDivision, ast.Mod: ir.FloorModulo,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "==", ast.IsNot: "!=",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "!",
}  # fmt: skip
_PARTS = {"real": "x", "imag": "y"}  # of a complex number
_SIZES = frozenset(("shape", "size", "ndim", "strides", "nbytes", "itemsize"))


# ---- leaves


@lowers(ast.Name)
def lower_name(lowering: Lowering, node: ast.Name) -> ir.Expression:
    """Lowers a name: a function, a constant of the dialect, or a variable."""
    member = lowering.member(node)
    if member in ("warpsize", "laneid"):
        return _constant_member(lowering, member, node)
    found = lowering.definition.lookup(node.id)
    if found is not None and not lowering.is_local(node.id):
        return lowering.make.name(found.unique, node)
    return lowering.make.name(node.id, node)


@lowers(ast.Constant)
def lower_constant_node(lowering: Lowering, node: ast.Constant) -> ir.Expression:
    """Lowers a literal; the value of a floating-point one is never needed."""
    match node.value:
        case bool():
            return lowering.make.name(str(node.value).lower(), node)
        case None:
            return lowering.make.integer(0, node, wide=lowering.wide)
        case int():
            return lowering.make.integer(node.value, node, wide=lowering.wide)
        case float() | complex():
            return lowering.make.floating(node)
    return lowering.opaque(node)


# ---- operators


@lowers(ast.BinOp)
def lower_binary(lowering: Lowering, node: ast.BinOp) -> ir.Expression:
    """Lowers an operator of two operands."""
    a, b = lowering.expression(node.left), lowering.expression(node.right)
    return lower_operator(lowering, node.op, a, b, node)


def lower_operator(
    lowering: Lowering,
    operator: ast.operator,
    a: ir.Expression,
    b: ir.Expression,
    node: ast.BinOp | ast.AugAssign,
) -> ir.Expression:
    """Returns a binary operation with Python's meaning.

    Args:
        lowering: the function that is lowered.
        operator: of Python.
        a: the left operand.
        b: the right operand.
        node: the operation.
    """
    make, operator_type = lowering.make, type(operator)
    if operator_type in BINARY:
        return make.binary(BINARY[operator_type], a, b, node)
    if operator_type in _ROUNDED:
        return _ROUNDED[operator_type](a, b, at=make.place(node))
    if operator_type is ast.Div:
        number = a if rounds_down(operator) else make.cast("double", a, node)
        return make.binary("/", number, b, node)
    if operator_type is ast.Pow and isinstance(node, ast.BinOp):
        power = _lower_power(lowering, node, a, b)
        if power is not None:
            return power
    return ir.Opaque(make.spelling(node), (a, b), at=make.place(node))


def _lower_power(
    lowering: Lowering, node: ast.BinOp, a: ir.Expression, b: ir.Expression
) -> ir.Expression | None:
    """Returns a product for a small exponent, and a shift for a power of 2."""
    make = lowering.make
    base, exponent = integer(node.left), integer(node.right)
    if exponent is not None:
        if base is not None and 0 <= exponent < 63:
            return make.integer(base**exponent, node, wide=lowering.wide)
        if 1 <= exponent <= 4:
            found = a
            for _ in range(exponent - 1):
                found = make.binary("*", found, lowering.expression(node.left), node)
            return found
    elif base == 2:
        return make.binary("<<", make.integer(1, node, wide=lowering.wide), b, node)
    return None


@lowers(ast.UnaryOp)
def lower_unary(lowering: Lowering, node: ast.UnaryOp) -> ir.Expression:
    """Lowers an operator of one operand."""
    return lowering.make.unary(_UNARY[type(node.op)], lowering.expression(node.operand), node)


@lowers(ast.BoolOp)
def lower_logical(lowering: Lowering, node: ast.BoolOp) -> ir.Expression:
    """Lowers `and` and `or`."""
    op = "&&" if isinstance(node.op, ast.And) else "||"
    found = lowering.expression(node.values[0])
    for value in node.values[1:]:
        found = lowering.make.binary(op, found, lowering.expression(value), node)
    return found


@lowers(ast.Compare)
def lower_comparison(lowering: Lowering, node: ast.Compare) -> ir.Expression:
    """Lowers a chain of comparisons to a conjunction."""
    found: ir.Expression | None = None
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        op = _COMPARISONS.get(type(operator))
        if op is None:
            return lowering.opaque(node, [left, right])
        pair = lowering.make.binary(op, lowering.expression(left), lowering.expression(right), node)
        found = pair if found is None else lowering.make.binary("&&", found, pair, node)
        left = right
    assert found is not None
    return found


@lowers(ast.IfExp)
def lower_conditional(lowering: Lowering, node: ast.IfExp) -> ir.Expression:
    """Lowers a conditional expression."""
    return ir.TernaryOp(
        lowering.expression(node.test),
        lowering.expression(node.body),
        lowering.expression(node.orelse),
        at=lowering.make.place(node),
    )


@lowers(ast.Tuple, ast.List)
def lower_sequence(lowering: Lowering, node: ast.Tuple | ast.List) -> ir.Expression:
    """Lowers the shape of a launch; elsewhere such a value is of no use."""
    parts = node.elts
    if not 1 <= len(parts) <= 3 or any(isinstance(e, ast.Starred) for e in parts):
        return lowering.opaque(node, parts)
    return lowering.make.construct("dim3", [lowering.expression(p) for p in parts], node)


# ---- attributes


@lowers(ast.Attribute)
def lower_attribute(lowering: Lowering, node: ast.Attribute) -> ir.Expression:
    """Lowers an attribute: a coordinate, a property of an array, or a name with dots."""
    member = lowering.member(node)
    if member in ("warpsize", "laneid"):
        return _constant_member(lowering, member, node)
    base, _, axis = member.rpartition(".")
    if base in COORDINATES and axis in AXES:
        return lowering.make.coordinate(base, axis, node, wide=lowering.wide)
    head = node.value
    part = _PARTS.get(node.attr)
    if part is not None and isinstance(head, ast.Subscript):
        whole = lowering.expression(head)
        return ir.StructRef(whole, ".", ir.ID(part), at=lowering.make.place(node))
    if isinstance(head, ast.Name) and node.attr in _SIZES:
        return _shape_attribute(lowering, head.id, node)
    named = dotted(node)
    if named is not None:
        found = lowering.definition.lookup(named)
        if found is not None or lowering.definition.module_assigns(named):
            return lowering.make.name(found.unique if found is not None else named, node)
        return lowering.opaque(node)
    return lowering.opaque(node, [node.value])


def _constant_member(lowering: Lowering, member: str, node: ast.AST) -> ir.Expression:
    if member == "warpsize":
        return lowering.make.integer(32, node, wide=lowering.wide)
    lane = lowering.make.call("__laneid", [], node)
    return lowering.make.cast("int64_t", lane, node) if lowering.wide else lane


def _shape_attribute(lowering: Lowering, name: str, node: ast.Attribute) -> ir.Expression:
    array = lowering.arrays.get(name)
    if array is not None and not array.is_dynamic and node.attr == "size":
        found = lowering.expression(array.extents[0])
        for extent in array.extents[1:]:
            found = lowering.make.binary("*", found, lowering.expression(extent), node)
        return found
    return lowering.argument_property(f"{name}.{node.attr}", node)


# ---- subscripts


@lowers(ast.Subscript)
def lower_subscript(lowering: Lowering, node: ast.Subscript) -> ir.Expression:
    """Lowers a subscript: an element, the address of a slice, or an extent."""
    shape = node.value
    indices = indices_of(node)
    if isinstance(shape, ast.Attribute) and shape.attr in ("shape", "strides"):
        return _extent(lowering, shape, indices, node)
    base = lowering.expression(shape)
    name = shape.id if isinstance(shape, ast.Name) else ""
    for depth, index in enumerate(indices):
        place = lower_index(lowering, index, name, depth)
        if isinstance(index, ast.Slice):
            address = lowering.make.unary("&", lowering.make.element(base, place, node), node)
            if depth == len(indices) - 1:
                return address
            if name in lowering.arrays and lowering.arrays[name].is_shared:
                lowering.lose(node, f"the view `{lowering.make.spelling(node)}`")
            return lowering.opaque(node)
        base = lowering.make.element(base, place, node)
    is_element = isinstance(node.ctx, ast.Load) and lowering.strided.get(name) == len(indices)
    if is_element and any(integer(index) != 0 for index in indices):
        return lowering.make.call("__load_by_strides", [base], node)
    return base


def lower_index(lowering: Lowering, index: ast.expr, name: str, depth: int) -> ir.Expression:
    """Returns an index as C takes it; a slice stands for where it begins."""
    if isinstance(index, ast.Slice):
        if index.step is not None:
            return lowering.opaque(index, [index.step])
        if index.lower is None:
            return lowering.make.integer(0, index, wide=lowering.wide)
        index = index.lower
    found = lowering.expression(index)
    if lowering.dialect is None or not lowering.dialect.wraps_negative_indices:
        return found
    array, place = lowering.arrays.get(name), lowering.make.place(index)
    if integer(index) is not None:
        return found
    if _is_negative(index) and (array is None or array.is_dynamic):
        return lowering.opaque(index, [index])
    is_counted = lowering.counts(index)
    if array is None:
        return ir.WrappedIndex(found, None, is_counted, at=place) if is_counted else found
    extent = array.extent(depth)
    number = ir.Extent(f"{name}.size") if extent is None else lowering.expression(extent)
    return ir.WrappedIndex(found, number, is_counted, at=place)


def _extent(
    lowering: Lowering, shape: ast.Attribute, indices: list[ast.expr], node: ast.Subscript
) -> ir.Expression:
    name = dotted(shape.value)
    at = integer(indices[0]) if len(indices) == 1 else None
    if name is None or at is None:
        return lowering.opaque(node)
    return extent_of(lowering, name, shape.attr, at, node)


def extent_of(
    lowering: Lowering, name: str, attribute: str, axis: int, node: ast.AST
) -> ir.Expression:
    """Returns `name.shape[axis]`: for an own array what it is declared with.

    Args:
        lowering: the function that is lowered.
        name: of the array.
        attribute: `shape` or another one.
        axis: the dimension.
        node: the subscript.
    """
    array = lowering.arrays.get(name)
    if array is not None and attribute == "shape" and axis < len(array.extents):
        return lowering.expression(array.extents[axis])
    return lowering.argument_property(f"{name}.{attribute}[{axis}]", node)


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
