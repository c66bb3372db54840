"""Converts types and declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    converts,
    converts_parts,
    declarations,
    expression,
    optional_expression,
    place_of,
    place_of_name,
    type_of,
)

_Members: TypeAlias = tuple[
    tuple[ir.Declaration, ...] | None, tuple[ir.Expression | ir.Typename, ...], int, bool, bool
]


@converts(c_ast.Decl)
def _decl(node: c_ast.Decl) -> ir.Decl:
    return ir.Decl(
        node.name or "",
        type_of(node.type),
        optional_expression(node.init),
        optional_expression(node.bitsize),
        _qualifiers(node.quals),
        tuple(node.storage or ()),
        tuple(_alignment(spec) for spec in node.align or ()),
        at=place_of_name(node),
    )


def _alignment(spec: c_ast.Alignas) -> ir.Expression | ir.Typename:
    operand = spec.alignment
    return convert_typename(operand) if isinstance(operand, c_ast.Typename) else expression(operand)


@converts(c_ast.DeclList)
def convert_declarations(node: c_ast.DeclList) -> ir.DeclList:
    """Returns declarations that share their specifiers."""
    return ir.DeclList(declarations(node.decls), at=place_of(node))


@converts(c_ast.Typedef)
def _typedef(node: c_ast.Typedef) -> ir.Typedef:
    return ir.Typedef(node.name, type_of(node.type), at=place_of_name(node))


@converts(c_ast.IdentifierType)
def _identifier_type(node: c_ast.IdentifierType) -> ir.IdentifierType | ir.UnparsedType:
    if markers.UNPARSED in node.names:
        return ir.UnparsedType(at=place_of(node))
    return ir.IdentifierType(tuple(node.names), at=place_of(node))


@converts(c_ast.FuncDecl)
def convert_head(node: c_ast.FuncDecl) -> ir.FuncDecl:
    """Returns the parameters and the result of a function."""
    params = node.args.params if node.args is not None else ()
    found = tuple(p for p in declarations(params) if isinstance(p, ir.Decl))
    return ir.FuncDecl(found, type_of(node.type), at=place_of(node))


@converts(c_ast.Typename)
def convert_typename(node: c_ast.Typename) -> ir.Typename:
    """Returns a type-id."""
    return ir.Typename(type_of(node.type), _qualifiers(node.quals), at=place_of(node))


@converts(c_ast.Enum)
def _enum(node: c_ast.Enum) -> ir.Enum:
    if node.values is None:
        return ir.Enum(node.name, None, at=place_of(node))
    named = [n for n in node.values.enumerators if isinstance(n, c_ast.Enumerator)]
    underlying = None
    if named and named[0].name == markers.UNDERLYING:
        underlying = convert_typename(named.pop(0).value.to_type)
    found = (ir.Enumerator(n.name, optional_expression(n.value), at=place_of(n)) for n in named)
    return ir.Enum(node.name, tuple(found), underlying, at=place_of(node))


@converts(c_ast.Struct)
def _struct(node: c_ast.Struct) -> ir.Struct:
    return ir.Struct(node.name, *_members(node.decls), at=place_of(node))


@converts(c_ast.Union)
def _union(node: c_ast.Union) -> ir.Union:
    return ir.Union(node.name, *_members(node.decls)[:4], at=place_of(node))


def _members(nodes: Iterable[c_ast.Node] | None) -> _Members:
    """Returns the members of a class and what is asked of the whole; None without a body."""
    if nodes is None:
        return None, (), 0, False, False
    found = declarations(nodes)
    first = found[0] if found else None
    if not isinstance(first, ir.Decl) or first.name != markers.RECORD:
        return found, (), 0, False, False
    packing = int(first.bitsize.value) if isinstance(first.bitsize, ir.Constant) else 0
    return found[1:], first.align, packing // 4, bool(packing & 1), bool(packing & 2)


def _qualifiers(words: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(words or ())


converts_parts(c_ast.TypeDecl, ir.TypeDecl, type=type_of, quals=_qualifiers)
converts_parts(c_ast.PtrDecl, ir.PtrDecl, type=type_of, quals=_qualifiers)
converts_parts(c_ast.ArrayDecl, ir.ArrayDecl, type=type_of, dim=optional_expression)
