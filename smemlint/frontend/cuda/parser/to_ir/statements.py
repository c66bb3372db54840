"""Converts statements and function definitions."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    as_it_is,
    converts,
    converts_parts,
    expression,
    is_marked,
    optional_expression,
    place_of,
    statement,
    statements,
)
from smemlint.frontend.cuda.parser.to_ir.types import convert_declarations, convert_head

converts_parts(c_ast.Compound, ir.Compound, block_items=statements)
converts_parts(c_ast.EmptyStatement, ir.EmptyStatement)
converts_parts(c_ast.While, ir.While, cond=expression, stmt=statement)
converts_parts(c_ast.Switch, ir.Switch, cond=expression, stmt=statement)
converts_parts(c_ast.Case, ir.Case, expr=expression, stmts=statements)
converts_parts(c_ast.Default, ir.Default, stmts=statements)
converts_parts(c_ast.Break, ir.Break)
converts_parts(c_ast.Continue, ir.Continue)
converts_parts(c_ast.Return, ir.Return, expr=optional_expression)
converts_parts(c_ast.Goto, ir.Goto, name=as_it_is)
converts_parts(c_ast.Label, ir.Label, name=as_it_is, stmt=statement)


_JUMPS = (ir.Break, ir.Continue, ir.Unparsed)


@converts(c_ast.DoWhile)
def _do(node: c_ast.DoWhile) -> ir.Node:
    """Converts a loop; `do { .. } while (0)` of a macro is none, unless a jump leaves it."""
    cond, body = expression(node.cond), statement(node.stmt)
    match cond:
        case ir.Constant(value="0") | ir.ID(name="false"):
            if not any(isinstance(part, _JUMPS) for part in body.walk()):
                return body
    return ir.DoWhile(cond, body, at=place_of(node))


@converts(c_ast.If)
def _if(node: c_ast.If) -> ir.If:
    otherwise = statement(node.iffalse) if node.iffalse is not None else None
    is_constexpr = is_marked(node.cond, markers.CONSTEXPR)
    cond = node.cond.args.exprs[0] if is_constexpr else node.cond
    taken = statement(node.iftrue)
    return ir.If(expression(cond), taken, otherwise, is_constexpr, at=place_of(node))


@converts(c_ast.For)
def _for(node: c_ast.For) -> ir.For | ir.RangeFor:
    is_list = isinstance(node.init, c_ast.DeclList)
    init = convert_declarations(node.init) if is_list else optional_expression(node.init)
    first = init.decls[0] if isinstance(init, ir.DeclList) and init.decls else None
    if isinstance(first, ir.Decl) and isinstance(first.init, ir.RangeElement):
        return ir.RangeFor(first, statement(node.stmt), at=place_of(node))
    cond, advance = optional_expression(node.cond), optional_expression(node.next)
    return ir.For(init, cond, advance, statement(node.stmt), at=place_of(node))


@converts(c_ast.FuncDef)
def convert_function(node: c_ast.FuncDef) -> ir.FuncDef:
    """Returns a function definition.

    Raises:
        RecursionError: for a tree that is nested too deeply.
    """
    head = node.decl
    body = ir.Compound(statements(node.body.block_items), at=place_of(node.body))
    return ir.FuncDef(head.name, convert_head(head.type), body, at=place_of(node))
