"""Converts expressions of C."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    arguments,
    converts,
    expression,
    expressions,
    from_marked,
    is_marked,
    place_of,
    unparsed,
)
from smemlint.frontend.cuda.parser.to_ir.types import convert_typename


@converts(c_ast.ID)
def _name(node: c_ast.ID) -> ir.ID | ir.Unparsed:
    return unparsed(node) if node.name == markers.UNPARSED else convert_name(node)


def convert_name(node: c_ast.ID) -> ir.ID:
    """Returns a name."""
    return ir.ID(node.name, at=place_of(node))


@converts(c_ast.Constant)
def _constant(node: c_ast.Constant) -> ir.Constant:
    return ir.Constant(node.type, node.value, at=place_of(node))


@converts(c_ast.ArrayRef)
def _array_ref(node: c_ast.ArrayRef) -> ir.ArrayRef:
    return ir.ArrayRef(expression(node.name), expression(node.subscript), at=place_of(node))


@converts(c_ast.StructRef)
def _struct_ref(node: c_ast.StructRef) -> ir.StructRef:
    return ir.StructRef(
        expression(node.name), node.type, convert_name(node.field), at=place_of(node)
    )


@converts(c_ast.ExprList)
def _expr_list(node: c_ast.ExprList) -> ir.ExprList:
    return ir.ExprList(expressions(node.exprs), at=place_of(node))


@converts(c_ast.FuncCall)
def _func_call(node: c_ast.FuncCall) -> ir.Node:
    callee = node.name
    if isinstance(callee, c_ast.ID) and callee.name.startswith("<"):
        marker, _, type_name = callee.name.partition(markers.CONSTRUCT)
        return from_marked(marker, node) if marker else _construct(type_name, node)
    if isinstance(callee, c_ast.FuncCall) and is_marked(callee, markers.LAUNCH):
        kernel, *configuration = arguments(callee)
        return ir.Launch(kernel, tuple(configuration), arguments(node), at=place_of(node))
    return ir.FuncCall(expression(callee), arguments(node), at=place_of(node))


def _construct(name: str, node: c_ast.FuncCall) -> ir.Construct:
    at = place_of(node)
    return ir.Construct(ir.IdentifierType((name,), at=at), arguments(node), at=at)


@converts(c_ast.UnaryOp)
def _unary_op(node: c_ast.UnaryOp) -> ir.UnaryOp:
    is_type = isinstance(node.expr, c_ast.Typename)
    operand = convert_typename(node.expr) if is_type else expression(node.expr)
    return ir.UnaryOp(node.op, operand, at=place_of(node))


@converts(c_ast.BinaryOp)
def _binary_op(node: c_ast.BinaryOp) -> ir.Expression:
    """Goes down the left operands in a loop: the parser nests a long sum without recursion."""
    above = [node]
    while isinstance(above[-1].left, c_ast.BinaryOp):
        above.append(above[-1].left)
    left = expression(above[-1].left)
    for outer in reversed(above):
        left = ir.BinaryOp(outer.op, left, expression(outer.right), at=place_of(outer))
    return left


@converts(c_ast.TernaryOp)
def _ternary_op(node: c_ast.TernaryOp) -> ir.TernaryOp:
    branches = expression(node.iftrue), expression(node.iffalse)
    return ir.TernaryOp(expression(node.cond), *branches, at=place_of(node))


@converts(c_ast.Assignment)
def _assignment(node: c_ast.Assignment) -> ir.Assignment:
    return ir.Assignment(
        node.op, expression(node.lvalue), expression(node.rvalue), at=place_of(node)
    )


@converts(c_ast.Cast)
def _cast(node: c_ast.Cast) -> ir.Cast:
    return ir.Cast(convert_typename(node.to_type), expression(node.expr), at=place_of(node))


@converts(c_ast.InitList)
def _init_list(node: c_ast.InitList) -> ir.InitList:
    return ir.InitList(expressions(node.exprs), at=place_of(node))


@converts(c_ast.CompoundLiteral)
def _compound_literal(node: c_ast.CompoundLiteral) -> ir.Expression:
    kind = convert_typename(node.type)
    if isinstance(kind.type, ir.ArrayDecl):
        return unparsed(node)
    return ir.Construct(kind, expressions(node.init.exprs), at=place_of(node))


@converts(c_ast.NamedInitializer)
def _named_initializer(node: c_ast.NamedInitializer) -> ir.NamedInitializer:
    return ir.NamedInitializer(expressions(node.name), expression(node.expr), at=place_of(node))
