"""Converts statements and function definitions."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    converts,
    expression,
    is_marked,
    optional_expression,
    place_of,
    statement,
    statements,
)
from smemlint.frontend.cuda.parser.to_ir.types import convert_declarations, convert_head


@converts(c_ast.Compound)
def _block(node: c_ast.Compound) -> ir.Compound:
    return ir.Compound(statements(node.block_items), at=place_of(node))


@converts(c_ast.EmptyStatement)
def _empty_statement(node: c_ast.EmptyStatement) -> ir.EmptyStatement:
    return ir.EmptyStatement(at=place_of(node))


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


@converts(c_ast.While)
def _while(node: c_ast.While) -> ir.While:
    return ir.While(expression(node.cond), statement(node.stmt), at=place_of(node))


@converts(c_ast.DoWhile)
def _do_while(node: c_ast.DoWhile) -> ir.DoWhile:
    return ir.DoWhile(expression(node.cond), statement(node.stmt), at=place_of(node))


@converts(c_ast.Switch)
def _switch(node: c_ast.Switch) -> ir.Switch:
    return ir.Switch(expression(node.cond), statement(node.stmt), at=place_of(node))


@converts(c_ast.Case)
def _case(node: c_ast.Case) -> ir.Case:
    return ir.Case(expression(node.expr), statements(node.stmts), at=place_of(node))


@converts(c_ast.Default)
def _default(node: c_ast.Default) -> ir.Default:
    return ir.Default(statements(node.stmts), at=place_of(node))


@converts(c_ast.Break)
def _break(node: c_ast.Break) -> ir.Break:
    return ir.Break(at=place_of(node))


@converts(c_ast.Continue)
def _continue(node: c_ast.Continue) -> ir.Continue:
    return ir.Continue(at=place_of(node))


@converts(c_ast.Return)
def _return(node: c_ast.Return) -> ir.Return:
    return ir.Return(optional_expression(node.expr), at=place_of(node))


@converts(c_ast.Goto)
def _goto(node: c_ast.Goto) -> ir.Goto:
    return ir.Goto(node.name, at=place_of(node))


@converts(c_ast.Label)
def _label(node: c_ast.Label) -> ir.Label:
    return ir.Label(node.name, statement(node.stmt), at=place_of(node))


@converts(c_ast.FuncDef)
def convert_function(node: c_ast.FuncDef) -> ir.FuncDef:
    """Returns a function definition.

    Raises:
        RecursionError: for a tree that is nested too deeply.
    """
    head = node.decl
    return ir.FuncDef(head.name, convert_head(head.type), _block(node.body), at=place_of(node))
