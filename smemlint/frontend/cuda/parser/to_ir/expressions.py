"""Converts expressions of C."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    arguments,
    as_it_is,
    converts,
    converts_parts,
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


@converts(c_ast.CompoundLiteral)
def _compound_literal(node: c_ast.CompoundLiteral) -> ir.Expression:
    kind = convert_typename(node.type)
    if isinstance(kind.type, ir.ArrayDecl):
        return unparsed(node)
    parts = expressions(node.init.exprs)
    if isinstance(kind.type, ir.TypeDecl) and _is_braces(kind.type.type):
        return ir.BraceList(parts, at=place_of(node))
    return ir.Construct(kind, parts, at=place_of(node))


def _is_braces(kind: ir.Node) -> bool:
    """Returns whether a compound literal has no type: `{.a = 1}`."""
    return isinstance(kind, ir.IdentifierType) and kind.names == (markers.BRACES,)


converts_parts(c_ast.Constant, ir.Constant, type=as_it_is, value=as_it_is)
converts_parts(c_ast.ArrayRef, ir.ArrayRef, name=expression, subscript=expression)
converts_parts(c_ast.StructRef, ir.StructRef, name=expression, type=as_it_is, field=convert_name)
converts_parts(c_ast.ExprList, ir.ExprList, exprs=expressions)
converts_parts(
    c_ast.TernaryOp, ir.TernaryOp, cond=expression, iftrue=expression, iffalse=expression
)
converts_parts(c_ast.Assignment, ir.Assignment, op=as_it_is, lvalue=expression, rvalue=expression)
converts_parts(c_ast.Cast, ir.Cast, to_type=convert_typename, expr=expression)
converts_parts(c_ast.InitList, ir.InitList, exprs=expressions)
converts_parts(c_ast.NamedInitializer, ir.NamedInitializer, name=expressions, expr=expression)
